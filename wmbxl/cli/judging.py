"""The verbs of verdicts by others: import, judge, judges."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
import pandas as pd
from rich.console import Console

from wmbxl.answers.judge import ModelJudge
from wmbxl.cli.asking import (
    ENDPOINT,
    INCOMPLETE,
    PARAMETERS,
    QUESTION_FIELDS,
    QUESTIONS,
    Progress,
    budget_of,
    endpoint_of,
    parameters_of,
    question_fields,
)
from wmbxl.cli.opening import config_option
from wmbxl.cli.options import BOOTSTRAP, TABLE_FORMATS, bootstrap_of, named
from wmbxl.cli.statistics import benchmark_frame
from wmbxl.cli.tables import notes_in_words, publish, rich_table
from wmbxl.config import read_stores
from wmbxl.errors import FieldNotFound
from wmbxl.evaluate.judged import judge_table, open_rows, read_answers
from wmbxl.evaluate.logs import Reading, import_logs
from wmbxl.evaluate.questions import PLACE, read_questions
from wmbxl.models.record import Record
from wmbxl.stats.judges import compare_judges
from wmbxl.stats.study import views_at
from wmbxl.stats.verdicts import Verdicts, verdicts_from_frame
from wmbxl.tables import read_ids, read_records, write_table
from wmbxl.views import listed_view, read_metadata

# Tables and columns that fit a terminal; everything is in the files.
_SHOWN: dict[str, tuple[str, ...]] = {
    "agreement": ("column", "group", "judges", "n", "agree", "fleiss", "ci_low_fleiss", "ci_high_fleiss", "alpha"),
    "agreement_of_pairs": ("group", "judge_a", "judge_b", "n", "agree", "kappa", "ci_low_kappa", "ci_high_kappa"),
    "judge_range": ("view", "model", "n", "acc_lowest", "acc_highest", "acc_range_pp", "delta_range_pp"),
}  # fmt: skip
_REASONS = 5  # that are told


@click.command("import")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True)
@click.option("--score", metavar="NAME", help="The score that counts; needed where a log has several.")
@click.option(
    "--at-least",
    type=float,
    metavar="X",
    help="Scores from X on are right, lower ones wrong; needed where scores lie between 0 and 1.",
)
@click.option("--epoch", default=1, show_default=True, help="Which of several answers to a problem counts.")
@click.option("--model", metavar="NAME", help="Name of the model.  [default: what the log says]")
@click.option(
    "--log-id-field",
    metavar="F",
    help="The log's field with the problem's id.  [default: doc.problem_id, id, "
    "custom_id or problem_id, by the kind of log]",
)
@click.option(
    "--benchmark", metavar="FILE", help="Compare responses with the keys of this benchmark, whatever the tool said."
)
@QUESTION_FIELDS
@click.option("--out", required=True, metavar="FILE", help="Verdicts: .jsonl, .csv or .parquet.")  # fmt: skip
def import_command(**given: Any) -> None:
    """Make verdicts of other tools' logs.

    LOG is a samples_*.jsonl of lm-evaluation-harness, an .eval or .json of inspect_ai, the output of an OpenAI batch,
    or a table (.csv, .jsonl, .parquet). Any number of them, of any models, make one table, which `wmbxl bootstrap`
    reads with --verdicts.
    """
    reading = Reading(given["score"], given["at_least"], given["epoch"], given["log_id_field"], given["model"])
    questions = read_questions(given["benchmark"], **question_fields(given)) if given["benchmark"] else None
    found = import_logs(given["logs"], reading, questions)
    _finish(found.table, given["out"], found.remarks)


@click.command("judge")
@click.argument("answers", metavar="ANSWERS")
@QUESTIONS
@click.option("--model", required=True, metavar="NAME", help="The name under which the endpoint serves the judge.")
@ENDPOINT
@click.option("--max-tokens", default=512, show_default=True, help="Budget of the judge's answer.")
@PARAMETERS
@click.option(
    "--record",
    metavar="FILE",
    help="Calls and replies (.jsonl): what is there is not asked again.  [default: beside --out]",
)
@click.option("--out", required=True, metavar="FILE", help="The table with the judge's verdicts: .jsonl, .csv or "
              ".parquet.")  # fmt: skip
def judge_command(**given: Any) -> None:
    """Ask a model to judge the answers that have no verdict yet.

    ANSWERS is a table with model, problem_id, response and is_correct, such as `wmbxl evaluate` and `wmbxl import`
    write. The judge sees the problem, the key and the answers that a response states, and nothing about who wrote it.
    """
    questions = read_questions(given["benchmark"], template=PLACE, **question_fields(given))
    answers = read_answers(given["answers"])
    asked = open_rows(answers)
    budget = budget_of(given)
    record = Record(given["record"] or f"{given['out']}.calls.jsonl")
    judge = ModelJudge(
        given["model"], endpoint_of(given), record, budget, given["max_tokens"], parameters_of(given),
        given["max_tokens_field"],
    )  # fmt: skip
    progress = Progress(int(asked.sum()), budget, given["price"])
    with progress.shown():
        judged = judge_table(answers, questions, judge, progress.told)
    progress.say()
    decided = int(judged.loc[asked, "is_correct"].notna().sum())
    reasons = judged.loc[asked & judged["is_correct"].isna(), "reason"].value_counts()
    _finish(
        judged,
        given["out"],
        [
            f"{int(asked.sum())} of {len(answers)} answers had no verdict; the judge decided {decided} of them.",
            *(f"{count} verdict(s) are missing: {reason}" for reason, count in reasons.head(_REASONS).items()),
            *(["Run the same command again to ask for what has no reply."] if progress.failed else []),
        ],
    )
    sys.exit(INCOMPLETE if progress.failed else 0)


def _finish(table: pd.DataFrame, out: str, remarks: Sequence[str]) -> None:
    counts = verdicts_from_frame(table).verdicts.counts()
    write_table(out, table, "--out")
    console = Console()
    console.print(rich_table("verdicts", counts))
    for line in remarks:
        console.print(f"- {line}", markup=False, highlight=False)
    console.print(f"Wrote {len(table)} verdict(s) to {out}", markup=False, highlight=False)


@click.command("judges")
@click.option(
    "--verdicts",
    "files",
    multiple=True,
    required=True,
    metavar="NAME=FILE",
    callback=named,
    help="A judge, or a person, and a table of verdicts; two or more.",
)
@click.option(
    "--group-by",
    multiple=True,
    metavar="FIELD",
    help="Agreement also per value of this field, such as type or step; may be repeated.",
)
@click.option("--benchmark", metavar="FILE", help="Records with these fields.  [default: the tables of verdicts]")
@click.option("--id-field", default="problem_id", show_default=True, help="Benchmark field with the id.")
@click.option("--audit", metavar="DIR", help="Compare all problems with the views of this audit.")
@config_option
@click.option("-n", "n", type=int, default=13, show_default=True, help="Length of n-grams.")
@click.option("--channel", help="Channel of the audit; may be left out if there is only one.")
@click.option(
    "--undecided",
    type=click.Choice(["refuse", "exclude"]),
    default="refuse",
    show_default=True,
    help="What to do with problems that an incomplete audit could not decide.",
)
@click.option("--view", "lists", multiple=True, metavar="NAME=IDS", callback=named, help="A view from an id list.")
@BOOTSTRAP
@TABLE_FORMATS
@click.option("--out", required=True, metavar="DIR", help="Folder to write into.")  # fmt: skip
def judges_command(**given: Any) -> None:
    """Say how far judges of the same answers agree, and what the choice of one does to models' results."""
    frames = {
        name: pd.DataFrame(read_records(path, "--verdicts"), dtype=object) for name, path in given["files"].items()
    }
    judges = {name: verdicts_from_frame(frame, where=given["files"][name]).verdicts for name, frame in frames.items()}
    views = [listed_view(name, read_ids(path, "--view"), path) for name, path in given["lists"].items()]
    remarks: list[str] = []
    if given["audit"]:
        metadata = read_metadata(given["audit"], read_stores(given["config"]).storage_options)
        views = [*views_at(metadata, given["n"], given["channel"], given["undecided"]), *views]
        judges, remarks = _audited(judges, metadata)
    analysis = compare_judges(judges, views, _groups(list(frames.values()), given), bootstrap_of(given))
    told = [*remarks, *analysis.remarks, *notes_in_words(analysis, "agreement")]
    publish(analysis.tables, _SHOWN, given["out"], given["formats"], told)


def _audited(judges: Mapping[str, Verdicts], metadata: pd.DataFrame) -> tuple[dict[str, Verdicts], list[str]]:
    """Keep the problems that an audit knows; say how many are lost."""
    lost = {name for found in judges.values() for name in found.ids} - set(metadata["problem_id"])
    remarks = (
        [f"{len(lost)} problem(s) with verdicts are not in the audit, such as {min(lost)!r}: left out."] if lost else []
    )
    return {name: found.take(found.contains(metadata["problem_id"])) for name, found in judges.items()}, remarks


def _groups(frames: Sequence[pd.DataFrame], given: Mapping[str, Any]) -> pd.DataFrame:
    """Return the fields of --group-by for every answer: from the benchmark, or the tables that have them."""
    keys = ["model", "problem_id"]
    tables = [frame.astype(dict.fromkeys(keys, str)) for frame in frames]
    answers = pd.concat([table[keys] for table in tables]).drop_duplicates()
    if given["benchmark"]:
        keys = ["problem_id"]
        tables = [benchmark_frame(read_records(given["benchmark"], "--benchmark"), given["id_field"])]
    for name in given["group_by"]:
        having = [table[[*keys, name]].dropna(subset=[name]) for table in tables if name in table]
        if not having:
            found = {column for table in tables for column in table.columns}
            raise FieldNotFound(given["benchmark"] or "verdicts", name, found, "--group-by")
        answers = answers.merge(pd.concat(having).drop_duplicates(keys), on=keys, how="left")
    return answers

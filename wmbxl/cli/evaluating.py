"""The verb that asks models: evaluate."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.console import Console

from wmbxl.cli.asking import (
    ENDPOINT,
    INCOMPLETE,
    PARAMETERS,
    QUESTIONS,
    Progress,
    budget_of,
    endpoint_of,
    parameters_of,
    question_fields,
)
from wmbxl.cli.options import TABLE_FORMATS, named
from wmbxl.cli.tables import rich_table
from wmbxl.errors import FieldNotFound, UsageError
from wmbxl.evaluate.questions import Question, QuestionSet, read_questions
from wmbxl.evaluate.run import VERDICTS, Evaluation, Sampling, evaluate
from wmbxl.evaluate.tables import by_budget, by_group, by_samples, summary
from wmbxl.records import get_field
from wmbxl.stats.resample import Bootstrap
from wmbxl.tables import read_ids, table_files, write_files

_GROUP = ("group", "model", "problems", "n_valid", "acc", "ci_low", "ci_high", "delta_pp")
# Columns that fit a terminal; everything is in the files.
_SHOWN = {
    "summary": ("model", "n_total", "n_valid", "empty_pct", "truncated_pct", "acc", "ci_low", "ci_high", "acc_total"),
    "by_type": _GROUP,
    "by_category": _GROUP,
    "by_view": _GROUP,
    "by_budget": ("api_model", "max_tokens", "n_valid", "truncated_pct", "acc", "ci_low", "ci_high", "acc_total"),
    "by_samples": ("model", "metric", "problems", "value", "ci_low", "ci_high"),
}


@click.command("evaluate")
@QUESTIONS
@click.option(
    "--prompt",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="A prompt of your own, with {text} where the problem goes.",
)
@click.option("--model", required=True, metavar="NAME", help="The name under which the endpoint serves the model.")
@click.option("--name", metavar="NAME", help="The model's name in tables.  [default: that of --model]")
@click.option("--max-tokens", default=2048, show_default=True, help="Budget of an answer.")
@click.option("--temperature", default=0.6, show_default=True)
@click.option("--samples", default=1, show_default=True, help="Answers to each problem.")
@click.option("--seed", type=int, help="Seed of the first sample; the next ones count up.")
@PARAMETERS
@ENDPOINT
@click.option("--replay", is_flag=True, help="Ask nobody: judge what is on record in the folder.")
@click.option(
    "--invalid",
    type=click.Choice(["missing", "wrong"]),
    default="missing",
    show_default=True,
    help="What empty replies and refusals count as in verdicts.jsonl.",
)
@click.option(
    "--category-field", metavar="F", help="Field with categories: a table with each; a list counts as several."
)
@click.option(
    "--view",
    "views",
    multiple=True,
    metavar="NAME=IDS",
    callback=named,
    help="A table for this id list, such as the public subset.",
)
@click.option("-B", "replicates", default=10_000, show_default=True, help="Number of resamples.")
@TABLE_FORMATS
@click.option("--out", required=True, metavar="DIR", help="Local folder; holds any number of models.")
def evaluate_command(**given: Any) -> None:
    """Ask a model every problem of a benchmark, judge its answers, and put both on record.

    Run again, the same command asks only what has no answer yet. `wmbxl bootstrap --verdicts DIR/verdicts.jsonl`
    goes on from there.
    """
    template = Path(given["prompt"]).read_text(encoding="utf-8") if given["prompt"] else None
    questions = read_questions(given["benchmark"], template=template, **question_fields(given))
    groups = _groups(questions, given)
    sampling = _sampling(given)
    budget = budget_of(given)
    progress = Progress(len(questions.questions) * sampling.samples, budget, given["price"])
    with progress.shown():
        evaluation = evaluate(
            questions,
            given["model"],
            None if given["replay"] else endpoint_of(given),
            given["out"],
            name=given["name"],
            sampling=sampling,
            budget=budget,
            invalid=given["invalid"],
            told=progress.told,
            judged=progress.judge,
        )
    progress.say()
    _publish(evaluation, groups, given)
    sys.exit(0 if evaluation.complete else INCOMPLETE)


def _sampling(given: Mapping[str, Any]) -> Sampling:
    return Sampling(
        max_tokens=given["max_tokens"],
        temperature=given["temperature"],
        samples=given["samples"],
        seed=given["seed"],
        more=parameters_of(given),
        limit_field=given["max_tokens_field"],
    )


def _groups(questions: QuestionSet, given: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return the problems of each group, by table."""
    typed = any(question.type for question in questions.questions)
    tables = {
        "by_type": _by_value(questions, lambda question: (question.type or "(none)") if typed else None),
        "by_category": _categories(questions, given["category_field"]) if given["category_field"] else {},
        "by_view": {name: _view(questions, name, path) for name, path in given["views"].items()},
    }
    return {name: groups for name, groups in tables.items() if groups}


def _by_value(questions: QuestionSet, value_of: Callable[[Question], Any]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for question in questions.questions:
        value = value_of(question)
        for name in value if isinstance(value, list) else [] if value is None else [value]:
            groups.setdefault(str(name), []).append(question.problem_id)
    return groups


def _categories(questions: QuestionSet, field: str) -> dict[str, list[str]]:
    groups = _by_value(questions, lambda question: get_field(question.record, field))
    if not groups:
        raise FieldNotFound(questions.source, field, questions.questions[0].record, "--category-field")
    return groups


def _view(questions: QuestionSet, name: str, path: str) -> list[str]:
    ids = list(read_ids(path, "--view"))
    strange = sorted(set(ids) - {question.problem_id for question in questions.questions})
    if strange:
        raise UsageError(
            f"--view {name}: {len(strange)} id(s) are not in {questions.source}, such as {strange[0]!r}: give ids of "
            "this benchmark"
        )
    return ids


def _publish(evaluation: Evaluation, groups: Mapping[str, dict[str, list[str]]], given: Mapping[str, Any]) -> None:
    traces, bootstrap = evaluation.traces, Bootstrap(replicates=given["replicates"])
    tables = {"summary": summary(traces, bootstrap)}
    tables |= {name: by_group(traces, members, bootstrap) for name, members in groups.items()}
    extra = {"by_budget": by_budget(tables["summary"]), "by_samples": by_samples(traces, bootstrap)}
    tables |= {name: table for name, table in extra.items() if len(table)}
    write_files(given["out"], table_files(tables, given["formats"]))
    console = Console()
    for name, table in tables.items():
        console.print(rich_table(name, table, _SHOWN[name]))
    for line in _remarks(evaluation, tables["summary"]):
        console.print(f"- {line}", markup=False, highlight=False)
    names = ", ".join(tables)
    console.print(f"Wrote {names}, traces and verdicts to {given['out']}", markup=False, highlight=False)
    console.print(
        f"Go on:  wmbxl bootstrap --verdicts {given['out']}/{VERDICTS} --audit DIR --out DIR",
        markup=False,
        soft_wrap=True,
    )


def _remarks(evaluation: Evaluation, table: pd.DataFrame) -> list[str]:
    lines = [f"{row['model']}: {row['note']}" for row in table.to_dict("records") if row["note"]]
    failed = evaluation.traces[evaluation.traces["state"] == "failed"]
    for (model, error), count in Counter(zip(failed["model"], failed["error"], strict=True)).most_common(5):
        lines.append(f"{model}: {count} without a reply: {error}")
    return [*lines, "Run the same command again to ask for what is missing."] if evaluation.failed else lines

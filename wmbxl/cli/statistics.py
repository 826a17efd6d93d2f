"""The verbs of statistics: views, bootstrap, corpora."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import pandas as pd
from rich.console import Console

from wmbxl.audit import Audit
from wmbxl.cli.opening import about_a_run, config_option
from wmbxl.cli.options import BOOTSTRAP, TABLE_FORMATS, bootstrap_of, named, options
from wmbxl.cli.tables import notes_in_words, publish, rich_table
from wmbxl.config import read_stores
from wmbxl.errors import BenchmarkError, FieldNotFound, UsageError
from wmbxl.papers import paper_disjoint_slice, paper_disjoint_split
from wmbxl.stats.lower_bound import score_responses
from wmbxl.stats.overlap import containment
from wmbxl.stats.sensitivity import lengths, membership_by_n
from wmbxl.stats.study import Study, analyse
from wmbxl.stats.verdicts import VerdictFile, Verdicts, verdicts_from_frame
from wmbxl.tables import Record, read_ids, read_records, table_files, write_files
from wmbxl.tally import SKETCH_SIZE
from wmbxl.views import (
    SnapshotViews,
    View,
    audit_views,
    licence_view,
    listed_view,
    read_metadata,
    snapshot_views,
    write_views,
)

# Tables and columns that fit a terminal and answer the first questions; everything is in the files.
# An empty tuple shows all columns.
_SHOWN: dict[str, tuple[str, ...]] = {
    "corpora": (),
    "views": (),
    "flag_rates": (),
    "full_vs_view": (),
    "counterfactual": ("view", "model", "n_flagged", "delta_pp", "if_all_right_pp", "if_all_wrong_pp"),
    "sensitivity": ("n", "problems", "S0", "S0_pct", "flip_pct", "pre_flagged_pct", "post_flagged_pct"),
    "groups": (),
    "buckets": (),
    "rank_correlation": (),
    "exact_format": ("view", "model", "judge_acc_full", "judge_delta_pp", "exact_acc_full", "exact_delta_pp"),
}


_shared = options(
    click.option("--audit", metavar="DIR", help="Folder that `wmbxl audit` wrote."),
    config_option,
    click.option("--benchmark", metavar="FILE", help="Benchmark records (.jsonl, .csv, .parquet)."),
    click.option("--id-field", default="problem_id", show_default=True, help="Benchmark field with the id."),
    click.option("--view", "lists", multiple=True, metavar="NAME=IDS", callback=named,
                 help="A view from an id list."),
    click.option("--undecided", type=click.Choice(["refuse", "exclude"]), default="refuse", show_default=True,
                 help="What to do with problems that an incomplete audit could not decide."),
    click.option("--snapshot", metavar="DATE", help="Last day of the corpus."),
    click.option("--date-field", default="arxiv_id", show_default=True, help="Date or arXiv id."),
    TABLE_FORMATS,
    click.option("--out", required=True, metavar="DIR", help="Folder to write into."),
)  # fmt: skip


@click.command("views")
@_shared
@click.option("--within", multiple=True, metavar="NAME", help="Also cut every audit view down to this view.")
@click.option("--licence", multiple=True, metavar="NAME=LICENCE[,…]", callback=named,
              help="A view of the records with these licences.")  # fmt: skip
@click.option("--licence-field", default="record_license", show_default=True)
@click.option("--paper-disjoint", is_flag=True, help="The test problems of papers that are absent from training.")
@click.option("--paper-split", type=float, metavar="FRACTION", help="A split with every paper on one side.")
@click.option("--paper-field", default="paper_id", show_default=True)
@click.option("--split-field", default="split", show_default=True)
@click.option("--format-field", default="type", show_default=True, help="Field with the task format.")
@click.option("--seed", type=int, help="Seed of --paper-split; 0 by default.")
def views_command(**given: Any) -> None:
    """Cut views from an audit, id lists and benchmark records.

    Each view is written as an id list and, with --benchmark, as JSON lines; manifest.json gives its rule,
    parents, counts and checksums.
    """
    records = read_records(given["benchmark"], "--benchmark") if given["benchmark"] else []
    frame = benchmark_frame(records, given["id_field"])
    metadata = _metadata(given) if given["audit"] else None
    audited = [] if metadata is None else audit_views(metadata, given["undecided"])
    listed = _listed(given)
    if metadata is not None:
        _check_listed(listed, set(metadata["problem_id"]))
    others = listed + _record_views(frame, given)
    views = [*audited, *_cut_down(audited, others, given["within"]), *others]
    if not views:
        raise UsageError("nothing says which views to cut. Give --audit DIR or --view NAME=ids.json; see --help.")
    write_views(views, given["out"], records, given["id_field"])
    tables = {"views": _view_table(views)}
    if metadata is not None and given["snapshot"]:
        tables["flag_rates"] = _flag_rates(metadata, snapshot_views(frame, given["snapshot"], given["date_field"]))
    publish(tables, _SHOWN, given["out"], given["formats"])


def _metadata(given: dict[str, Any]) -> pd.DataFrame:
    return read_metadata(given["audit"], read_stores(given["config"]).storage_options)


def benchmark_frame(records: Sequence[Record], id_field: str) -> pd.DataFrame:
    """Return benchmark records as a frame with ``problem_id``; say which have none, or the same."""
    frame = pd.DataFrame(records, dtype=object)
    if not records:
        return pd.DataFrame(columns=["problem_id"])
    if id_field not in frame.columns:
        raise FieldNotFound("benchmark records", id_field, frame.columns, "--id-field")
    absent = frame[id_field].isna()
    frame["problem_id"] = frame[id_field].astype(str)
    repeated = frame["problem_id"].duplicated() & ~absent
    issues = [f"record {row + 1}: no {id_field}" for row in frame.index[absent]]
    issues += [f"record {row + 1}: {frame['problem_id'][row]!r} is further up too" for row in frame.index[repeated]]
    if issues:
        raise BenchmarkError("benchmark records", issues)
    return frame


def _require_records(frame: pd.DataFrame, given: dict[str, Any], options: Sequence[str]) -> None:
    for option in options:
        if given[option] and frame.empty:
            raise UsageError(f"--{option.replace('_', '-')} looks at the benchmark's records. Add --benchmark FILE.")


def _listed(given: dict[str, Any]) -> list[View]:
    return [listed_view(name, read_ids(path, "--view"), path) for name, path in given["lists"].items()]


def _check_listed(views: Sequence[View], known: set[str]) -> None:
    for view in views:
        unknown = [name for name in view.ids if name not in known]
        if unknown:
            raise UsageError(
                f"--view {view.name}: {len(unknown)} of {len(view)} ids are not in the audit, such as {unknown[0]!r}"
            )


def _record_views(frame: pd.DataFrame, given: dict[str, Any]) -> list[View]:
    _require_records(frame, given, ("licence", "snapshot", "paper_disjoint", "paper_split"))
    if given["seed"] is not None and given["paper_split"] is None:
        raise UsageError("--seed is the seed of --paper-split. Add --paper-split FRACTION, or leave --seed out.")
    views = [
        licence_view(name, frame, licences.split(","), given["licence_field"])
        for name, licences in given["licence"].items()
    ]
    if given["snapshot"]:
        dated = snapshot_views(frame, given["snapshot"], given["date_field"])
        views += [dated.before, dated.after]
    if given["paper_disjoint"]:
        views.append(paper_disjoint_slice(frame, given["paper_field"], given["split_field"]))
    if given["paper_split"] is not None:
        split = paper_disjoint_split(
            frame, given["paper_split"], given["seed"] or 0, given["paper_field"], given["format_field"]
        )
        views += [split.train, split.test]
    return views


def _cut_down(audited: Sequence[View], others: Sequence[View], within: Sequence[str]) -> list[View]:
    known = {view.name: view for view in others}
    for name in within:
        if name not in known:
            raise UsageError(f"--within {name}: no such view. Views: {', '.join(known) or '(none)'}; add it by --view.")
    return [view.within(known[name]) for name in within for view in audited]


def _view_table(views: Sequence[View]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "view": [view.name for view in views],
            "problems": [len(view) for view in views],
            "undecided": [len(view.undecided) for view in views],
            "rule": [view.rule for view in views],
        }
    )


def _flag_rates(metadata: pd.DataFrame, snapshot: SnapshotViews) -> pd.DataFrame:
    tables = []
    for channel, rows in metadata.groupby("channel"):
        table = membership_by_n(rows, str(channel), lengths(rows)[-1], snapshot)
        dated = [name for name in table.columns if name.startswith(("pre_", "post_"))]
        tables.append(table[["n", *dated]].assign(channel=channel))
    return pd.concat(tables, ignore_index=True)


@click.command("bootstrap")
@_shared
@click.option(
    "--verdicts",
    required=True,
    metavar="FILE",
    help="model, problem_id, is_correct (.jsonl, .csv, .parquet).",
)
@click.option("-n", "n", type=int, default=13, show_default=True, help="Reference length of n-grams.")
@click.option("--channel", help="Channel of the audit; may be left out if there is only one.")
@BOOTSTRAP
@click.option("--cluster", metavar="FIELD", help="Resample problems together that share this field, such as paper_id.")
@click.option("--group-by", multiple=True, metavar="FIELD", help="Also per value of this field; may be repeated.")
@click.option("--response-field", metavar="FIELD", help="Verdict field with the response, for the exact-format bound.")
def bootstrap_command(**given: Any) -> None:
    """Say how much filtering to a view changes accuracy, how much it could, and how sure one can be."""
    bootstrap = bootstrap_of(given)
    records = read_records(given["benchmark"], "--benchmark") if given["benchmark"] else []
    frame = benchmark_frame(records, given["id_field"])
    table = pd.DataFrame(read_records(given["verdicts"], "--verdicts"), dtype=object)
    source = _verdict_file(table, frame, given)
    _require_records(frame, given, ("snapshot", "response_field"))
    dated = snapshot_views(frame, given["snapshot"], given["date_field"]) if given["snapshot"] else None
    study = Study(
        verdicts=source.verdicts,
        views=tuple(_listed(given)),
        metadata=_metadata(given) if given["audit"] else None,
        n=given["n"],
        channel=given["channel"],
        undecided=given["undecided"],
        snapshot=dated,
        group_by=given["group_by"],
        exact=_exact_verdicts(table, frame, given),
    )
    analysis = analyse(study, bootstrap)
    remarks = [*source.remarks(), *_about_records(source.verdicts, frame), *analysis.remarks]
    publish(
        analysis.tables, _SHOWN, given["out"], given["formats"], [*remarks, *notes_in_words(analysis, "full_vs_view")]
    )


@click.command("corpora")
@about_a_run
@click.option("--level", type=float, default=0.95, show_default=True, help="Coverage of the intervals.")
@TABLE_FORMATS
@click.option("--out", metavar="DIR", help="Folder to write the table into.  [default: nothing is written]")
def corpora_command(directory: str, config: str | None, level: float, formats: Sequence[str], out: str | None) -> None:
    """Estimate which share of each corpus is also in each other one.

    From the smallest hashes of each corpus's distinct documents that the scan kept. Two corpora that share much are
    one piece of evidence, not two.
    """
    audit = Audit.open(directory, read_stores(config).storage_options)
    if len(audit.sketches) < 2:
        raise UsageError(f"{directory} holds one corpus: there is nothing to compare it with")
    table = containment(audit.sketches, SKETCH_SIZE, level)
    Console().print(rich_table("corpora", table))
    partly = [corpus["name"] for corpus in audit.info["corpora"] if corpus["unread_bytes"]]
    if partly:
        Console().print(f"Part of {', '.join(partly)} was not read, so this speaks of what was read.", markup=False)
    if out:
        write_files(out, table_files({"corpora": table}, formats))


def _about_records(verdicts: Verdicts, frame: pd.DataFrame) -> list[str]:
    lost = sorted(set(verdicts.ids) - set(frame["problem_id"]))
    if frame.empty or not lost:
        return []
    return [f"{len(lost)} problem(s) with verdicts have no benchmark record, such as {lost[0]!r}: no group has them."]


def _verdict_file(table: pd.DataFrame, frame: pd.DataFrame, given: dict[str, Any]) -> VerdictFile:
    wanted = list(dict.fromkeys([*given["group_by"], *([given["cluster"]] if given["cluster"] else [])]))
    source = verdicts_from_frame(table, () if len(frame) else wanted, given["verdicts"])
    verdicts = source.verdicts
    if len(frame):
        verdicts = verdicts.describe(frame, wanted, "--group-by or --cluster")
    if given["cluster"]:
        verdicts = verdicts.clustered_by(given["cluster"])
    return replace(source, verdicts=verdicts)


def _exact_verdicts(table: pd.DataFrame, frame: pd.DataFrame, given: dict[str, Any]) -> Verdicts | None:
    if not given["response_field"]:
        return None
    scored = score_responses(table.astype({"problem_id": str}), frame, given["response_field"])
    return _verdict_file(scored, frame, given).verdicts

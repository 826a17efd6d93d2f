"""The whole analysis at once: verdicts and views in, every table out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from wmbxl.errors import UsageError
from wmbxl.stats.buckets import accuracy_by_bucket, rank_correlation
from wmbxl.stats.compare import accuracy, everything, full_vs_view, group_views, view_vs_rest
from wmbxl.stats.counterfactual import counterfactuals, power
from wmbxl.stats.lower_bound import exact_format
from wmbxl.stats.pairs import pairs
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.sensitivity import deltas_by_n, membership_by_n
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import AuditLabel, SnapshotViews, UndecidedPolicy, View, audit_rows, audit_view

_FULL_VS_VIEW = [
    *["view", "model", "n_full", "acc_full", "n_view", "acc_view"],
    *["delta_pp", "ci_low_pp", "ci_high_pp"],
]
_TESTS = ["view", "model", "delta_pp", "se_pp", "p", "p_bonferroni", "p_holm", "p_bh", "largest_pp"]


@dataclass(frozen=True)
class Study:
    """What is to be analysed.

    Attributes
    ----------
    verdicts : Verdicts
        The verdicts.
    views : tuple of View
        Views to compare with everything, besides those of the audit.
    metadata : pandas.DataFrame or None
        Metadata of an audit, as `wmbxl.views.read_metadata` gives it.
    n : int
        The reference length of n-grams.
    channel : str or None
        May be None if the audit has only one.
    undecided : {"refuse", "exclude"}
        As for `wmbxl.views.audit_view`.
    snapshot : SnapshotViews or None
        Problems by the date of their source.
    group_by : tuple of str
        Item columns.
    exact : Verdicts or None
        The same responses scored by format.
    """

    verdicts: Verdicts
    views: tuple[View, ...] = ()
    metadata: pd.DataFrame | None = None
    n: int = 13
    channel: str | None = None
    undecided: UndecidedPolicy = "refuse"
    snapshot: SnapshotViews | None = None
    group_by: tuple[str, ...] = ()
    exact: Verdicts | None = None


@dataclass(frozen=True)
class Analysis:
    """What came out.

    Attributes
    ----------
    tables : dict of str to pandas.DataFrame
        By name; the names are those of the files that are written.
    remarks : list of str
        What a reader has to know about the inputs.
    """

    tables: dict[str, pd.DataFrame]
    remarks: list[str]


def analyse(study: Study, bootstrap: Bootstrap) -> Analysis:
    """Run every comparison that the inputs allow.

    Parameters
    ----------
    study : Study
        The inputs.
    bootstrap : Bootstrap
        The protocol.

    Returns
    -------
    Analysis
        Tables ``full_vs_view, tests, accuracy, pairs, view_vs_rest, counterfactual, power, verdicts``; with
        groups ``groups, group_deltas``; with an audit ``sensitivity, deltas_by_n, buckets,
        rank_correlation``; with responses ``exact_format``; and ``notes``, which says what a reader has to
        know about rows of the others.

    Raises
    ------
    UsageError
        There is no view, or verdicts and views share no problem.
    """
    study, remarks = _matched(study)
    verdicts = study.verdicts
    audited = [] if study.metadata is None else views_at(study.metadata, study.n, study.channel, study.undecided)
    views = [*audited, *study.views]
    compared = full_vs_view(verdicts, views, bootstrap)
    bounds = counterfactuals(verdicts, views)
    tables = {
        "full_vs_view": compared[[*_FULL_VS_VIEW, "note"]],
        "tests": compared[_TESTS],
        "accuracy": accuracy(verdicts, [everything(verdicts), *views], bootstrap),
        "pairs": pairs(verdicts, views, bootstrap),
        "view_vs_rest": view_vs_rest(verdicts, views, bootstrap),
        "counterfactual": bounds,
        "power": power(compared, bounds, bootstrap),
        "verdicts": verdicts.counts(),
    }
    tables |= _group_tables(verdicts, study.group_by, views, bootstrap)
    tables |= _audit_tables(study, bootstrap)
    if study.exact is not None:
        exact = study.exact.take(study.exact.contains(verdicts.ids))
        tables["exact_format"] = exact_format(compared, full_vs_view(exact, views, bootstrap))
    remarks += _about_pairs(len(verdicts.models), bootstrap)
    notes = notes_of(tables)
    bare = {name: table.drop(columns="note", errors="ignore") for name, table in tables.items()}
    return Analysis({**bare, "notes": notes}, remarks)


def _matched(study: Study) -> tuple[Study, list[str]]:
    verdicts = study.verdicts
    remarks = []
    if study.metadata is not None:
        audited = verdicts.contains(study.metadata["problem_id"])
        if not audited.any():
            raise UsageError(
                f"no problem with a verdict is in the audit: verdicts name {verdicts.ids[0]!r}, the audit "
                f"{study.metadata['problem_id'].iloc[0]!r}. They have to be of the same benchmark."
            )
        if not audited.all():
            lost = [name for name, known in zip(verdicts.ids, audited, strict=True) if not known]
            remarks.append(
                f"{len(lost)} problem(s) with verdicts are not in the audit, such as {lost[0]!r}. They are "
                "in no comparison, since nobody can say on which side they belong."
            )
        study = replace(study, verdicts=verdicts.take(audited))
    for view in study.views:
        present = int(study.verdicts.contains(view.ids).sum())
        if present < len(view):
            remarks.append(f"{len(view) - present} of {len(view)} problem(s) of view {view.name!r} have no verdict.")
    return study, remarks


def _about_pairs(models: int, bootstrap: Bootstrap) -> list[str]:
    if models == 1:
        return ["There is one model, so there are no pairs to compare."]
    alpha, family = 1 - bootstrap.level, math.comb(models, 2)
    needed = math.ceil(2 * family / alpha)
    if bootstrap.replicates >= needed:
        return []
    return [
        f"{bootstrap.replicates} resamples are too few for {family} pairs: no p-value can stay below "
        f"{alpha:.2g} after Bonferroni or Holm. Use -B {needed} or more."
    ]


def views_at(
    metadata: pd.DataFrame, n: int, channel: str | None = None, undecided: UndecidedPolicy = "refuse"
) -> list[View]:
    """Make S0 and S1 at one n, and without problems that are too short for it where that differs."""
    views = []
    labels: tuple[AuditLabel, ...] = ("S0", "S1")
    for label in labels:
        plain, auditable = (
            audit_view(metadata, label, n, channel, auditable_only=only, undecided=undecided) for only in (False, True)
        )
        views += [plain] if plain.ids == auditable.ids else [plain, auditable]
    return views


def _group_tables(
    verdicts: Verdicts, columns: Sequence[str], views: Sequence[View], bootstrap: Bootstrap
) -> dict[str, pd.DataFrame]:
    accuracies, deltas = [], []
    for column in columns:
        groups = group_views(verdicts, column)
        found = accuracy(verdicts, groups, bootstrap).rename(columns={"view": "group"})
        accuracies.append(found.assign(column=column))
        for group in groups:
            part = verdicts.take(verdicts.contains(group.ids))
            deltas.append(full_vs_view(part, views, bootstrap).assign(column=column, group=group.name))
    if not accuracies:
        return {}
    return {
        "groups": _leading(pd.concat(accuracies, ignore_index=True), ["column", "group"]),
        "group_deltas": _leading(pd.concat(deltas, ignore_index=True), ["column", "group"]),
    }


def _leading(table: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    return table[[*first, *(name for name in table.columns if name not in first)]]


def _audit_tables(study: Study, bootstrap: Bootstrap) -> dict[str, pd.DataFrame]:
    if study.metadata is None:
        return {}
    verdicts = study.verdicts
    evaluated = study.metadata[study.metadata["problem_id"].isin(verdicts.ids)]
    rows = audit_rows(study.metadata, study.n, study.channel).set_index("problem_id")
    hits = rows.loc[rows["in_S0"].notna(), "hits_total"]
    return {
        "sensitivity": membership_by_n(evaluated, study.channel, study.n, study.snapshot),
        "deltas_by_n": deltas_by_n(verdicts, evaluated, bootstrap, study.channel, study.undecided),
        "buckets": accuracy_by_bucket(verdicts, hits, bootstrap),
        "rank_correlation": rank_correlation(verdicts, hits, bootstrap),
    }


def notes_of(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Gather the notes on rows of tables, as ``table, row, note``."""
    keys = ("column", "group", "view", "bucket", "model", "model_a", "model_b", "judge", "judge_a", "judge_b")
    rows = [
        {"table": name, "row": ", ".join(str(row[key]) for key in keys if key in row), "note": row["note"]}
        for name, table in tables.items()
        if "note" in table
        for row in table[table["note"] != ""].to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["table", "row", "note"])

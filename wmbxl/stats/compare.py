"""Accuracies compared: everything with a view, a view with the rest, model with model.

All accuracies are in percent, all differences in percentage points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmbxl.errors import UsageError
from wmbxl.stats import remarks
from wmbxl.stats.intervals import Interval, adjusted, intervals
from wmbxl.stats.resample import Bootstrap, Floats, Replicates, cluster_sums, replicate
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View

Mask = NDArray[np.bool_]


def everything(verdicts: Verdicts) -> View:
    """Make the view of all problems with verdicts."""
    return View("full", verdicts.ids, "every problem with a verdict")


def group_views(verdicts: Verdicts, column: str) -> list[View]:
    """Make a view for each value of an item column; a list counts as several values.

    Parameters
    ----------
    verdicts : Verdicts
        With `column` among its items.
    column : str
        Such as ``type`` or ``category``.

    Raises
    ------
    UsageError
        There is no such column.
    """
    if column not in verdicts.items.columns:
        found = ", ".join(verdicts.items.columns) or "(none)"
        raise UsageError(f"no problem has {column!r}. Columns: {found}. Name one with --group-by.")
    values = verdicts.items[column].explode().dropna()
    members: dict[str, list[str]] = {}
    for problem, value in values.items():
        members.setdefault(str(value), []).append(str(problem))
    return [View(value, tuple(ids), f"{column} == {value!r}") for value, ids in sorted(members.items())]


def shares(sums: Floats) -> Floats:
    """Divide the first half of the columns by the second, in percent; NaN where that is 0 by 0."""
    correct, observed = np.split(sums, 2, axis=1)
    with np.errstate(invalid="ignore"):
        share: Floats = correct / observed * 100
    return share


def replicate_accuracies(verdicts: Verdicts, sets: Sequence[Mask], bootstrap: Bootstrap, stream: int = 0) -> Replicates:
    """Resample all problems once, and take every model's accuracy on each of several sets of them.

    Parameters
    ----------
    verdicts : Verdicts
        N problems, M models.
    sets : sequence of ndarray of bool, shape (N,)
        The sets.
    bootstrap, stream
        As for `wmbxl.stats.resample.resample`.

    Returns
    -------
    Replicates
        ``len(sets) * M`` accuracies in percent: the models on the first set, then on the second, and so on.
    """
    correct = np.concatenate([verdicts.correct & inside[:, None] for inside in sets], axis=1)
    observed = np.concatenate([verdicts.observed & inside[:, None] for inside in sets], axis=1)
    totals = cluster_sums(np.concatenate([correct, observed], axis=1).astype(np.float64), verdicts.clusters)
    return replicate(totals, shares, bootstrap, stream)


def all_items(verdicts: Verdicts) -> Mask:
    """Mark every problem."""
    return np.ones(len(verdicts), dtype=bool)


def sentence(*groups: list[str]) -> str:
    """Put remarks into one line."""
    return "; ".join(line for group in groups for line in group)


def accuracy(verdicts: Verdicts, views: Iterable[View], bootstrap: Bootstrap) -> pd.DataFrame:
    """Take every model's accuracy on each view; the view's own problems are resampled.

    Parameters
    ----------
    verdicts : Verdicts
        The verdicts.
    views : iterable of View
        Problems without verdicts are passed over.
    bootstrap : Bootstrap
        The protocol.

    Returns
    -------
    pandas.DataFrame
        ``view, model, n, acc, ci_low, ci_high, note``; `n` counts verdicts.

    Examples
    --------
    >>> found = Verdicts(("a", "b"), ("m",), np.array([[True], [False]]), np.array([[True], [True]]))
    >>> accuracy(found, [everything(found)], Bootstrap(replicates=100))[["view", "model", "n", "acc"]]
       view model  n   acc
    0  full     m  2  50.0
    """
    rows = [row for view in views for row in _accuracy_rows(verdicts, view, bootstrap)]
    return pd.DataFrame(rows, columns=["view", "model", "n", "acc", "ci_low", "ci_high", "note"])


def _accuracy_rows(verdicts: Verdicts, view: View, bootstrap: Bootstrap) -> list[dict[str, Any]]:
    part = verdicts.take(verdicts.contains(view.ids))
    found = intervals(replicate_accuracies(part, [all_items(part)], bootstrap), bootstrap)
    observed, correct = part.observed.sum(axis=0), part.correct.sum(axis=0)
    return [
        {
            "view": view.name,
            "model": model,
            "n": int(observed[k]),
            "acc": found[k].estimate,
            "ci_low": found[k].low,
            "ci_high": found[k].high,
            "note": sentence(
                remarks.about_accuracy(int(correct[k]), int(observed[k]), bootstrap.level),
                remarks.about_missing(len(part) - int(observed[k]), len(part)),
                remarks.about_replicates(found[k], bootstrap.replicates),
            ),
        }
        for k, model in enumerate(verdicts.models)
    ]


def full_vs_view(verdicts: Verdicts, views: Iterable[View], bootstrap: Bootstrap) -> pd.DataFrame:
    """Compare accuracy on everything with accuracy on each view, both under the same resamples.

    Parameters
    ----------
    verdicts : Verdicts
        The verdicts.
    views : iterable of View
        A view's undecided problems belong to neither side of its comparison.
    bootstrap : Bootstrap
        The protocol.

    Returns
    -------
    pandas.DataFrame
        ``view, model, n_full, acc_full, n_view, acc_view, delta_pp, ci_low_pp, ci_high_pp, se_pp, p,
        largest_pp, p_bonferroni, p_holm, p_bh, note``. The difference is full minus view, `largest_pp` is the
        largest absolute difference among the replicates, and p-values are adjusted over the models of a view.

    Examples
    --------
    >>> right = np.array([[True], [False], [True], [True]])
    >>> found = Verdicts(("a", "b", "c", "d"), ("m",), right, np.ones_like(right))
    >>> clean = View("clean", ("b", "c"), "by hand")
    >>> full_vs_view(found, [clean], Bootstrap(replicates=100))[["acc_full", "acc_view", "delta_pp"]]
       acc_full  acc_view  delta_pp
    0      75.0      50.0      25.0
    """
    tables = []
    for view in views:
        base = _decided(verdicts, view)
        inside = base.contains(view.ids)
        both = replicate_accuracies(base, [all_items(base), inside], bootstrap)
        models = len(base.models)
        full, part = both.columns(slice(0, models)), both.columns(slice(models, None))
        sides = (_Side("full", all_items(base), full), _Side("view", inside, part))
        tables.append(_contrast(base, view, sides, full.minus(part), bootstrap))
    return stacked(tables)


def view_vs_rest(verdicts: Verdicts, views: Iterable[View], bootstrap: Bootstrap) -> pd.DataFrame:
    """Compare accuracy on each view with accuracy on the rest, each side resampled on its own.

    Parameters
    ----------
    verdicts, views, bootstrap
        As for `full_vs_view`.

    Returns
    -------
    pandas.DataFrame
        The columns of `full_vs_view`, with ``n_view, acc_view, n_rest, acc_rest`` for the two sides. The
        difference is view minus rest.

    Notes
    -----
    The view draws from stream 0 of the seed and the rest from stream 1. With ``rng="release"`` stream 1 is
    ``numpy.random.default_rng(numpy.random.SeedSequence(seed, spawn_key=(1,)))``.
    """
    tables = []
    for view in views:
        base = _decided(verdicts, view)
        inside = base.contains(view.ids)
        part, rest = (
            replicate_accuracies(side, [all_items(side)], bootstrap, stream)
            for stream, side in enumerate((base.take(inside), base.take(~inside)))
        )
        sides = (_Side("view", inside, part), _Side("rest", ~inside, rest))
        difference = part.minus_independent(rest)
        shared = remarks.about_clusters(_shared_clusters(base, inside))
        tables.append(_contrast(base, view, sides, difference, bootstrap, about=shared))
    return stacked(tables)


def stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Put the tables of several views under one another."""
    if not tables:
        raise UsageError("there is no view to compare with. Give --audit DIR, or --view NAME=ids.json.")
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True)
class _Side:
    name: str
    inside: Mask
    accuracies: Replicates


def _decided(verdicts: Verdicts, view: View) -> Verdicts:
    return verdicts.take(~verdicts.contains(view.undecided))


def _shared_clusters(base: Verdicts, inside: Mask) -> int:
    if base.clusters is None:
        return 0
    labels = np.array(base.clusters, dtype=object)
    return len(set(labels[inside]) & set(labels[~inside]))


def _contrast(
    base: Verdicts,
    view: View,
    sides: tuple[_Side, _Side],
    differences: Replicates,
    bootstrap: Bootstrap,
    *,
    about: Sequence[str] = (),
) -> pd.DataFrame:
    found = intervals(differences, bootstrap)
    inside = base.contains(view.ids)
    about_view = [*remarks.about_sizes(int(inside.sum()), int((~inside).sum())), *about]
    rows = []
    for k, model in enumerate(base.models):
        row: dict[str, Any] = {"view": view.name, "model": model}
        for side in sides:
            row[f"n_{side.name}"] = int(base.observed[side.inside, k].sum())
            row[f"acc_{side.name}"] = float(side.accuracies.estimate[k])
        row |= difference_cells(found[k])
        row["note"] = sentence(
            about_view,
            _about_answers(base, inside, k, " in the view"),
            _about_answers(base, ~inside, k, " outside the view"),
            remarks.about_missing(int((~base.observed[:, k]).sum()), len(base)),
            remarks.about_undecided(len(view.undecided)),
            remarks.about_replicates(found[k], bootstrap.replicates),
        )
        rows.append(row)
    return with_adjusted(pd.DataFrame(rows))


def _about_answers(base: Verdicts, inside: Mask, model: int, where: str) -> list[str]:
    correct, observed = base.correct[inside, model].sum(), base.observed[inside, model].sum()
    return remarks.about_answers(int(correct), int(observed), where)


def difference_cells(found: Interval) -> dict[str, float]:
    """Lay out a difference and its uncertainty, in percentage points."""
    return {
        "delta_pp": found.estimate,
        "ci_low_pp": found.low,
        "ci_high_pp": found.high,
        "se_pp": found.standard_error,
        "p": found.p_value,
        "largest_pp": found.largest,
    }


def with_adjusted(table: pd.DataFrame) -> pd.DataFrame:
    """Add p-values adjusted over the rows of a table, before its notes."""
    note = table.pop("note")
    return table.join(adjusted(table["p"])).assign(note=note)

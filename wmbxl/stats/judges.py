"""Several judges of the same answers: how far they agree, and what the choice of one does to models' results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from wmbxl.errors import UsageError
from wmbxl.stats.agreement import Ratings, group_agreement, pair_agreement, ratings_from_frame
from wmbxl.stats.compare import accuracy, everything, full_vs_view
from wmbxl.stats.pairs import pairs
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.study import Analysis, notes_of
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View

_ANSWER = ["model", "problem_id"]


def compare_judges(
    judges: Mapping[str, Verdicts], views: Sequence[View], groups: pd.DataFrame, bootstrap: Bootstrap
) -> Analysis:
    """Compare judges of the same answers.

    Parameters
    ----------
    judges : mapping of str to Verdicts
        What each judge, human ones included, said of models' answers. None has to have judged all of them.
    views : sequence of View
        To compare with everything.
    groups : pandas.DataFrame
        ``model, problem_id``, and columns by whose values agreement is to be taken too; a list counts as several.
    bootstrap : Bootstrap
        The protocol. Problems are resampled, with the answers of all models to them.

    Returns
    -------
    Analysis
        Tables ``agreement, agreement_of_pairs, judge_range, judge_accuracy, judge_pairs``, with views ``judge_deltas``,
        and ``notes``.

    Raises
    ------
    UsageError
        There are fewer than two judges, or no answer has verdicts of two of them.
    """
    if len(judges) < 2:
        raise UsageError(f"found {len(judges)} judge(s): give --verdicts NAME=FILE for two or more")
    said = _said(judges)
    tables = _agreement(said, groups, bootstrap)
    tables["judge_range"] = _ranges(said, views)
    tables["judge_pairs"] = _pairs(said, views, bootstrap)
    tables["judge_accuracy"] = _each(judges, lambda found: accuracy(found, [everything(found), *views], bootstrap))
    if views:
        tables["judge_deltas"] = _each(judges, lambda found: full_vs_view(found, views, bootstrap))
    notes = notes_of(tables)
    bare = {name: table.drop(columns="note", errors="ignore") for name, table in tables.items()}
    return Analysis({**bare, "notes": notes}, _remarks(said))


def _said(judges: Mapping[str, Verdicts]) -> pd.DataFrame:
    """Return a row for each answer with a verdict and a column for each judge: 1 for right, 0 for wrong, or NaN."""
    columns = {
        name: pd.Series(
            np.where(found.observed, found.correct, np.nan).T.ravel(),
            index=pd.MultiIndex.from_product([found.models, found.ids], names=_ANSWER),
        )
        for name, found in judges.items()
    }
    said = pd.DataFrame(columns).dropna(how="all")
    if not (said.notna().sum(axis=1) > 1).any():
        raise UsageError(
            "no answer has verdicts of two judges: expected the same names of models and problems in every file. Found "
            + "; ".join(f"{name}: {found.models[0]!r} on {found.ids[0]!r}" for name, found in judges.items())
        )
    return said


def _remarks(said: pd.DataFrame) -> list[str]:
    shared = int(said.notna().all(axis=1).sum())
    lines = [
        f"{judge}: no verdict on {missing} of {len(said)} answers; they are left out where this judge is concerned."
        for judge, missing in said.isna().sum().items()
        if missing
    ]
    return [*lines, f"{shared} of {len(said)} answers have a verdict of every judge."] if lines else []


def _agreement(said: pd.DataFrame, groups: pd.DataFrame, bootstrap: Bootstrap) -> dict[str, pd.DataFrame]:
    together, in_pairs = [], []
    for column, group, part in _parts(said, groups):
        ratings = _ratings(part)
        place = {"column": column, "group": group}
        together.append({**place, **group_agreement(ratings, bootstrap)})
        found = pair_agreement(ratings, bootstrap).rename(columns={"rater_a": "judge_a", "rater_b": "judge_b"})
        in_pairs.append(pd.DataFrame([place] * len(found)).join(found))
    return {
        "agreement": pd.DataFrame(together).rename(columns={"raters": "judges"}),
        "agreement_of_pairs": pd.concat(in_pairs, ignore_index=True),
    }


def _parts(said: pd.DataFrame, groups: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield all answers, and those of each group."""
    yield "", "all", said
    by_answer = groups.set_index(_ANSWER).reindex(said.index)
    for column in by_answer.columns:
        values = by_answer[column].explode().dropna().astype(str)
        for group, members in values.groupby(values):
            yield str(column), str(group), said.loc[members.index]


def _ratings(said: pd.DataFrame) -> Ratings:
    return ratings_from_frame(said, categories=(0.0, 1.0), clusters=list(said.index.get_level_values("problem_id")))


def _ranges(said: pd.DataFrame, views: Sequence[View]) -> pd.DataFrame:
    """Say for each model how far its results differ between judges, on the answers that all of them decided."""
    decided = said.dropna()
    rows = []
    for model in _models(said):
        found = _of_model(decided, model)
        whole = View("full", tuple(found.index), "every problem with a verdict of every judge")
        for view in (whole, *views):
            base = found[~found.index.isin(view.undecided)]
            inside = base[base.index.isin(view.ids)]
            accuracies = 100 * inside.mean()
            row = {"view": view.name, "model": model, "n": len(inside), **_spread(accuracies, "acc")}
            deltas = 100 * base.mean() - accuracies
            if view is not whole:
                row |= {**_spread(deltas, "delta"), "sign_changes": bool(deltas.min() < 0 < deltas.max())}
            rows.append(row)
    return pd.DataFrame(rows)


def _spread(values: pd.Series[float], name: str) -> dict[str, Any]:
    none = values.isna().all()
    return {
        f"{name}_lowest": values.min(),
        f"{name}_lowest_by": "" if none else values.idxmin(),
        f"{name}_highest": values.max(),
        f"{name}_highest_by": "" if none else values.idxmax(),
        f"{name}_range_pp": values.max() - values.min(),
    }


def _pairs(said: pd.DataFrame, views: Sequence[View], bootstrap: Bootstrap) -> pd.DataFrame:
    """Compare every two judges of each model, on what both decided, as if they were two models."""
    tables = []
    for model in _models(said):
        found = _of_model(said, model)
        judged = Verdicts(
            ids=tuple(found.index),
            models=tuple(found.columns),
            correct=(found == 1).to_numpy(dtype=bool),
            observed=found.notna().to_numpy(dtype=bool),
        )
        table = pairs(judged, views, bootstrap).rename(columns={"model_a": "judge_a", "model_b": "judge_b"})
        table.insert(1, "model", model)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _each(judges: Mapping[str, Verdicts], table_of: Callable[[Verdicts], pd.DataFrame]) -> pd.DataFrame:
    """Stack a table of each judge's own verdicts."""
    tables = [table_of(found).assign(judge=name) for name, found in judges.items()]
    stacked = pd.concat(tables, ignore_index=True)
    stacked.insert(2, "judge", stacked.pop("judge"))
    return stacked


def _models(said: pd.DataFrame) -> list[str]:
    return list(said.index.unique("model"))


def _of_model(said: pd.DataFrame, model: str) -> pd.DataFrame:
    return said[said.index.get_level_values("model") == model].droplevel("model")

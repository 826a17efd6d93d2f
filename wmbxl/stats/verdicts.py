"""Models' verdicts: who answered which problem, and whether the answer was right.

A verdict is right, wrong or missing. Missing ones are never counted as wrong: they leave numerator and
denominator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmbxl.errors import FieldNotFound, UsageError, VerdictError
from wmbxl.tables import read_records

_CODES = {"true": 1, "1": 1, "1.0": 1, "false": 0, "0": 0, "0.0": 0}
_NULL = -1
_UNKNOWN = -2


@dataclass(frozen=True)
class Verdicts:
    """Verdicts of several models on several problems.

    Attributes
    ----------
    ids : tuple of str, length N
        Problems, sorted.
    models : tuple of str, length M
        Models, in order of first appearance.
    correct : ndarray of bool, shape (N, M)
        True where the model is right; False where it is wrong or the verdict is missing.
    observed : ndarray of bool, shape (N, M)
        False where the verdict is missing.
    items : pandas.DataFrame
        Columns that describe the problems, such as format or paper; its index is `ids`.
    clusters : tuple of str or None
        Problems with the same label are resampled together; None resamples problems one by one.
    """

    ids: tuple[str, ...]
    models: tuple[str, ...]
    correct: NDArray[np.bool_]
    observed: NDArray[np.bool_]
    items: pd.DataFrame = field(default_factory=pd.DataFrame)
    clusters: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def contains(self, ids: Iterable[str]) -> NDArray[np.bool_]:
        """Mark the problems that are among `ids`, as a bool array of shape (N,)."""
        wanted = set(ids)
        return np.fromiter((name in wanted for name in self.ids), dtype=bool, count=len(self))

    def take(self, keep: NDArray[np.bool_]) -> Verdicts:
        """Keep the problems that a bool array of shape (N,) marks."""
        labels = None if self.clusters is None else _marked(self.clusters, keep)
        return replace(
            self,
            ids=_marked(self.ids, keep),
            correct=self.correct[keep],
            observed=self.observed[keep],
            items=self.items.loc[keep] if len(self.items) else self.items,
            clusters=labels,
        )

    def select(self, models: Sequence[str]) -> Verdicts:
        """Keep some models, in the order given."""
        columns = [self.models.index(model) for model in models]
        return replace(self, models=tuple(models), correct=self.correct[:, columns], observed=self.observed[:, columns])

    def describe(self, records: pd.DataFrame, columns: Sequence[str], option: str) -> Verdicts:
        """Join columns of a benchmark to the problems.

        Parameters
        ----------
        records : pandas.DataFrame
            Benchmark records with ``problem_id``, each once. Problems without a record get missing values.
        columns : sequence of str
            Columns to join.
        option : str
            The command-line option that named the columns; errors name it.

        Raises
        ------
        FieldNotFound
            The records lack a column.
        """
        for name in columns:
            if name not in records.columns:
                raise FieldNotFound("benchmark records", name, records.columns, option)
        indexed = records.set_index("problem_id")
        return replace(self, items=indexed[list(columns)].reindex(list(self.ids)))

    def clustered_by(self, column: str) -> Verdicts:
        """Resample problems together that share a value of an item column.

        Raises
        ------
        UsageError
            No such column, or a problem has no value in it.
        """
        if column not in self.items.columns:
            found = ", ".join(self.items.columns) or "(none)"
            raise UsageError(f"no item has {column!r}. Columns: {found}. Name one with --cluster.")
        labels = self.items[column]
        if labels.isna().any():
            lacking = labels.index[labels.isna()]
            raise UsageError(
                f"{len(lacking)} problem(s) have no {column}, such as {lacking[0]!r}, so they belong to no "
                "cluster. Complete the benchmark, or leave --cluster out."
            )
        return replace(self, clusters=tuple(labels.astype(str)))

    def counts(self) -> pd.DataFrame:
        """Count per model: problems, verdicts, missing ones and right ones."""
        observed = self.observed.sum(axis=0)
        return pd.DataFrame(
            {
                "model": self.models,
                "items": len(self),
                "verdicts": observed,
                "missing": len(self) - observed,
                "correct": self.correct.sum(axis=0),
            }
        )


def _marked(values: Sequence[str], keep: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(value for value, kept in zip(values, keep, strict=True) if kept)


@dataclass(frozen=True)
class VerdictFile:
    """What a file of verdicts held.

    Attributes
    ----------
    verdicts : Verdicts
        The verdicts.
    rows : int
        Records read.
    repeated : int
        Records that said again what an earlier one had said; they were dropped.
    missing : pandas.DataFrame
        ``model, null, absent``: verdicts given as null, and problems that only other models have.
    """

    verdicts: Verdicts
    rows: int
    repeated: int
    missing: pd.DataFrame

    def remarks(self) -> list[str]:
        """Say in words what is odd about the file; an empty list if nothing is."""
        lines = []
        if self.repeated:
            lines.append(f"{self.repeated} record(s) repeat an earlier one and were dropped.")
        for row in self.missing.itertuples():
            if row.null or row.absent:
                lines.append(
                    f"{row.model}: {row.null} verdict(s) are null and {row.absent} problem(s) have none, of "
                    f"{len(self.verdicts)}; they are left out, not counted as wrong."
                )
        return lines


def read_verdicts(path: str, item_columns: Sequence[str] = ()) -> VerdictFile:
    """Read verdicts from JSON lines, CSV or Parquet.

    Parameters
    ----------
    path : str
        Records with ``model``, ``problem_id`` and ``is_correct`` (true, false, 1, 0, or null for missing).
    item_columns : sequence of str
        Further columns that describe the problem.

    Returns
    -------
    VerdictFile
        See `verdicts_from_frame`, whose errors also apply.

    Raises
    ------
    UsageError
        The file holds no record.
    """
    records = read_records(path, "--verdicts")
    if not records:
        raise UsageError(f"{path}: the file is empty: expected records with model, problem_id and is_correct")
    return verdicts_from_frame(pd.DataFrame(records, dtype=object), item_columns, path)


def verdicts_from_frame(frame: pd.DataFrame, item_columns: Sequence[str] = (), where: str = "verdicts") -> VerdictFile:
    """Arrange verdict records as problems by models.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``model``, ``problem_id``, ``is_correct``, and `item_columns`.
    item_columns : sequence of str
        Columns that describe the problem; they must not differ between models.
    where : str
        Name of the source, for errors.

    Returns
    -------
    VerdictFile
        The verdicts, and an account of nulls, absences and repetitions.

    Raises
    ------
    FieldNotFound
        A column is absent.
    VerdictError
        Records are unusable or contradict each other; every one of them is listed.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": "m", "problem_id": ["b", "a"], "is_correct": [None, 1]})
    >>> found = verdicts_from_frame(frame)
    >>> found.verdicts.ids, found.verdicts.observed[:, 0].tolist()
    (('a', 'b'), [True, False])
    >>> found.remarks()
    ['m: 1 verdict(s) are null and 0 problem(s) have none, of 2; they are left out, not counted as wrong.']
    """
    for name in ("model", "problem_id", "is_correct", *item_columns):
        if name not in frame.columns:
            raise FieldNotFound(where, name, frame.columns, f"its proper name, {name!r}")
    table = _checked(frame, where)
    pairs = table.drop_duplicates(["model", "problem_id"])
    models = list(pairs["model"].unique())
    wide = pairs.pivot(index="problem_id", columns="model", values="code")
    wide = wide.loc[sorted(wide.index), models]
    verdicts = Verdicts(
        ids=tuple(wide.index),
        models=tuple(models),
        correct=(wide == 1).to_numpy(dtype=bool),
        observed=(wide >= 0).to_numpy(dtype=bool),
        items=_item_table(table, item_columns, where).reindex(list(wide.index)),
    )
    missing = pd.DataFrame(
        {"model": models, "null": (wide == _NULL).sum().to_numpy(), "absent": wide.isna().sum().to_numpy()}
    )
    return VerdictFile(verdicts, rows=len(frame), repeated=len(table) - len(pairs), missing=missing)


def _checked(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    issues = [
        f"record {row + 1}: no {name}"
        for name in ("model", "problem_id")
        for row in np.flatnonzero(frame[name].isna().to_numpy())
    ]
    codes = [_code(value) for value in frame["is_correct"]]
    issues += [
        f"record {row + 1}: expected is_correct to be true, false, 1, 0 or null, found {value!r}"
        for row, (value, code) in enumerate(zip(frame["is_correct"], codes, strict=True))
        if code == _UNKNOWN
    ]
    if issues:
        raise VerdictError(where, issues)
    table = frame.assign(
        model=frame["model"].astype(str), problem_id=frame["problem_id"].astype(str), code=codes
    ).reset_index(drop=True)
    first = table.groupby(["model", "problem_id"])["code"].transform("first")
    clashes = table[table["code"] != first]
    if len(clashes):
        lines = zip(clashes.index, clashes["model"], clashes["problem_id"], strict=True)
        raise VerdictError(
            where,
            [f"record {row + 1}: another verdict of {model!r} on {name!r} is further up" for row, model, name in lines],
        )
    return table


def as_verdict(value: Any) -> bool | None:
    """Return what a cell of ``is_correct`` says: right, wrong, or None for a missing verdict.

    Raises
    ------
    ValueError
        It says neither.

    Examples
    --------
    >>> as_verdict("True"), as_verdict(0), as_verdict(None)
    (True, False, None)
    """
    code = _code(value)
    if code == _UNKNOWN:
        raise ValueError(f"expected true, false, 1, 0 or null, found {value!r}")
    return None if code == _NULL else code == 1


def _code(value: Any) -> int:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return _NULL
    return _CODES.get(str(value).strip().lower(), _UNKNOWN)


def _item_table(table: pd.DataFrame, columns: Sequence[str], where: str) -> pd.DataFrame:
    described = table[["problem_id", *columns]]
    items = described.groupby("problem_id").first()
    issues = []
    for name in columns:
        values = described.dropna(subset=[name])
        spread = values.groupby("problem_id")[name].agg(lambda column: len({str(value) for value in column}))
        issues += [f"problem {problem!r}: its records give different {name}" for problem in spread.index[spread > 1]]
    if issues:
        raise VerdictError(where, issues)
    return items

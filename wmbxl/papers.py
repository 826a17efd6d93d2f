"""Keep source papers apart: test problems of papers that training never saw, and splits by paper."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wmbxl.errors import UsageError
from wmbxl.views import View, record_column


@dataclass(frozen=True)
class PaperSplit:
    """A split of problems with every paper on one side."""

    train: View
    test: View


def paper_disjoint_slice(
    records: pd.DataFrame,
    paper_field: str = "paper_id",
    split_field: str = "split",
    test: str = "test",
    train: str = "train",
) -> View:
    """Keep the test problems whose paper has no problem in training.

    Parameters
    ----------
    records : pandas.DataFrame
        Benchmark records, training ones included.
    paper_field, split_field : str
        Columns with the source paper and the split.
    test, train : str
        The values of `split_field` that mean test and training.

    Raises
    ------
    FieldNotFound
        A column is absent.
    UsageError
        A record has no paper, or no record belongs to a split.

    Examples
    --------
    >>> splits = ["train", "test", "test"]
    >>> records = pd.DataFrame({"problem_id": ["a", "b", "c"], "paper_id": [1, 1, 2], "split": splits})
    >>> paper_disjoint_slice(records).ids
    ('c',)
    """
    papers = _papers(records, paper_field)
    splits = record_column(records, split_field, "--split-field")
    for value in (test, train):
        if not (splits == value).any():
            raise UsageError(
                f"no record has {split_field} = {value!r}; found "
                f"{', '.join(map(str, splits.unique()))}. Name the column with --split-field."
            )
    trained = set(papers[splits == train])
    chosen = papers[(splits == test) & ~papers.isin(trained)]
    return View(
        "paper-disjoint",
        tuple(chosen.index),
        f"{split_field} == {test!r} and {paper_field} absent from {train!r}",
    )


def _papers(records: pd.DataFrame, paper_field: str) -> pd.Series[Any]:
    papers = record_column(records, paper_field, "--paper-field")
    if papers.isna().any():
        lacking = papers.index[papers.isna()]
        raise UsageError(
            f"{len(lacking)} record(s) have no {paper_field}, such as {lacking[0]!r}, so they can't be put "
            "on either side. Complete them."
        )
    names: pd.Series[Any] = papers.astype(str)
    return names


def paper_disjoint_split(
    records: pd.DataFrame,
    fraction: float = 0.2,
    seed: int = 0,
    paper_field: str = "paper_id",
    format_field: str = "type",
) -> PaperSplit:
    """Split a benchmark so that no paper has problems on both sides.

    Papers are put in the order of the sha256 of ``"seed:paper"``. Then the paper is taken, again and again,
    that brings the counts of task formats nearest to their target (L1 distance; ties: nearest total, then the
    order), until the number of problems reaches the target.

    Parameters
    ----------
    records : pandas.DataFrame
        Benchmark records with ``problem_id``, `paper_field` and `format_field`.
    fraction : float
        Share of problems wanted in the test side, between 0 and 1, both excluded.
    seed : int
        Another seed gives another split.
    paper_field, format_field : str
        Columns with the source paper and the task format.

    Returns
    -------
    PaperSplit
        The same for the same records and seed, whatever the order of the records.

    Raises
    ------
    FieldNotFound
        A column is absent.
    UsageError
        `fraction` is out of range, or a record has no paper.

    Examples
    --------
    >>> records = pd.DataFrame({"problem_id": list("abcd"), "paper_id": [1, 1, 2, 3], "type": "MCQ"})
    >>> split = paper_disjoint_split(records, fraction=0.5)
    >>> split.test.ids, split.train.ids
    (('a', 'b'), ('c', 'd'))
    """
    if not 0 < fraction < 1:
        raise UsageError(f"expected a fraction between 0 and 1 for --paper-split, found {fraction}.")
    papers = _papers(records, paper_field)
    formats = record_column(records, format_field, "--format-field").astype(str)
    counts = pd.crosstab(papers, formats)
    counts = counts.loc[sorted(counts.index, key=lambda paper: hashlib.sha256(f"{seed}:{paper}".encode()).hexdigest())]
    chosen = counts.index[_nearest_to_target(counts.to_numpy(), fraction)]
    held_out = papers.isin(chosen)
    rule = (
        f"{{}} side of a split by {paper_field}, {fraction:g} of problems held out, "
        f"balanced by {format_field}, seed {seed}"
    )
    return PaperSplit(
        train=View(f"paper-train-seed{seed}", tuple(papers.index[~held_out]), rule.format("train")),
        test=View(f"paper-test-seed{seed}", tuple(papers.index[held_out]), rule.format("test")),
    )


def _nearest_to_target(counts: np.ndarray[Any, np.dtype[np.int64]], fraction: float) -> list[int]:
    wanted = fraction * counts.sum(axis=0)
    total = round(fraction * int(counts.sum()))
    taken = np.zeros(counts.shape[1], dtype=np.int64)
    free = list(range(len(counts)))
    chosen: list[int] = []
    while taken.sum() < total:
        after = taken + counts[free]
        # Rounded, so that papers which are equally good tie exactly and their order decides.
        distance = np.abs(after - wanted).sum(axis=1).round(9)
        gap = np.abs(after.sum(axis=1) - total)
        best = free.pop(int(np.lexsort((gap, distance))[0]))
        taken += counts[best]
        chosen.append(best)
    return chosen

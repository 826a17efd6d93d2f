"""What may not be trained on: the test's problems, on demand their papers, and text that they share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Literal

import numpy as np

from wmbxl.benchmark import Benchmark
from wmbxl.corpus import Corpus
from wmbxl.errors import LeakError, UsageError
from wmbxl.index import ProbeIndex
from wmbxl.scan import scan_shard
from wmbxl.tables import json_lines
from wmbxl.text import Normaliser, replace_surrogates
from wmbxl.train.problems import Item
from wmbxl.train.settings import DataConfig

Rule = Literal["test problem", "test split", "shared paper", "shared text"]


@dataclass(frozen=True)
class Leak:
    """A reason why a problem may not be trained on.

    Attributes
    ----------
    problem_id : str
        The problem.
    rule : {"test problem", "test split", "shared paper", "shared text"}
        Which rule it breaks.
    detail : str
        What it shares, and with which test problem.
    """

    problem_id: str
    rule: Rule
    detail: str


@dataclass(frozen=True)
class Overlap:
    """Text of a problem that stands in a test problem too, found by the audit itself."""

    ngram: str
    test_id: str
    ngrams: int


def find_leaks(train: Sequence[Item], test: Sequence[Item], data: DataConfig) -> list[Leak]:
    """Find every reason why problems may not be trained on.

    Returns
    -------
    list of Leak
        One for each problem and rule that it breaks.

    Raises
    ------
    UsageError
        Papers are to be kept apart, and a test problem names none.
    """
    lacking = [item.id for item in test if item.paper is None]
    if data.paper_disjoint and lacking:
        raise UsageError(
            f"data.test: {len(lacking)} problem(s) have no {data.paper_field}, such as {lacking[0]!r}, so nobody can "
            "tell which papers training must not see: complete them, or leave out paper_disjoint"
        )
    tested = _Tested.of(test, data)
    shared = overlaps(train, test, data.overlap_n)
    return [leak for item in train for leak in _leaks(item, tested, shared, data)]


@dataclass(frozen=True)
class _Tested:
    """What belongs to the test: ids, the split that all its records name, and each paper with one of its problems."""

    ids: frozenset[str]
    split: str | None
    papers: Mapping[str | None, str]

    @classmethod
    def of(cls, test: Sequence[Item], data: DataConfig) -> _Tested:
        splits = {item.split for item in test}
        papers = {item.paper: item.id for item in test} if data.paper_disjoint else {}
        return cls(frozenset(item.id for item in test), splits.pop() if len(splits) == 1 else None, papers)


def _leaks(item: Item, tested: _Tested, shared: Mapping[str, Overlap], data: DataConfig) -> Iterator[Leak]:
    if item.id in tested.ids:
        yield Leak(item.id, "test problem", "it is one of data.test")
    if tested.split is not None and item.split == tested.split:
        yield Leak(item.id, "test split", f"its {data.split_field} is {item.split!r}")
    if item.paper in tested.papers:
        yield Leak(item.id, "shared paper", f"{item.paper} is also the source of {tested.papers[item.paper]!r}")
    if found := shared.get(item.id):
        detail = f"{found.ngrams} {data.overlap_n}-gram(s), such as {found.ngram!r} of {found.test_id!r}"
        yield Leak(item.id, "shared text", detail)


def overlaps(train: Sequence[Item], test: Sequence[Item], n: int) -> dict[str, Overlap]:
    """Audit the training problems against the texts of the test, as if those were a corpus.

    Parameters
    ----------
    train, test : sequence of Item
        Their `Item.text` is compared.
    n : int
        Length of the n-grams in tokens.

    Returns
    -------
    dict
        For each training problem that shares an n-gram: how many distinct ones, the first of them, and a test problem
        that has it.

    Examples
    --------
    >>> from wmbxl.evaluate.questions import Question
    >>> items = [Item(Question(name, "", "", ""), text, None, None) for name, text in
    ...          {"a": "let x be the gain", "b": "so x be the phase"}.items()]
    >>> overlaps(items[:1], items[1:], n=3)
    {'a': Overlap(ngram='x be the', test_id='b', ngrams=1)}
    """
    index = ProbeIndex.build(Benchmark.from_surfaces({item.id: item.text for item in train}), [n])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.jsonl"
        path.write_bytes(json_lines(map(_document, test)))
        shards = Corpus("test", str(path), id_field="id").shards()
        tally = reduce(add, (scan_shard(shard, index, evidence_cap=1) for shard in shards))
    _, entries = index.owner_entries(tally.grams.keys)
    matched = np.bincount(entries, minlength=index.entries)
    return {
        index.problem_ids[row["entry"]]: Overlap(  # one channel and one n: an entry is a problem
            index.ngram(row["gram"]), row["document_id"], int(matched[row["entry"]])
        )
        for row in tally.evidence.to_pylist()
    }


def _document(item: Item) -> dict[str, str]:
    return {"id": item.id, "text": replace_surrogates(item.text)}


def count_short(items: Sequence[Item], n: int) -> int:
    """Return how many problems are too short to have an n-gram, so that `overlaps` says nothing about them."""
    normaliser = Normaliser()
    return sum(len(normaliser.tokens(item.text)) < n for item in items)


def without_leaks(train: Sequence[Item], leaks: Sequence[Leak], data: DataConfig) -> list[Item]:
    """Return what may be trained on.

    Raises
    ------
    LeakError
        There are leaks, and the settings say ``leaks: refuse``; or nothing is left.
    """
    leaking = {leak.problem_id for leak in leaks}
    kept = [item for item in train if item.id not in leaking]
    if leaks and (data.leaks == "refuse" or not kept):
        raise LeakError(
            "data.train",
            [f"problem {leak.problem_id!r}: {leak.rule}: {leak.detail}" for leak in leaks],
        )
    return kept

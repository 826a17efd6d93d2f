"""Runs of overlapping matches of one problem in one document, each merged into one span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from wmbxl.index import ProbeIndex
from wmbxl.sample import CONTEXT
from wmbxl.tally import Tally
from wmbxl.text import Normaliser, Token, ngrams

Array = np.ndarray[Any, Any]
Window = Sequence[Token]  # n tokens in a row, with their places in the document

_PLACE = ("shard", "piece", "row")  # as in `wmbxl.tally.EVIDENCE`
SPANS = pa.schema(
    [
        ("entry", pa.int64()),
        ("shard", pa.string()),
        ("piece", pa.int64()),
        ("row", pa.int64()),
        ("document_id", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("tokens", pa.int64()),
        ("windows", pa.int64()),
        ("sampled", pa.bool_()),
    ]
)


def find_spans(index: ProbeIndex, tally: Tally) -> pa.Table:
    """Merge overlapping matches of one entry (problem, channel, n) in one document.

    Evidence is a sample. What stands beside a match in its snippet is looked at too, so a span has holes only where
    two rows of the sample are further apart than their snippets reach.

    Parameters
    ----------
    index : ProbeIndex
    tally : Tally

    Returns
    -------
    pyarrow.Table
        Schema `SPANS`, by entry, then by place. ``sampled``: the spans of the entry hold fewer windows than it has
        hits, so there are more spans, or longer ones.
    """
    which, entries = index.owner_entries(tally.grams.keys)
    hits = np.bincount(entries, weights=tally.grams.counts[which, 0], minlength=index.entries)
    rows = tally.evidence.sort_by([(name, "ascending") for name in ("entry", *_PLACE, "start")]).to_pylist()
    normaliser, words = Normaliser(index.profile), _Words(index)
    spans: list[dict[str, Any]] = []
    for entry, part in groupby(rows, itemgetter("entry")):
        owned, n = words.ngrams(entry)
        found = [
            span
            for _, group in groupby(part, itemgetter(*_PLACE))
            for span in _document_spans(list(group), owned, n, normaliser)
        ]
        sampled = sum(span["windows"] for span in found) < hits[entry]
        spans.extend({**span, "sampled": sampled} for span in found)
    return pa.Table.from_pylist(spans, schema=SPANS)


class _Words:
    """The n-grams of the index's entries."""

    def __init__(self, index: ProbeIndex) -> None:
        self._ns = index.ns
        self._bounds = index.arrays["surface_bounds"]
        self._text = index.arrays["text"].tobytes().decode().split(" ")

    def ngrams(self, entry: int) -> tuple[frozenset[str], int]:
        """Return the n-grams of an entry, and n."""
        surface, length = divmod(entry, len(self._ns))
        n = self._ns[length]
        return frozenset(ngrams(self._text[self._bounds[surface] : self._bounds[surface + 1]], n)), n


def _document_spans(
    rows: Sequence[dict[str, Any]], owned: frozenset[str], n: int, normaliser: Normaliser
) -> Iterator[dict[str, Any]]:
    """Yield the spans of one entry in one document."""
    windows = {window[0].start: window for part in stretches(rows) for window in windows_in(part, owned, n, normaliser)}
    for run in merge(windows[start] for start in sorted(windows)):
        yield {
            **{name: rows[0][name] for name in ("entry", *_PLACE, "document_id")},
            "start": run[0][0].start,
            "end": run[-1][-1].end,
            "tokens": len({token.start for window in run for token in window}),
            "windows": len(run),
        }


def merge(windows: Iterable[Window]) -> Iterator[list[Window]]:
    """Yield the runs of overlapping windows; `windows` come in order of their start.

    Examples
    --------
    >>> tokens = Normaliser().locate("let x be given so that let x be")
    >>> [len(run) for run in merge([tokens[0:3], tokens[1:4], tokens[6:9]])]
    [2, 1]
    """
    run: list[Window] = []
    for window in windows:
        if run and window[0].start >= run[-1][-1].end:
            yield run
            run = []
        run.append(window)
    if run:
        yield run


class Stretch(NamedTuple):
    """A part of a document, from code point `start` on, and whether the document goes on behind it."""

    text: str
    start: int
    behind: bool


def stretches(rows: Iterable[Mapping[str, Any]]) -> Iterator[Stretch]:
    """Join the snippets of evidence that overlap; `rows` are of one document, in order of their start.

    A snippet is the match at ``start`` to ``end`` of the document, with up to `wmbxl.sample.CONTEXT` code points on
    either side.

    Examples
    --------
    >>> rows = [{"start": 0, "end": 5, "snippet": "let x be"}, {"start": 4, "end": 8, "snippet": "let x be so"}]
    >>> list(stretches(rows))
    [Stretch(text='let x be so', start=0, behind=False)]
    """
    parts: list[str] = []
    start = reach = 0
    behind = False
    for row in rows:
        first = max(0, row["start"] - CONTEXT)
        stop = first + len(row["snippet"])
        if parts and first > reach:
            yield Stretch("".join(parts), start, behind)
            parts = []
        if not parts:
            start = reach = first
        if stop >= reach:
            parts.append(row["snippet"][reach - first :])
            reach, behind = stop, stop - row["end"] == CONTEXT  # or the document ends just there
    if parts:
        yield Stretch("".join(parts), start, behind)


def windows_in(stretch: Stretch, owned: frozenset[str], n: int, normaliser: Normaliser) -> Iterator[Window]:
    """Yield the windows of `n` tokens in a stretch of a document that are among the n-grams `owned`."""
    tokens = normaliser.locate(stretch.text)
    if tokens and stretch.start > 0 and tokens[0].start == 0:  # it may begin in the middle of a token
        tokens = tokens[1:]
    if tokens and stretch.behind and tokens[-1].end == len(stretch.text):
        tokens = tokens[:-1]
    placed = [Token(token.start + stretch.start, token.end + stretch.start, token.text) for token in tokens]
    for i, ngram in enumerate(ngrams([token.text for token in placed], n)):
        if ngram in owned:
            yield placed[i : i + n]

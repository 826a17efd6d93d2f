"""The sample of matches that is kept as evidence, its documents and passages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from wmbxl import kernels
from wmbxl.batches import Batch, as_arrays
from wmbxl.folding import Folded
from wmbxl.index import ProbeIndex
from wmbxl.kernels import END, ENTRY, FIRST, GRAM, HIGHEST_BIT, PRIORITY, ROW, SOURCE, START, STOP
from wmbxl.tally import EVIDENCE
from wmbxl.types import Shard
from wmbxl.vector import WIDTH

Array = np.ndarray[Any, Any]

CONTEXT = 80  # code points of a snippet before and after the match
TEXTS_HELD = 8 << 20  # bytes of snippets that there is room for at first
ROWS_HELD = 1 << 15  # rows that there is room for at first


class EvidenceSample:
    """For every entry the `cap` matches with the smallest priority, ties by row and start."""

    def __init__(self, index: ProbeIndex, cap: int) -> None:
        self.index, self.cap = index, cap
        self.sample = kernels.new_sample(index.entries, ROWS_HELD)
        self.used = np.zeros(2, dtype=np.int64)
        self.ids: list[str | None] = []
        self.texts = np.empty(TEXTS_HELD, dtype=np.uint8)  # snippets; those that lost their rows too
        self.filled = np.zeros(2, dtype=np.int64)  # bytes of texts, ids

    def add(self, batch: Batch, folded: Folded, found: Array, hashes: Array) -> None:
        """Take the matches of a batch that belong to the sample.

        Parameters
        ----------
        found : int64 array of shape (matches, 4)
            From `wmbxl.kernels.find_matches`. Its bytes become those of the batch.
        hashes : uint64 array
            xxh64 of the batch's documents.
        """
        if not self.cap:
            return
        points = np.empty((len(found), 2), dtype=np.int64)
        kernels.steps().code_points(folded.data, folded.offsets, found, points)
        found[:, 2:], points = folded.original(found[:, 0], found[:, 2:], points)
        arrays, done = self.index.arrays, 0
        while True:
            done = kernels.steps().take_sample(
                done, found, points, hashes, batch.rows, arrays["owner_bounds"], arrays["owners"],
                self.index.gram_lengths, len(self.index.ns), self.cap, self.sample, self.used,
            )  # fmt: skip
            if done == len(found):
                return
            gram = int(found[done, 1])
            owners = int(arrays["owner_bounds"][gram + 1]) - int(arrays["owner_bounds"][gram])
            self.sample = kernels.enlarge_sample(self.sample, int(self.used[0]) + owners)

    def describe(self, batch: Batch) -> None:
        """Fetch id and snippet of the rows that came from this batch, while it is at hand."""
        if not self.used[1]:
            return
        rows, fresh = self.sample.rows[: self.used[0]], self.sample.fresh[: self.used[1]]
        numbers = np.zeros(len(batch), dtype=np.int64)
        while needed := kernels.steps().describe_sample(
            rows, fresh, batch.data, batch.offsets, CONTEXT, numbers, self.texts, self.filled
        ):
            self._make_room(needed)
        self.used[1] = 0
        documents = np.flatnonzero(numbers)
        documents = documents[np.argsort(numbers[documents])]
        self.ids += batch.ids(documents.tolist())

    def _make_room(self, needed: int) -> None:
        """Drop the snippets of rows that others replaced, and take more memory, unless that frees more than half."""
        rows = self.sample.rows[: self.used[0]]
        live = np.flatnonzero(rows[:, SOURCE] >= 0)
        texts, bounds = as_arrays(_gather(self.texts, rows[live].take([FIRST, STOP], axis=1)))
        rows[live, FIRST], rows[live, STOP] = bounds[:-1], bounds[1:]
        self.filled[0] = len(texts)
        if 2 * (len(texts) + needed) > len(self.texts):
            self.texts = np.empty(2 * (len(texts) + needed), dtype=np.uint8)
        self.texts[: len(texts)] = texts

    def table(self, shard: Shard) -> pa.Table:
        """Return the sample, schema `wmbxl.tally.EVIDENCE`, sorted."""
        rows = self.sample.rows[: self.used[0]]
        rows = rows[_order(rows)]
        columns = {
            "entry": rows[:, ENTRY],
            "priority": rows[:, PRIORITY].astype(np.uint64) ^ HIGHEST_BIT,
            "shard": pa.repeat(pa.scalar(shard.url), len(rows)),
            "piece": np.full(len(rows), shard.start, dtype=np.int64),
            "row": rows[:, ROW],
            "start": rows[:, START],
            "end": rows[:, END],
            "gram": rows[:, GRAM],
            "document_id": pa.array(self.ids, pa.string()).take(pa.array(rows[:, SOURCE])),
            "snippet": _gather(self.texts, rows.take([FIRST, STOP], axis=1)),
        }
        return pa.table(columns, schema=EVIDENCE)


def _order(rows: Array) -> Array:
    """Return the order of rows by entry, priority, record and first code point."""
    order = np.argsort(np.ascontiguousarray(rows[:, PRIORITY]))
    for shift in (0, 16):  # numpy sorts integers of 16 bits by radix, much faster than longer ones
        digits = (rows[order, ENTRY] >> shift).astype(np.uint16)
        order = order[np.argsort(digits, kind="stable")]
    entry, priority = rows[order, ENTRY], rows[order, PRIORITY]
    if ((entry[1:] == entry[:-1]) & (priority[1:] == priority[:-1])).any():  # only documents with the same text tie
        order = np.lexsort([rows[:, key] for key in (START, ROW, PRIORITY, ENTRY)])
    return order


def _gather(data: Array, spans: Array) -> pa.LargeStringArray:
    """Return the bytes of each of `spans`, shape (spans, 2)."""
    texts = np.empty(int((spans[:, 1] - spans[:, 0]).sum()) + WIDTH, dtype=np.uint8)
    offsets = np.zeros(len(spans) + 1, dtype=np.int64)
    kernels.steps().gather(data, spans, texts, offsets)
    return pa.LargeStringArray.from_buffers(len(spans), pa.py_buffer(offsets), pa.py_buffer(texts))

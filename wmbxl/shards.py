"""Shards as columns, since a corpus may have a million of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

from wmbxl.types import ReadOptions, Shard

_HELD = 4096  # shards made at a time

_SCHEMA = pa.schema(
    [
        ("url", pa.binary()),  # names of local files need not be Unicode
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("row_groups", pa.bool_()),
        ("size", pa.int64()),
        ("version", pa.string()),
        ("weight", pa.int64()),
    ]
)


@dataclass(frozen=True, eq=False)
class Shards(Sequence[Shard]):
    """Shards of one corpus, made when they are asked for.

    Parameters
    ----------
    corpus : str
    options : ReadOptions
    table : pyarrow.Table
        A row for each shard; about 100 bytes and its name.
    """

    corpus: str
    options: ReadOptions
    table: pa.Table

    @classmethod
    def of(cls, corpus: str, options: ReadOptions, shards: Iterable[Shard]) -> Shards:
        """Take up shards, which must be of that corpus and read in that way."""
        rest = iter(shards)
        batches = []
        while held := list(islice(rest, _HELD)):
            columns = [
                [_as_bytes(shard.url) for shard in held],
                [shard.start for shard in held],
                [shard.stop for shard in held],
                [shard.unit == "row_groups" for shard in held],
                [shard.size for shard in held],
                [shard.version for shard in held],
                [shard.weight for shard in held],
            ]
            batches.append(pa.record_batch([pa.array(*it) for it in zip(columns, _SCHEMA.types, strict=True)], _SCHEMA))
        return cls(corpus, options, pa.Table.from_batches(batches, _SCHEMA))

    def __len__(self) -> int:
        return self.table.num_rows

    def __iter__(self) -> Iterator[Shard]:
        for batch in self.table.to_batches(_HELD):
            for url, start, stop, groups, size, version, weight in zip(*(c.to_pylist() for c in batch), strict=True):
                yield Shard(
                    self.corpus, _as_url(url), start, stop, "row_groups" if groups else "bytes", size, version, weight,
                    self.options,
                )  # fmt: skip

    def __getitem__(self, which):  # type: ignore[no-untyped-def]
        if isinstance(which, slice):
            rows = np.arange(len(self))[which]
            return Shards(self.corpus, self.options, self.table.take(rows))
        if not -len(self) <= which < len(self):
            raise IndexError(f"no shard {which} of {len(self)}")
        return next(iter(Shards(self.corpus, self.options, self.table.slice(which % len(self), 1))))


def urls(table: pa.Table) -> Iterator[str]:
    """Yield the files that a table of shards names."""
    for batch in table.select(["url"]).to_batches(_HELD):
        yield from map(_as_url, batch.column(0).to_pylist())


def _as_bytes(url: str) -> bytes:
    return url.encode("utf-8", "surrogateescape")


def _as_url(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")

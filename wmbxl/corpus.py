"""Corpora, and how their files are cut into pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import dask.bag
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from wmbxl import formats, readers, stores, streams
from wmbxl.batches import Account
from wmbxl.errors import Unreadable, UsageError
from wmbxl.listing import Listing, list_files
from wmbxl.shards import Shards
from wmbxl.types import ROLES, ReadOptions, Role, Shard

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

BLOCK_SIZE = 256 << 20  # a third of a second of a core
SMALLEST_BLOCK = 4 << 10
LOOKED_INTO = 16  # files at once, to see whether they can be cut


@dataclass(frozen=True)
class Corpus:
    """A named corpus.

    Parameters
    ----------
    name : str
    urls : str or sequence of str
        Files, folders or patterns (``*``, ``?``, ``[…]``, ``**``), anything that fsspec reaches.
    text_field, id_field : str
        Fields of a record; dots reach into nested fields. Without `id_field` documents have no id.
    role : {"release", "corroboration", "control"}
        Only ``release`` corpora decide S0 and S1; the others are counted apart.
    join_lists : bool
        Join a text that is a list of strings by newlines, instead of counting it as unread.
    max_zstd_window : int
        Largest zstd window accepted, as a power of two.
    storage_options : mapping
        For fsspec. Never written to a file.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://corpus/a.jsonl", "w") as file:
    ...     _ = file.write('{"text": "Let x be given.", "id": "a1"}')
    >>> corpus = Corpus("demo", "memory://corpus/*.jsonl", id_field="id")
    >>> [shard.url for shard in corpus.shards()]
    ['memory:///corpus/a.jsonl']
    >>> corpus.to_bag().compute(scheduler="sync")
    [{'text': 'Let x be given.', 'shard': 'memory:///corpus/a.jsonl', 'row': 0, 'document_id': 'a1'}]
    """

    name: str
    urls: str | Sequence[str]
    text_field: str = "text"
    id_field: str | None = None
    role: Role = "release"
    join_lists: bool = False
    max_zstd_window: int = 27
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name:
            raise UsageError(f"a corpus needs a name without slashes, not {self.name!r}")
        if self.role not in ROLES:
            raise UsageError(f"corpus {self.name}: role must be one of {', '.join(ROLES)}, not {self.role!r}")
        if not 10 <= self.max_zstd_window <= 31:
            raise UsageError(f"corpus {self.name}: max_zstd_window must lie between 10 and 31")

    @property
    def options(self) -> ReadOptions:
        """How records are read."""
        return ReadOptions(
            self.text_field, self.id_field, self.join_lists, self.max_zstd_window, dict(self.storage_options)
        )

    @cached_property
    def listing(self) -> Listing:
        """The files, found once.

        Raises
        ------
        NothingMatches
            If a path or pattern matches no file of the corpus.
        """
        urls = [self.urls] if isinstance(self.urls, str) else list(self.urls)
        return list_files(self.name, urls, self.options)

    def shards(self, block_size: int = BLOCK_SIZE) -> Shards:
        """Return the pieces of the corpus, in order.

        Parameters
        ----------
        block_size : int
            Bytes of a piece: uncompressed JSONL is cut at lines, Parquet at row groups. Compressed files, which
            can only be read from their start, are not cut. At least 4096.
        """
        if block_size < SMALLEST_BLOCK:
            raise UsageError(f"block_size must be at least {SMALLEST_BLOCK} bytes, not {block_size}")
        listed = self.listing.shards
        large = np.flatnonzero(listed.table["size"].to_numpy() > block_size).tolist()
        if not large:
            return listed
        return Shards.of(self.name, self.options, self._pieces(large, block_size))

    def _pieces(self, large: Sequence[int], block_size: int) -> Iterator[Shard]:
        """Yield the pieces of the corpus; only files that may be cut, `large`, are looked into, several at once."""
        listed = self.listing.shards
        with ThreadPoolExecutor(LOOKED_INTO) as pool:
            cuts = pool.map(lambda number: _cut(listed[number], block_size), large)
            wanted = iter(large)
            following = next(wanted, None)
            for number, shard in enumerate(listed):
                if number == following:
                    yield from next(cuts)
                    following = next(wanted, None)
                else:
                    yield shard

    def to_bag(self, block_size: int = BLOCK_SIZE) -> dask.bag.Bag:
        """Return the documents as a Dask bag of dicts: ``text``, ``shard``, ``row`` in the piece, ``document_id``."""
        pieces = self.shards(block_size)
        return dask.bag.from_sequence(pieces, npartitions=len(pieces)).map(_documents).flatten()

    def to_dataframe(self, block_size: int = BLOCK_SIZE) -> DataFrame:
        """Return the documents as a Dask dataframe with the columns of `to_bag`, one partition for each piece."""
        import dask.dataframe  # takes half a second, which every worker would pay

        meta = {"text": "string", "shard": "string", "row": "int64", "document_id": "string"}
        return dask.dataframe.from_map(
            _frame,
            self.shards(block_size),
            meta=pd.DataFrame({k: pd.Series(dtype=v) for k, v in meta.items()}),
        )


def _documents(shard: Shard) -> Iterator[dict[str, Any]]:
    account = Account()
    for batch in readers.read(shard, account):
        for doc, document_id in enumerate(batch.ids(range(len(batch)))):
            yield {
                "text": batch.text(doc),
                "shard": shard.url,
                "row": int(batch.rows[doc]),
                "document_id": document_id,
            }
    if account.fault is not None:
        raise account.fault


def _frame(shard: Shard) -> pd.DataFrame:
    frame = pd.DataFrame(_documents(shard), columns=["text", "shard", "row", "document_id"])
    return frame.astype({"text": "string", "shard": "string", "row": "int64", "document_id": "string"})


# ---------------------------------------------------------------- cutting


def _cut(shard: Shard, block_size: int) -> list[Shard]:
    """Cut a file into pieces of about `block_size` bytes, if its format allows it."""
    source = streams.Source.of(shard, stop=formats.HEAD)
    try:
        head = source.read(formats.HEAD)
        if formats.codec_of(head):
            return [shard]
        found = formats.detect(head, shard.url)
        if found.kind == "parquet":
            return _cut_parquet(shard, block_size)
        if found.cuttable:
            return _cut_lines(shard, block_size)
    except Unreadable:  # told, with its reason, when the shard is read
        pass
    finally:
        source.close()
    return [shard]


def _piece(shard: Shard, start: int, stop: int, unit: Any, weight: int) -> Shard:
    return Shard(shard.corpus, shard.url, start, stop, unit, shard.size, shard.version, weight, shard.options)


def _cut_lines(shard: Shard, block_size: int) -> list[Shard]:
    starts = range(0, shard.size, block_size)
    stops = [min(start + block_size, shard.size) for start in starts]
    return [_piece(shard, a, b, "bytes", b - a) for a, b in zip(starts, stops, strict=True)]


def _cut_parquet(shard: Shard, block_size: int) -> list[Shard]:
    filesystem, path = stores.locate(shard.url, shard.options.storage_options)
    try:
        with filesystem.open(path, "rb") as file:
            metadata = pq.ParquetFile(file).metadata
    except Exception:  # told, with its reason, when the shard is read
        return [shard]
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    if len(sizes) < 2:
        return [shard]
    total = sum(sizes) or 1
    pieces: list[Shard] = []
    first, held, placed = 0, 0, 0
    for i, size in enumerate(sizes):
        held += size
        if held * shard.size >= block_size * total or i == len(sizes) - 1:
            # Weights share out the file's bytes exactly, so that nothing is lost in rounding.
            upto = shard.size * sum(sizes[: i + 1]) // total if i < len(sizes) - 1 else shard.size
            pieces.append(_piece(shard, first, i + 1, "row_groups", upto - placed))
            first, held, placed = i + 1, 0, upto
    return pieces

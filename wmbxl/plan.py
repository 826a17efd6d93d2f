"""The work of an audit, cut into tasks, each with a key that changes when its result could."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmbxl.__about__ import __version__
from wmbxl.batches import Account
from wmbxl.corpus import Corpus
from wmbxl.errors import FieldNotFound
from wmbxl.readers import read
from wmbxl.records import GAPS
from wmbxl.shards import Shards
from wmbxl.types import Shard

TASKS_AIMED_AT = 4096  # small shards share tasks so that there aren't many more tasks of a corpus than this
# A task costs as much as some tiny files: these share tasks also in a smaller corpus, while there are tasks for all.
TINY_TOGETHER = 16
TINY_BYTES = 1 << 20  # in a task
TASKS_FOR_ALL = 64
_SAMPLED = 3  # shards looked into before the start


@dataclass(frozen=True)
class Task:
    """Pieces that are scanned together and leave one checkpoint.

    Parameters
    ----------
    key : str
        Names the checkpoint. It covers wmbxl's version, the index, the evidence cap, how the corpus is read, and
        every piece with its size and version: a result is only taken up where all of these are the same.
    shards : Shards
    file_bytes : int
        Bytes of the files that the task covers.
    """

    key: str
    shards: Shards
    file_bytes: int

    @property
    def corpus(self) -> str:
        """Name of the corpus."""
        return self.shards.corpus

    def __dask_tokenize__(self) -> str:
        return self.key


@dataclass(frozen=True, eq=False)
class Tasks(Sequence[Task]):
    """The tasks of a corpus, in the order of its pieces; each is made when it is asked for.

    Parameters
    ----------
    pieces : Shards
    keys : sequence of str
        Of the tasks.
    bounds : int64 array, one more than there are tasks
        Task ``i`` has the pieces from ``bounds[i]`` up to ``bounds[i + 1]``.
    file_bytes : int64 array
        Of each task.
    """

    pieces: Shards
    keys: Sequence[str]
    bounds: np.ndarray[Any, np.dtype[np.int64]]
    file_bytes: np.ndarray[Any, np.dtype[np.int64]]

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        if not 0 <= number < len(self):
            raise IndexError(f"no task {number} of {len(self)}")
        shards = self.pieces[self.bounds[number] : self.bounds[number + 1]]
        return Task(self.keys[number], shards, int(self.file_bytes[number]))


def piece_bytes(shard: Shard) -> int:
    """Return the bytes of the file that a piece covers, 0 if unknown."""
    return max(0, shard.weight if shard.weight >= 0 else shard.size)


def plan(corpus: Corpus, block_size: int, fingerprint: str, cap: int) -> Tasks:
    """Cut a corpus into tasks, in the order of its shards."""
    pieces = corpus.shards(block_size)
    keys, lengths, file_bytes = [], [], []
    for group in _groups(pieces, block_size):
        keys.append(_key(corpus, group, fingerprint, cap))
        lengths.append(len(group))
        file_bytes.append(sum(map(piece_bytes, group)))
    bounds = np.cumsum([0, *lengths], dtype=np.int64)
    return Tasks(pieces, keys, bounds, np.array(file_bytes, dtype=np.int64))


def _groups(shards: Sequence[Shard], block_size: int) -> Iterator[list[Shard]]:
    most = len(shards) // TASKS_AIMED_AT
    tiny = min(TINY_TOGETHER, len(shards) // TASKS_FOR_ALL)
    group: list[Shard] = []
    held = 0
    for shard in shards:
        room = block_size if len(group) < most else min(block_size, TINY_BYTES) if len(group) < tiny else -1
        if group and held + piece_bytes(shard) > room:
            yield group
            group, held = [], 0
        group.append(shard)
        held += piece_bytes(shard)
    if group:
        yield group


def _key(corpus: Corpus, shards: Sequence[Shard], fingerprint: str, cap: int) -> str:
    pieces = [[s.url, s.start, s.stop, s.unit, s.size, s.version] for s in shards]
    reading = [corpus.text_field, corpus.id_field, corpus.join_lists, corpus.max_zstd_window]
    content = json.dumps([__version__, fingerprint, cap, corpus.name, reading, pieces])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def check_fields(corpus: Corpus) -> None:
    """Look into a few shards and stop early if no record there has the text field, or the id field.

    Raises
    ------
    FieldNotFound
    """
    shards = corpus.listing.shards
    step = max(1, (len(shards) - 1) // (_SAMPLED - 1))
    names: set[str] = set()
    documents, with_text, with_id = 0, False, False
    for shard in shards[::step][:_SAMPLED]:
        account = Account(fields=names)
        batch = next(read(shard, account), None)
        names |= account.names
        documents += account.documents
        with_text = (
            with_text or any(reason in account.skipped for reason in _TEXT_FIELD_THERE) or bool(account.documents)
        )
        with_id = with_id or (
            batch is not None and any(name is not None for name in batch.ids(range(min(100, len(batch)))))
        )
    if names and not with_text:
        raise field_not_found(corpus, names)
    if corpus.id_field and names and documents and not with_id:
        raise FieldNotFound(f"corpus {corpus.name}", corpus.id_field, names, "--corpus-id-field (id_field in YAML)")


# Reasons for which a record is skipped although it has the text field.
_TEXT_FIELD_THERE = ("text_null", *(reason for reason in GAPS if reason.startswith("text_")))


def field_not_found(corpus: Corpus, names: set[str] | frozenset[str]) -> FieldNotFound:
    """Return the error for a corpus none of whose records has the text field."""
    return FieldNotFound(f"corpus {corpus.name}", corpus.text_field, names, "--corpus-text-field (text_field in YAML)")

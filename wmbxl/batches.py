"""Documents on their way to the kernels, and the account of what became of every record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from wmbxl.errors import Unreadable
from wmbxl.records import GAPS
from wmbxl.vector import WIDTH

Array = np.ndarray[Any, Any]
Ids = Callable[[Sequence[int]], list[str | None]]

BATCH_BYTES = 3 << 18  # of records in a batch, unless one alone is longer; few enough for caches
BATCH_ROWS = 16384
NAMES_KEPT = 50  # field names remembered for the error that lists them


def read_only(*arrays: Array) -> None:
    """Make arrays read-only for the kernels, which compile for each kind.

    Arrow's own buffers are writable, and mapped ones are not.
    """
    for array in arrays:
        array.flags.writeable = False


def as_arrays(texts: pa.LargeStringArray | pa.LargeBinaryArray) -> tuple[Array, Array]:
    """Return the bytes of an Arrow array without nulls, uint8, and where each of its values starts and ends, int64."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(texts) + 1, offset=8 * texts.offset)
    values = np.frombuffer(data if data is not None else b"", dtype=np.uint8)[bounds[0] : bounds[-1]]
    starts = bounds - bounds[0]
    read_only(values, starts)
    return values, starts


@dataclass(frozen=True)
class Batch:
    """Documents: their texts as one run of UTF-8 bytes, their rows and ids.

    Parameters
    ----------
    data : uint8 array
    offsets : int64 array, one more than there are documents
        Document ``d`` is ``data[offsets[d]:offsets[d + 1]]``.
    rows : int64 array
        Number of the record in the shard piece, from 0; blank lines are no records.
    ids : callable
        Gives the ids of some documents. Most are never asked for, so they are only made then.
    """

    data: Array
    offsets: Array
    rows: Array
    ids: Ids

    @classmethod
    def of(cls, texts: pa.LargeStringArray, rows: Array, ids: Ids) -> Batch:
        """Make a batch of an Arrow array of valid strings without nulls."""
        return cls(*as_arrays(texts), rows, ids)

    def __post_init__(self) -> None:
        if len(self.data) < WIDTH:  # the kernels look at 64 bytes at once
            object.__setattr__(self, "data", np.concatenate([self.data, np.zeros(WIDTH, dtype=np.uint8)]))
        read_only(self.data, self.offsets)

    def __len__(self) -> int:
        return len(self.rows)

    def blank_documents(self) -> list[int]:
        """Return the documents that hold nothing but white space."""
        start, end = self.offsets[:-1], self.offsets[1:]
        first = self.data[np.minimum(start, len(self.data) - 1)]
        suspects = np.flatnonzero((start == end) | (first <= 0x20) | (first >= 0x80))
        return [doc for doc in suspects.tolist() if not self.text(doc).strip()]

    def text(self, doc: int) -> str:
        """Return the text of document `doc`."""
        return str(self.data.data[self.offsets[doc] : self.offsets[doc + 1]], "utf-8")


@dataclass
class Account:
    """What a reader has read so far, and what it could not read.

    Attributes
    ----------
    records : int
        Records met, whatever became of them.
    documents : int
        Records with a text (which may be empty).
    skipped, skipped_bytes : Counter
        Records and their bytes by reason.
    decoded : int
        Bytes of records, decompressed.
    file_bytes, lost_bytes : int
        Bytes of the file that the piece covers, and those behind a fault that were never read.
    fault : Unreadable or None
        What ended the piece early.
    unsized : bool
        Whether there is a fault in a file of unknown size, so that nobody can say how much was lost.
    names : set of str
        Fields seen in records that lack the text field.
    fields : set of str or None
        Fields of the piece's first record, or of its schema, if anybody wants to know: a scan doesn't, since a record
        may be long.
    consumed : callable
        Returns how many bytes of the file have been read so far; an estimate, for progress.
    """

    records: int = 0
    documents: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    skipped_bytes: Counter[str] = field(default_factory=Counter)
    decoded: int = 0
    file_bytes: int = 0
    lost_bytes: int = 0
    fault: Unreadable | None = None
    unsized: bool = False
    names: set[str] = field(default_factory=set)
    fields: set[str] | None = None
    consumed: Callable[[], int] = lambda: 0

    def skip(self, reason: str, size: int) -> None:
        """Count a record that was skipped or repaired."""
        self.skipped[reason] += 1
        self.skipped_bytes[reason] += size

    def fail(self, fault: Unreadable, lost_bytes: int) -> None:
        """Record what ended the piece early, and how many bytes of the file it cost."""
        self.fault = fault
        self.lost_bytes = max(1, lost_bytes)
        self.unsized = self.file_bytes == 0 and fault.reason != "empty_file"

    @property
    def unread_bytes(self) -> int:
        """Bytes of the file that were not audited; those of skipped records in proportion, rounded up."""
        gaps = sum(size for reason, size in self.skipped_bytes.items() if reason in GAPS)
        read = self.file_bytes - self.lost_bytes
        share = -(-gaps * read // self.decoded) if self.decoded else 0
        return min(self.file_bytes, self.lost_bytes + share) if self.file_bytes else self.lost_bytes + gaps

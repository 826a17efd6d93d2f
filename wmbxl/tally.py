"""The counts of any set of shards: a value with an identity and an addition that doesn't care about order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from wmbxl.batches import NAMES_KEPT
from wmbxl.errors import UsageError

Array = np.ndarray[Any, Any]

SKETCH_SIZE = 1024  # document hashes kept of a corpus, to compare corpora with each other

# `piece` and `row` place the record: row `row` of the piece that starts at `piece`.
EVIDENCE = pa.schema(
    [
        ("entry", pa.int64()),
        ("priority", pa.uint64()),
        ("shard", pa.string()),
        ("piece", pa.int64()),
        ("row", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("gram", pa.int64()),
        ("document_id", pa.string()),
        ("snippet", pa.large_string()),
    ]
)
_ORDER = [(name, "ascending") for name in ("entry", "priority", "shard", "piece", "row", "start")]


def cap_evidence(table: pa.Table, cap: int) -> pa.Table:
    """Sort evidence and keep the first `cap` rows of every entry."""
    table = table.sort_by(_ORDER)
    entries = table["entry"].to_numpy()
    rank = np.arange(len(entries)) - np.searchsorted(entries, entries)
    return table.filter(pa.array(rank < cap)).combine_chunks()


@dataclass(frozen=True)
class Amount:
    """How many records (or pieces), and how many bytes."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.count + other.count, self.bytes + other.bytes)


@dataclass(frozen=True)
class Sparse:
    """Counts of the cells that are not zero.

    Parameters
    ----------
    keys : int64 array, ascending
    counts : int64 array of shape (keys, columns)
    """

    keys: Array
    counts: Array

    @classmethod
    def empty(cls, columns: int) -> Sparse:
        """Return no counts."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, columns), dtype=np.int64))

    @classmethod
    def sum(cls, parts: list[Sparse]) -> Sparse:
        """Add cell by cell."""
        keys = np.concatenate([part.keys for part in parts])
        counts = np.concatenate([part.counts for part in parts])
        order = np.argsort(keys, kind="stable")
        unique, first = np.unique(keys[order], return_index=True)
        return cls(unique, np.add.reduceat(counts[order], first, axis=0) if len(keys) else counts)

    def dense(self, size: int) -> Array:
        """Return int64 counts of shape (size, columns)."""
        out = np.zeros((size, self.counts.shape[1]), dtype=np.int64)
        out[self.keys] = self.counts
        return out


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of a set of shards against one index.

    ``+`` is associative and commutative, and `Tally.empty` is its identity: the sum of a corpus doesn't depend on
    how it was cut or in which order its pieces came.

    Attributes
    ----------
    fingerprint : str
        Of the index that was looked for.
    cap : int
        Most evidence rows kept for each entry.
    pieces, records, documents, tokens : int
    windows : tuple of int
        Windows scanned for each n.
    unsized : int
        Pieces with a fault in a file of unknown size.
    file_bytes, decoded_bytes, unread_bytes : int
        Bytes of the files, bytes of the records in them, and bytes of the files that were not audited.
    skipped, faults : mapping of str to Amount
        Records by reason, and pieces that ended early by reason.
    names : frozenset of str
        Fields of records that lack the text field.
    grams : Sparse
        For each matched n-gram of the index: occurrences, documents.
    entries : Sparse
        For each entry of the index (problem, channel, n) with a hit: documents.
    evidence : pyarrow.Table
        Schema `EVIDENCE`.
    sketch : uint64 array
        The `SKETCH_SIZE` smallest xxh64 of distinct documents, ascending.
    """

    fingerprint: str
    cap: int
    windows: tuple[int, ...]
    pieces: int = 0
    unsized: int = 0
    records: int = 0
    documents: int = 0
    tokens: int = 0
    file_bytes: int = 0
    decoded_bytes: int = 0
    unread_bytes: int = 0
    skipped: Mapping[str, Amount] = field(default_factory=dict)
    faults: Mapping[str, Amount] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    grams: Sparse = field(default_factory=lambda: Sparse.empty(2))
    entries: Sparse = field(default_factory=lambda: Sparse.empty(1))
    evidence: pa.Table = field(default_factory=EVIDENCE.empty_table)
    sketch: Array = field(default_factory=lambda: np.empty(0, dtype=np.uint64))

    @classmethod
    def empty(cls, fingerprint: str, lengths: int, cap: int) -> Tally:
        """Return the tally of nothing, for an index with `lengths` values of n."""
        return cls(fingerprint, cap, (0,) * lengths)

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """Add tallies of one index.

        Raises
        ------
        UsageError
            If they belong to different indexes or caps, or there are none.
        """
        parts = list(tallies)
        if not parts:
            raise UsageError("no tallies to add: start from Tally.empty")
        first = parts[0]
        if len(parts) == 1:
            return first
        if any((part.fingerprint, part.cap) != (first.fingerprint, first.cap) for part in parts):
            raise UsageError("tallies of different indexes or evidence caps can't be added")
        names = sorted(frozenset().union(*(part.names for part in parts)))
        return cls(
            fingerprint=first.fingerprint,
            cap=first.cap,
            windows=tuple(map(sum, zip(*(part.windows for part in parts), strict=True))),
            **{name: sum(getattr(part, name) for part in parts) for name in _SUMS},
            skipped=_add_amounts(part.skipped for part in parts),
            faults=_add_amounts(part.faults for part in parts),
            names=frozenset(names[:NAMES_KEPT]),
            grams=Sparse.sum([part.grams for part in parts]),
            entries=Sparse.sum([part.entries for part in parts]),
            evidence=cap_evidence(pa.concat_tables([part.evidence for part in parts]), first.cap),
            sketch=np.unique(np.concatenate([part.sketch for part in parts]))[:SKETCH_SIZE],
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally.sum([self, other])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    @property
    def occurrences(self) -> int:
        """Windows found, over all n, each counted once."""
        return int(self.grams.counts[:, 0].sum())

    def to_bytes(self) -> bytes:
        """Return the tally as an Arrow IPC stream of one row."""
        about = {name: getattr(self, name) for name in ("fingerprint", "cap", "windows", *_SUMS)}
        about["skipped"] = {k: [v.count, v.bytes] for k, v in sorted(self.skipped.items())}
        about["faults"] = {k: [v.count, v.bytes] for k, v in sorted(self.faults.items())}
        about["names"] = sorted(self.names)
        arrays = {
            "gram": self.grams.keys,
            "occurrences": self.grams.counts[:, 0],
            "documents": self.grams.counts[:, 1],
            "entry": self.entries.keys,
            "entry_documents": self.entries.counts[:, 0],
            "sketch": self.sketch,
        }
        columns = {name: _as_list(pa.array(array)) for name, array in arrays.items()}
        evidence = self.evidence.combine_chunks()
        columns["evidence"] = _as_list(pa.StructArray.from_arrays(
            [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in evidence.columns],
            names=EVIDENCE.names,
        ))  # fmt: skip
        table = pa.table(columns).replace_schema_metadata({"wmbxl": json.dumps(about)})
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)  # a worker has one core
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """Read a tally that `to_bytes` wrote."""
        table = pa.ipc.open_stream(data).read_all()
        about = json.loads(table.schema.metadata[b"wmbxl"])
        about["windows"] = tuple(about["windows"])
        about["names"] = frozenset(about["names"])
        for name in ("skipped", "faults"):
            about[name] = {key: Amount(*value) for key, value in about[name].items()}
        row = {name: table[name].chunk(0).values for name in table.column_names}
        number = {name: row[name].to_numpy() for name in row if name != "evidence"}
        evidence = pa.Table.from_arrays(row["evidence"].flatten(), schema=EVIDENCE)
        grams = Sparse(number["gram"], np.stack([number["occurrences"], number["documents"]], axis=1))
        entries = Sparse(number["entry"], number["entry_documents"][:, None])
        return cls(**about, grams=grams, entries=entries, evidence=evidence, sketch=number["sketch"])

    def without_evidence(self) -> Tally:
        """Return the same counts without evidence."""
        return replace(self, evidence=EVIDENCE.empty_table())


_SUMS = ("pieces", "unsized", "records", "documents", "tokens", "file_bytes", "decoded_bytes", "unread_bytes")


def _as_list(values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays([0, len(values)], values)


def _add_amounts(parts: Iterable[Mapping[str, Amount]]) -> dict[str, Amount]:
    total: dict[str, Amount] = {}
    for part in parts:
        for key, amount in part.items():
            total[key] = total.get(key, Amount()) + amount
    return dict(sorted(total.items()))

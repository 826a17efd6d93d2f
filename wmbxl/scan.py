"""One shard against the index, without Dask: found by the kernels, counted, and sampled as evidence."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from wmbxl import kernels, tiers
from wmbxl.batches import NAMES_KEPT, Account, Batch
from wmbxl.errors import Unreadable
from wmbxl.folding import Folded, Folder
from wmbxl.index import ProbeIndex
from wmbxl.readers import leave_unread, read
from wmbxl.sample import EvidenceSample
from wmbxl.streams import Source
from wmbxl.tally import SKETCH_SIZE, Amount, Sparse, Tally
from wmbxl.types import Shard

Array = np.ndarray[Any, Any]

EVIDENCE_CAP = 20
MATCHES_HELD = 1 << 16  # matches taken from the kernel at a time
FEW_MATCHES = 1 << 13  # the same where it is plain Python
# Where a match, and each problem that owns it, take as long as so many bytes of text if the kernels are plain Python.
BYTES_PER_MATCH, BYTES_PER_OWNER = 32, 16
SKETCH_HELD = 1 << 16  # hashes of documents, before all but the smallest are dropped


@dataclass(frozen=True)
class Progress:
    """What a scan has got through since it last told."""

    file_bytes: int = 0
    documents: int = 0
    windows: int = 0

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.file_bytes + other.file_bytes, self.documents + other.documents, self.windows + other.windows
        )


@dataclass(frozen=True)
class Scanned:
    """The tally of one piece, and its line in the ledger."""

    tally: Tally
    ledger: dict[str, Any]


def scan_shard(shard: Shard, index: ProbeIndex, evidence_cap: int = EVIDENCE_CAP) -> Tally:
    """Count the benchmark's n-grams in one shard, here and now, without Dask.

    Parameters
    ----------
    shard : Shard
        From `Corpus.shards`.
    index : ProbeIndex
    evidence_cap : int
        Most evidence rows kept for each problem, channel and n.

    Returns
    -------
    Tally
        What could not be read is in its ``skipped``, ``faults`` and ``unread_bytes``; it does not raise.
    """
    return scan_piece(shard, index, evidence_cap).tally


def scan_piece(
    shard: Shard,
    index: ProbeIndex,
    evidence_cap: int = EVIDENCE_CAP,
    tell: Callable[[Progress], None] | None = None,
    source: Source | None = None,
) -> Scanned:
    """Scan one shard piece, whose file may be open already; call `tell` after every batch."""
    began = time.perf_counter()
    account = Account()
    counter = _Counter(index, shard, evidence_cap)
    told, windows = 0, 0
    for batch in read(shard, account, source):
        counter.add(batch)
        if tell:
            reached, counted = account.consumed(), sum(counter.windows)
            tell(Progress(reached - told, len(batch), counted - windows))
            told, windows = reached, counted
        del batch  # or the next one lies elsewhere, and two are in the cache
    tally = counter.finish(account)
    return Scanned(tally, _ledger_line(shard, account, tally, time.perf_counter() - began))


def unread_piece(shard: Shard, index: ProbeIndex, evidence_cap: int, fault: Unreadable) -> Scanned:
    """Return what stands for a shard piece that can't be scanned: nothing but its fault."""
    account = Account()
    leave_unread(shard, account, fault)
    tally = _Counter(index, shard, evidence_cap).finish(account)
    return Scanned(tally, _ledger_line(shard, account, tally, 0.0))


def _ledger_line(shard: Shard, account: Account, tally: Tally, seconds: float) -> dict[str, Any]:
    return {
        "corpus": shard.corpus,
        "shard": shard.url,
        "start": shard.start,
        "stop": shard.stop,
        "unit": shard.unit,
        "size": shard.size,
        "version": shard.version,
        "records": account.records,
        "documents": account.documents,
        "tokens": tally.tokens,
        "file_bytes": tally.file_bytes,
        "unread_bytes": tally.unread_bytes,
        "skipped": sorted(account.skipped.items()),
        "skipped_bytes": sorted(account.skipped_bytes.items()),
        "status": _status(account, tally),
        "reason": account.fault.reason if account.fault else None,
        "position": account.fault.position if account.fault else None,
        "error": str(account.fault) if account.fault else None,
        "seconds": seconds,
        "worker": f"{socket.gethostname()}:{os.getpid()}",
    }


def _status(account: Account, tally: Tally) -> str:
    if account.fault or tally.unread_bytes:
        return "incomplete"
    return "complete" if account.file_bytes or account.records else "empty"


class _Counter:
    """The running counts and evidence of one piece."""

    def __init__(self, index: ProbeIndex, shard: Shard, cap: int) -> None:
        self.index, self.shard = index, shard
        self.tables = index.tables()
        self.folder = Folder(index.profile == "release")
        self.documents = 0
        self.totals = np.zeros(1 + len(index.ns), dtype=np.int64)  # tokens, and windows of each n
        self.evidence = EvidenceSample(index, cap)
        self.sketch: list[Array] = []
        self.sketched = 0
        # Memory that is never touched costs nothing.
        self.counts = kernels.new_counts(index.size, index.entries)
        self.used = np.zeros(2, dtype=np.int64)
        self.scratch = kernels.new_scratch()
        self.found = np.empty((MATCHES_HELD, 4), dtype=np.int64)

    @property
    def windows(self) -> tuple[int, ...]:
        """Windows of each n so far."""
        return tuple(self.totals[1:].tolist())

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        folded = self.folder.fold(batch)
        hashes = _document_hashes(batch)
        self._put_in_sketch(hashes)
        state = kernels.new_state()
        tiers.scan.compiles(len(batch.data))
        while state[kernels.DOC] < len(batch):
            count = self._find(folded, state)
            if count:
                self._count(batch, folded, self.found[:count], hashes)
        self.documents += len(batch)
        self.evidence.describe(batch)

    def _find(self, folded: Folded, state: Array) -> int:
        """Find matches; return how many."""
        found = self.found[:FEW_MATCHES] if tiers.scan.bytes_left else self.found
        return int(
            kernels.steps().find_matches(
                folded.data, folded.offsets, self.tables, state, self.scratch, self.totals, found
            )
        )

    def _put_in_sketch(self, hashes: Array) -> None:
        """Keep the smallest hashes; sorted only when many have come together."""
        self.sketch.append(hashes)
        self.sketched += len(hashes)
        if self.sketched > SKETCH_HELD:
            self.sketch = [self._smallest()]
            self.sketched = len(self.sketch[0])

    def _smallest(self) -> Array:
        return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *self.sketch]))[:SKETCH_SIZE]

    def _count(self, batch: Batch, folded: Folded, found: Array, hashes: Array) -> None:
        arrays = self.index.arrays
        if tiers.scan.bytes_left:
            bounds, grams = arrays["owner_bounds"], found[:, 1]
            owners = int((bounds[grams + 1] - bounds[grams]).sum())
            tiers.scan.compiles(BYTES_PER_MATCH * len(found) + BYTES_PER_OWNER * owners)
        kernels.steps().count_matches(
            found, self.documents, arrays["owner_bounds"], arrays["owners"], self.index.gram_lengths,
            len(self.index.ns), self.counts, self.used,
        )  # fmt: skip
        self.evidence.add(batch, folded, found, hashes)

    def finish(self, account: Account) -> Tally:
        """Return the tally of the piece."""
        grams = _in_order(self.counts.grams[: self.used[0]])
        entries = _in_order(self.counts.entries[: self.used[1]])
        sizes = account.skipped_bytes
        fault = account.fault
        return Tally(
            fingerprint=self.index.fingerprint,
            cap=self.evidence.cap,
            windows=self.windows,
            pieces=1,
            unsized=int(account.unsized),
            records=account.records,
            documents=account.documents,
            tokens=int(self.totals[0]),
            file_bytes=account.file_bytes,
            decoded_bytes=account.decoded,
            unread_bytes=account.unread_bytes,
            skipped={key: Amount(count, sizes[key]) for key, count in sorted(account.skipped.items())},
            faults={fault.reason: Amount(1, account.lost_bytes)} if fault else {},
            names=frozenset(sorted(account.names)[:NAMES_KEPT]),
            grams=Sparse(grams[:, kernels.KEY], grams[:, [kernels.OCCURRENCES, kernels.DOCUMENTS]]),
            entries=Sparse(entries[:, kernels.KEY], entries[:, [kernels.DOCUMENTS]]),
            evidence=self.evidence.table(self.shard),
            sketch=self._smallest(),
        )


def _in_order(cells: Array) -> Array:
    return cells[np.argsort(np.ascontiguousarray(cells[:, kernels.KEY]))]  # numpy is slow where keys lie apart


def _document_hashes(batch: Batch) -> Array:
    """Return xxh64 of each document's text; uint64."""
    view, digest = batch.data.data, xxhash.xxh64_intdigest
    return np.array([digest(view[start:end]) for start, end in itertools.pairwise(batch.offsets.tolist())], np.uint64)

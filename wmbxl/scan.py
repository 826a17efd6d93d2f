"""One shard against the index, without Dask: found by the kernels, counted, and sampled as evidence."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from wmbxl import kernels
from wmbxl.batches import NAMES_KEPT, Account, Batch
from wmbxl.index import ProbeIndex
from wmbxl.readers import read
from wmbxl.tally import EVIDENCE, SKETCH_SIZE, Amount, Sparse, Tally, cap_evidence
from wmbxl.text import original_positions
from wmbxl.types import Shard
from wmbxl.vector import WIDTH

Array = np.ndarray[Any, Any]

EVIDENCE_CAP = 20
CONTEXT = 80  # code points of a snippet before and after the match
MATCHES_HELD = 1 << 16  # matches taken from the kernel at a time
PAIRS_HELD = 1 << 20  # (match, owner) pairs looked at at a time

_CAPITALS = np.packbits(
    [code >= 0x80 and not 0xD800 <= code < 0xE000 and chr(code).lower() != chr(code) for code in range(0x20000)],
    bitorder="little",
)
_PRIMES = tuple(  # of xxh64
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
    )
)  # fmt: skip


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
) -> Scanned:
    """Scan one shard piece; call `tell` after every batch."""
    began = time.perf_counter()
    account = Account()
    counter = _Counter(index, shard, evidence_cap)
    told = 0
    for batch in read(shard, account):
        windows = counter.add(batch)
        if tell:
            reached = account.consumed()
            tell(Progress(reached - told, len(batch), windows))
            told = reached
    tally = counter.finish(account)
    return Scanned(tally, _ledger_line(shard, account, tally, time.perf_counter() - began))


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
        self.documents, self.tokens = 0, 0
        self.windows = np.zeros(len(index.ns), dtype=np.int64)
        self.evidence = _Evidence(index, cap)
        self.sketch = np.empty(0, dtype=np.uint64)
        grams, entries = index.size, index.entries
        # Zeros that are never touched cost no memory.
        self.counts = kernels.Counts(
            occurrences=np.zeros(grams, dtype=np.int64),
            gram_documents=np.zeros(grams, dtype=np.int64),
            gram_last=np.zeros(grams, dtype=np.int64),
            grams=np.empty(grams, dtype=np.int64),
            entry_documents=np.zeros(entries, dtype=np.int64),
            entry_last=np.zeros(entries, dtype=np.int64),
            entries=np.empty(entries, dtype=np.int64),
        )
        self.used = np.zeros(2, dtype=np.int64)
        self.scratch = kernels.new_scratch()
        self.found = np.empty((MATCHES_HELD, 4), dtype=np.int64)

    def add(self, batch: Batch) -> int:
        """Count a batch; return how many windows it had."""
        folded = _Folded.of(batch, self.index.profile == "release")
        hashes = _document_hashes(batch)
        self.sketch = np.unique(np.concatenate([self.sketch, hashes]))[:SKETCH_SIZE]
        doc_tokens = np.zeros(len(batch), dtype=np.int64)
        state = kernels.new_state()
        while state[kernels.DOC] < len(batch):
            count = kernels.find_matches(
                folded.data, folded.offsets, self.tables, state, self.scratch, doc_tokens, self.found
            )
            if count:
                self._count(batch, folded, self.found[:count], hashes)
        windows = np.maximum(0, doc_tokens - np.array(self.index.ns)[:, None] + 1).sum(axis=1)
        self.windows += windows
        self.tokens += int(doc_tokens.sum())
        self.documents += len(batch)
        self.evidence.describe(folded)
        return int(windows.sum())

    def _count(self, batch: Batch, folded: _Folded, found: Array, hashes: Array) -> None:
        arrays = self.index.arrays
        kernels.count_matches(
            found, self.documents, arrays["owner_bounds"], arrays["owners"], self.index.gram_lengths,
            len(self.index.ns), self.counts, self.used,
        )  # fmt: skip
        self.evidence.add(batch, folded, found, hashes[found[:, 0]])

    def finish(self, account: Account) -> Tally:
        """Return the tally of the piece."""
        grams = np.sort(self.counts.grams[: self.used[0]])
        entries = np.sort(self.counts.entries[: self.used[1]])
        per_gram = np.stack([self.counts.occurrences[grams], self.counts.gram_documents[grams]], axis=1)
        sizes = account.skipped_bytes
        fault = account.fault
        return Tally(
            fingerprint=self.index.fingerprint,
            cap=self.evidence.cap,
            windows=tuple(int(count) for count in self.windows),
            pieces=1,
            unsized=int(account.unsized),
            records=account.records,
            documents=account.documents,
            tokens=self.tokens,
            file_bytes=account.file_bytes,
            decoded_bytes=account.decoded,
            unread_bytes=account.unread_bytes,
            skipped={key: Amount(count, sizes[key]) for key, count in sorted(account.skipped.items())},
            faults={fault.reason: Amount(1, account.lost_bytes)} if fault else {},
            names=frozenset(sorted(account.names)[:NAMES_KEPT]),
            grams=Sparse(grams, per_gram),
            entries=Sparse(entries, self.counts.entry_documents[entries][:, None]),
            evidence=self.evidence.table(self.shard),
            sketch=self.sketch,
        )


@dataclass(frozen=True)
class _Folded:
    """A batch's bytes as the kernels want them.

    `lowered` tells which documents Python had to lower-case a word of, and `stretched` in which of these the number
    of code points changed by it.
    """

    batch: Batch
    data: Array
    offsets: Array
    lowered: Array
    stretched: Array
    texts: dict[int, str] = field(default_factory=dict)

    def text(self, doc: int) -> str:
        """Return the original text of a document, decoded once."""
        if doc not in self.texts:
            self.texts[doc] = self.batch.text(doc)
        return self.texts[doc]

    @classmethod
    def of(cls, batch: Batch, release: bool) -> _Folded:
        lowered = np.zeros(len(batch), dtype=bool)
        words = _capital_words(batch) if release else np.empty((0, 3), dtype=np.int64)
        if not len(words):
            return cls(batch, batch.data, batch.offsets, lowered, lowered)
        grown = np.zeros(len(batch) + 1, dtype=np.int64)
        stretched = np.zeros(len(batch), dtype=bool)
        parts: list[memoryview | bytes] = []
        data, before = batch.data.data, 0
        for doc, start, end in zip(*words.T.tolist(), strict=True):
            text = str(data[start:end], "utf-8")
            word = text.lower()
            stretched[doc] |= len(word) != len(text)
            parts += [data[before:start], word.encode()]
            before = end
            grown[doc + 1] += len(parts[-1]) - (end - start)
        parts += [data[before:], bytes(WIDTH)]  # words may shrink, and the kernels look at 64 bytes at once
        lowered[words[:, 0]] = True
        folded, offsets = np.frombuffer(b"".join(parts), dtype=np.uint8), batch.offsets + np.cumsum(grown)
        offsets.flags.writeable = False  # one type for the kernels, which compile for each
        return cls(batch, folded, offsets, lowered, stretched)

    def place(self, doc: int, points: Array) -> Array:
        """Turn code points of a folded document into code points of the original; shape (matches, 2)."""
        origin = np.array(original_positions(self.text(doc)))
        return np.stack([origin[points[:, 0]], origin[points[:, 1] - 1] + 1], axis=1)

    def context(self, doc: int, points: tuple[int, int], span: tuple[int, int]) -> tuple[bytes, int, int]:
        """Return the bytes around a match, and where it is in them.

        `points` are the match's code points in the document, `span` its bytes in the folded data. There are at least
        `CONTEXT` code points on each side, if the document has them.
        """
        if self.lowered[doc]:
            text, (start, end) = self.text(doc), points
            before, inside = text[max(0, start - CONTEXT) : start].encode(), text[start:end].encode()
            after = text[end : end + CONTEXT].encode()
            return before + inside + after, len(before), len(before) + len(inside)
        low = max(int(self.offsets[doc]), span[0] - 4 * CONTEXT)
        high = min(int(self.offsets[doc + 1]), span[1] + 4 * CONTEXT)
        return bytes(self.data.data[low:high]), span[0] - low, span[1] - low


def _snippet(context: bytes, at: int, stop: int) -> str:
    """Return the match ``context[at:stop]`` with `CONTEXT` code points on each side."""
    if context.isascii():
        return context[max(0, at - CONTEXT) : stop + CONTEXT].decode()
    before, after = context[:at].decode(errors="ignore"), context[stop:].decode(errors="ignore")
    return before[-CONTEXT:] + context[at:stop].decode() + after[:CONTEXT]


def _capital_words(batch: Batch) -> Array:
    """Return document, start and end of the words that Python has to lower-case; int64, shape (words, 3)."""
    words = np.empty((1024, 3), dtype=np.int64)
    count = kernels.capital_words(batch.data, batch.offsets, _CAPITALS, words)
    if count > len(words):
        words = np.empty((count, 3), dtype=np.int64)
        kernels.capital_words(batch.data, batch.offsets, _CAPITALS, words)
    return words[:count]


def priorities(documents: Array, starts: Array) -> Array:
    """Return the order in which matches are taken into the sample of evidence.

    Parameters
    ----------
    documents : uint64 array
        xxh64 of each match's document.
    starts : int64 array
        First code point of each match.

    Returns
    -------
    uint64 array
        xxh64, seed 0, of each pair as 16 little-endian bytes (``struct.pack("<QQ", document, start)``).
    """

    def rotate(value: Array, bits: int) -> Array:
        return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))

    value = np.full(len(documents), _PRIMES[4] + np.uint64(16))
    for word in (documents, starts.astype(np.uint64)):
        value ^= rotate(word * _PRIMES[1], 31) * _PRIMES[0]
        value = rotate(value, 27) * _PRIMES[0] + _PRIMES[3]
    value = (value ^ (value >> np.uint64(33))) * _PRIMES[1]
    value = (value ^ (value >> np.uint64(29))) * _PRIMES[2]
    return value ^ (value >> np.uint64(32))


def _document_hashes(batch: Batch) -> Array:
    """Return xxh64 of each document's text; uint64."""
    view, offsets = batch.data.data, batch.offsets.tolist()
    digests = (xxhash.xxh64_intdigest(view[start:end]) for start, end in itertools.pairwise(offsets))
    return np.fromiter(digests, dtype=np.uint64, count=len(batch))


class _Evidence:
    """The matches with the smallest priority, for every entry.

    Only matches below the limit of their n-gram and entry are looked at, so that a phrase that a thousand problems
    own and every document holds costs little.
    """

    _COLUMNS = ("entry", "priority", "row", "start", "end", "gram")

    def __init__(self, index: ProbeIndex, cap: int) -> None:
        self.index, self.cap = index, cap
        # Limits are kept inverted, so that zeros that were never touched mean "no limit yet".
        self.gram_limit = np.zeros(index.size, dtype=np.uint64)
        self.entry_limit = np.zeros(index.entries, dtype=np.uint64)
        self.rows = np.empty((0, 6), dtype=np.uint64)
        self.places = np.empty((0, 3), dtype=np.int64)  # document of the batch, first byte, byte after the last
        self.ids: list[str | None] = []
        self.contexts: list[bytes | None] = []
        self.within = np.empty((0, 2), dtype=np.int64)  # where matches are in their contexts

    def add(self, batch: Batch, folded: _Folded, found: Array, hashes: Array) -> None:
        """Take the matches of a batch that may belong to the sample; `hashes` are those of their documents."""
        if not self.cap:
            return
        points = np.empty((len(found), 2), dtype=np.int64)
        kernels.code_points(folded.data, folded.offsets, found, points)
        for doc in np.unique(found[folded.stretched[found[:, 0]], 0]).tolist():
            here = found[:, 0] == doc
            points[here] = folded.place(doc, points[here])
        priority = priorities(hashes, points[:, 0])
        chosen = self._below_gram_limit(found[:, 1], priority)
        for part in self._by_pairs(found[chosen, 1], chosen):
            which, entry = self.index.owner_entries(found[part, 1])
            match = part[which]
            near = priority[match] <= ~self.entry_limit[entry]
            match, entry = match[near], entry[near]
            row = batch.rows[found[match, 0]]
            columns = (entry, priority[match], row, points[match, 0], points[match, 1], found[match, 1])
            self._merge(np.stack([column.astype(np.uint64) for column in columns], axis=1), found[match][:, [0, 2, 3]])

    def _below_gram_limit(self, gram: Array, priority: Array) -> Array:
        """Return the matches among the `cap` smallest of their n-gram so far, and lower the limits."""
        near = np.flatnonzero(priority <= ~self.gram_limit[gram])
        near = near[np.lexsort((priority[near], gram[near]))]
        owner = gram[near]
        rank = np.arange(len(near)) - np.searchsorted(owner, owner)
        last = near[rank == self.cap - 1]
        np.maximum.at(self.gram_limit, gram[last], ~priority[last])
        # Copies of a document tie: all that equal the limit stay until rows decide.
        return near[priority[near] <= ~self.gram_limit[owner]]

    def _by_pairs(self, gram: Array, chosen: Array) -> Iterator[Array]:
        """Split the chosen matches so that no part has many more than `PAIRS_HELD` owners."""
        bounds = self.index.arrays["owner_bounds"]
        pairs = np.cumsum(bounds[gram + 1].astype(np.int64) - bounds[gram])
        cuts = np.searchsorted(pairs, np.arange(PAIRS_HELD, pairs[-1] if len(pairs) else 0, PAIRS_HELD))
        yield from (part for part in np.split(chosen, cuts) if len(part))

    def _merge(self, rows: Array, places: Array) -> None:
        """Add rows, keep the first `cap` of every entry, and lower the limits."""
        if not len(rows):
            return
        kept = len(self.rows)
        rows, places = np.concatenate([self.rows, rows]), np.concatenate([self.places, places])
        order = np.lexsort((rows[:, 3], rows[:, 2], rows[:, 1], rows[:, 0]))
        entry = rows[order, 0]
        rank = np.arange(len(order)) - np.searchsorted(entry, entry)
        full = order[rank == self.cap - 1]
        self.entry_limit[rows[full, 0].astype(np.int64)] = ~rows[full, 1]
        order = order[rank < self.cap]
        self.rows, self.places = rows[order], places[order]
        within = np.concatenate([self.within, np.zeros((len(rows) - kept, 2), dtype=np.int64)])
        self.within = within[order]
        # Lists and not a table of objects: the garbage collector doesn't look into bytes and numbers.
        self.ids = [self.ids[i] if i < kept else None for i in order.tolist()]
        self.contexts = [self.contexts[i] if i < kept else None for i in order.tolist()]

    def describe(self, folded: _Folded) -> None:
        """Fetch id and context of the rows that came from this batch, while it is at hand."""
        new = [i for i, context in enumerate(self.contexts) if context is None]
        ids: dict[int, str | None] = {}
        places, points = self.places[new].T.tolist(), self.rows[new, 3:5].T.tolist()
        for i, doc, at, stop, start, end in zip(new, *places, *points, strict=True):
            if doc not in ids:
                ids[doc] = folded.batch.ids[doc]
            self.ids[i] = ids[doc]
            self.contexts[i], *self.within[i] = folded.context(doc, (start, end), (at, stop))

    def table(self, shard: Shard) -> pa.Table:
        """Return the sample, schema `wmbxl.tally.EVIDENCE`."""
        numbers = dict(zip(self._COLUMNS, self.rows.T, strict=True))
        columns: dict[str, Any] = {
            "shard": [shard.url] * len(self.rows),
            "piece": np.full(len(self.rows), shard.start, dtype=np.int64),
            "document_id": self.ids,
            "snippet": list(map(_snippet, self.contexts, *self.within.T.tolist())),
        }
        for name, values in numbers.items():
            columns[name] = values if name == "priority" else values.astype(np.int64)
        table = pa.Table.from_pydict({name: columns[name] for name in EVIDENCE.names}, schema=EVIDENCE)
        return cap_evidence(table, self.cap)

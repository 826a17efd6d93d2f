"""JSON: streams cut into records, and records into batches of documents.

Most records go a fast way: kernels check the JSON, find the text and decode it, so that no Python object is built.
Whatever they refuse, or has no plain text, goes through the tolerant parser of `records`; so do the first records of a
process, since the kernels have to be compiled (see `tiers`).
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import orjson

from wmbxl import batches, kernels, tiers
from wmbxl.batches import NAMES_KEPT, Account, Array, Batch
from wmbxl.errors import Unreadable
from wmbxl.records import REPAIRED, Skip, as_id, field_names, get_field, parse_json, record_text
from wmbxl.types import ReadOptions
from wmbxl.vector import WIDTH

_PADDING = bytes(2 * WIDTH)  # the kernels look at 64 bytes at once, and a few more
_SPANS_HELD = 4096
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Records:
    """Bytes that hold records.

    Parameters
    ----------
    data : bytes
        Goes on behind the last record for as long as the kernels look.
    spans : int64 array of shape (records, 2)
        First byte of each record, and the one after the last.
    compiled : bool
        Whether they are for the kernels.
    """

    data: bytes
    spans: Array
    compiled: bool = True

    def __iter__(self) -> Iterator[bytes]:
        return (self.data[start:end] for start, end in self.spans.tolist())


def lines(chunks: Iterable[bytes]) -> Iterator[Records]:
    """Cut a stream at newlines. The part behind the last newline comes last, unless a fault cut it short."""
    parts: list[bytes | memoryview] = []
    try:
        for chunk in chunks:
            cut = chunk.rfind(b"\n") + 1
            parts.append(memoryview(chunk)[:cut] if cut else chunk)
            rest = chunk[cut:]
            del chunk  # or the next one lies elsewhere, and two are in the cache
            if cut:
                yield from _lines_of(parts)
                parts = [rest]
    except Unreadable:
        if _is_whole(b"".join(parts)):
            yield from _lines_of(parts)
        raise
    yield from _lines_of(parts)


def _lines_of(parts: list[bytes | memoryview]) -> Iterator[Records]:
    """Yield the lines of some bytes, in groups."""
    parts.append(_PADDING)
    data = b"".join(parts)
    parts.clear()  # a long line isn't held twice
    at, end = 0, len(data) - len(_PADDING)
    if not tiers.json.compiles(end):
        spans = _cut_lines(data, end)
        for first in range(0, len(spans), _SPANS_HELD):
            yield Records(data, spans[first : first + _SPANS_HELD], compiled=False)
        return
    while at < end:
        spans = np.empty((_SPANS_HELD, 2), dtype=np.int64)
        count = kernels.cut_lines(_array(data), at, end, spans)
        yield Records(data, spans[:count])
        at = int(spans[count - 1, 1]) + 1


def _cut_lines(data: bytes, end: int) -> Array:
    """Find the lines of ``data[:end]`` as `kernels.cut_lines` does."""
    stops = np.flatnonzero(_array(data)[:end] == ord("\n"))
    if end and data[end - 1] != ord("\n"):
        stops = np.append(stops, end)
    return np.stack([np.append(0, stops[:-1] + 1)[: len(stops)], stops], axis=1)


def _is_whole(line: bytes) -> bool:
    """Whether a line that may have been cut is a whole record all the same."""
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def values(chunks: Iterable[bytes]) -> Iterator[Records]:
    """Cut a JSON array into its items, or a run of JSON values that go over several lines into the values."""
    state = np.zeros(kernels.VALUES_STATE, dtype=np.int64)
    spans = np.empty((_SPANS_HELD, 2), dtype=np.int64)
    held = bytearray()
    chunks = iter(chunks)
    while len(held) < len(_BOM) and (chunk := next(chunks, b"")):
        held += chunk
    held = held.removeprefix(_BOM)
    for chunk in itertools.chain([b""], chunks):
        held += chunk
        finished = False
        while not finished:
            count, finished = kernels.split_values(np.frombuffer(held, dtype=np.uint8), state, spans)
            if count:
                yield Records(bytes(held[: spans[count - 1, 1]]) + _PADDING, spans[:count].copy())
            done = kernels.release_values(state, len(held))
            del held[:done]
    if held.strip():
        yield Records(bytes(held) + _PADDING, np.array([[0, len(held)]], dtype=np.int64))


def batches_of(groups: Iterable[Records], options: ReadOptions, account: Account) -> Iterator[Batch]:
    """Turn JSON records into batches of documents.

    Raises
    ------
    Unreadable
        A fault of the stream, after what stands before it was yielded.
    """
    builder = _Builder(options, account)
    try:
        for group in groups:
            yield from builder.add(group)
    except Unreadable:
        yield from builder.close()
        raise
    yield from builder.close()


class _Builder:
    """Collects records until they make a batch."""

    def __init__(self, options: ReadOptions, account: Account) -> None:
        self.options, self.account = options, account
        self.name = np.frombuffer(options.text_field.encode(), dtype=np.uint8)
        self._reset()

    def _reset(self) -> None:
        self.texts = np.empty(0, dtype=np.uint8)
        self.offsets = [np.zeros(1, dtype=np.int64)]
        self.parts: list[_Part] = []
        self.documents = self.held = 0

    def add(self, records: Records) -> Iterator[Batch]:
        """Take records, or count why not; yield the batches that are full. Blank lines are no records."""
        part = self._read(records)
        if self.held + part.size > batches.BATCH_BYTES or self.documents + len(part) > batches.BATCH_ROWS:
            yield from self._fill(part)
        elif len(part):
            self._take(part)
        if (
            2 * self.held >= batches.BATCH_BYTES or self.documents >= batches.BATCH_ROWS
        ):  # the next would rather not fit
            yield from self.close()

    def _fill(self, part: _Part) -> Iterator[Batch]:
        """Take records that are too many for one batch; yield the batches that are full."""
        held = np.cumsum(part.spans[:, 1] - part.spans[:, 0])
        start = 0
        while start < len(part):
            room = batches.BATCH_BYTES - self.held + (held[start - 1] if start else 0)
            stop = min(int(np.searchsorted(held, room)) + 1, start + batches.BATCH_ROWS - self.documents)
            self._take(part[start:stop])
            start = stop
            if self.held >= batches.BATCH_BYTES or self.documents >= batches.BATCH_ROWS:
                yield from self.close()

    def _read(self, records: Records) -> _Part:
        """Return the records that have a text; count them all."""
        places, spans = np.empty_like(records.spans), records.spans
        if records.compiled:
            plain = kernels.find_texts(_array(records.data), spans, self.name, places) == len(spans)
        else:
            places[:] = kernels.TEXT_ELSEWHERE
            places[[not record.strip() for record in records]] = kernels.BLANK
            plain = False
        if not plain:
            kept = places[:, 0] != kernels.BLANK
            spans, places = spans[kept], places[kept]
        first = self.account.records
        part = _Part(records.data, np.arange(first, first + len(spans)), spans, places, records.compiled)
        if self.account.fields is not None and len(part) and first == 0:
            self.account.fields.update(_fields_of(part.record_without_text(0)))
        self.account.records += len(part)
        self.account.decoded += part.size
        if not plain:
            slow = np.flatnonzero(places[:, 0] == kernels.TEXT_ELSEWHERE)
            part = self._read_slowly(part, slow)
        self.account.documents += len(part)
        return part

    def _read_slowly(self, part: _Part, slow: Array) -> _Part:
        """Have a parser look for the texts of the records `slow`, and leave out those that have none."""
        strings = [part.data]
        end = len(part.data)
        for i in slow.tolist():
            string = self._parse(part.record(i))
            if string is not None:
                strings.append(string)
                part.places[i] = end + 1, end + len(string) - 1
                end += len(string)
        strings.append(_PADDING)
        return replace(part, data=b"".join(strings))[part.places[:, 0] != kernels.TEXT_ELSEWHERE]

    def _parse(self, record: bytes) -> bytes | None:
        """Return the text as a JSON string, or None for a record that is skipped and counted."""
        try:
            parsed = parse_json(record)
            if parsed.repaired:
                self.account.skip(REPAIRED, len(record))
            return orjson.dumps(record_text(parsed.value, self.options.text_field, self.options.join_lists))
        except Skip as skip:
            self.account.skip(skip.reason, len(record))
            if skip.reason == "text_missing" and len(self.account.names) < NAMES_KEPT:
                self.account.names.update(field_names(parsed.value))
            return None

    def _take(self, part: _Part) -> None:
        """Decode texts into the batch."""
        filled = int(self.offsets[-1][-1])
        needed = filled + int((part.places[:, 1] - part.places[:, 0]).sum()) + WIDTH
        if needed > len(self.texts):
            texts = np.empty(max(needed, batches.BATCH_BYTES + batches.BATCH_BYTES // 4), dtype=np.uint8)
            texts[:filled] = self.texts[:filled]
            self.texts = texts
        offsets = np.full(len(part) + 1, filled, dtype=np.int64)
        if part.compiled:
            kernels.unescape(_array(part.data), part.places, self.texts, offsets)
        else:
            _unescape(part, self.texts, offsets)
        self.offsets.append(offsets[1:])
        self.parts.append(part)
        self.documents += len(part)
        self.held += part.size

    def close(self) -> Iterator[Batch]:
        """Yield the batch, if it has any documents, and begin another."""
        if not self.documents:
            return
        offsets = np.concatenate(self.offsets)
        rows = np.concatenate([part.rows for part in self.parts])
        ids = _Ids(self.parts, self.options)
        batch = Batch(self.texts[: offsets[-1]], offsets, rows, ids)
        for doc in batch.blank_documents():
            self.account.skip("text_empty", len(ids.record(doc)))
        self._reset()
        yield batch


def _unescape(part: _Part, out: Array, offsets: Array) -> None:
    """Decode the strings of records that a parser read, as `kernels.unescape` does."""
    texts = [orjson.loads(part.data[first - 1 : stop + 1]).encode() for first, stop in part.places.tolist()]
    offsets[1:] += np.cumsum([len(text) for text in texts], dtype=np.int64)
    out[offsets[0] : offsets[-1]] = np.frombuffer(b"".join(texts), dtype=np.uint8)


@dataclass
class _Part:
    """Records that have a text, or may have one.

    Parameters
    ----------
    data : bytes
    rows : int64 array
        Number of each record in the shard piece.
    spans : int64 array of shape (records, 2)
        Where the records are in the data.
    places : int64 array of shape (records, 2)
        Where the JSON strings of their texts are, in the records or elsewhere.
    compiled : bool
        Whether they are for the kernels.
    """

    data: bytes
    rows: Array
    spans: Array
    places: Array
    compiled: bool

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def size(self) -> int:
        """Bytes of the records."""
        return int((self.spans[:, 1] - self.spans[:, 0]).sum())

    def __getitem__(self, which: slice | Array) -> _Part:
        return replace(self, rows=self.rows[which], spans=self.spans[which], places=self.places[which])

    def record(self, i: int) -> bytes:
        """Return a record."""
        start, end = self.spans[i].tolist()
        return self.data[start:end]

    def record_without_text(self, i: int) -> bytes:
        """Return a record with an empty text, if it stands in the record."""
        (start, end), (first, stop) = self.spans[i].tolist(), self.places[i].tolist()
        inside = start <= first and stop <= end
        return self.data[start:first] + self.data[stop:end] if inside else self.data[start:end]


class _Ids:
    """Ids of documents, read from their records when asked for."""

    def __init__(self, parts: list[_Part], options: ReadOptions) -> None:
        self._parts, self._options = parts, options
        self._ends = list(itertools.accumulate(map(len, parts)))

    def __call__(self, docs: Sequence[int]) -> list[str | None]:
        field = self._options.id_field
        return [_id(self._without_text(doc), field) if field else None for doc in docs]

    def _find(self, doc: int) -> tuple[_Part, int]:
        which = bisect.bisect_right(self._ends, doc)
        return self._parts[which], doc - self._ends[which]  # counted from the end of the part

    def record(self, doc: int) -> bytes:
        """Return the record of a document."""
        part, i = self._find(doc)
        return part.record(i)

    def _without_text(self, doc: int) -> bytes:
        part, i = self._find(doc)
        return part.record(i) if self._options.id_field == self._options.text_field else part.record_without_text(i)


def _id(record: bytes, field: str) -> str | None:
    value = get_field(parse_json(record).value, field)
    if isinstance(value, float):  # or an integer too long for the fast parser
        value = get_field(parse_json(record, exact_numbers=True).value, field)
    return as_id(value)


def _array(data: bytes) -> Array:
    return np.frombuffer(data, dtype=np.uint8)


def _fields_of(record: bytes) -> Iterable[str]:
    """Return the dotted names of a record's fields; none of what isn't a JSON object."""
    try:
        value = parse_json(record).value
    except Skip:
        return ()
    return field_names(value) if isinstance(value, dict) else ()

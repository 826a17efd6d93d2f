"""JSON: streams cut into values, and values into batches of documents.

Most records go a fast way: msgspec checks the JSON and finds the text's bytes, and a kernel decodes them, so that no
Python string is built. Whatever msgspec refuses, or has no plain text, goes through the tolerant parser of `records`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import orjson

from wmbxl import batches, kernels
from wmbxl.batches import NAMES_KEPT, Account, Batch
from wmbxl.errors import Unreadable
from wmbxl.records import REPAIRED, Skip, field_names, get_field, is_utf8, parse_json, record_id, record_text
from wmbxl.types import ReadOptions
from wmbxl.vector import WIDTH

_QUOTE = ord('"')


def lines(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut a stream at newlines. The part behind the last newline comes last, unless a fault cut it short."""
    parts: list[bytes] = []
    try:
        for chunk in chunks:
            cut = chunk.rfind(b"\n")
            if cut < 0:
                parts.append(chunk)
                continue
            parts.append(chunk[:cut])
            block = b"".join(parts)
            parts = [chunk[cut + 1 :]]
            yield _split(block)
    except Unreadable:
        rest = b"".join(parts)
        if _is_whole(rest):
            yield [rest]
        raise
    if any(parts):
        yield [b"".join(parts)]


def _split(block: bytes) -> list[bytes]:
    """Cut at newlines; for long lines twice as fast as ``bytes.split``, which looks at one byte after the other."""
    lines = []
    at = 0
    while (cut := block.find(b"\n", at)) >= 0:
        lines.append(block[at:cut])
        at = cut + 1
    lines.append(block[at:] if at else block)
    return lines


def _is_whole(line: bytes) -> bool:
    """Whether a line that may have been cut is a whole record all the same."""
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def values(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut a JSON array into its items, or a run of JSON values that go over several lines into the values."""
    state = np.zeros(kernels.VALUES_STATE, dtype=np.int64)
    spans = np.empty((4096, 2), dtype=np.int64)
    held = bytearray()
    begun = False
    for chunk in chunks:
        held += chunk
        if not begun and len(held) >= 3:
            begun, held = True, held.removeprefix(b"\xef\xbb\xbf")
        while begun:
            data = np.frombuffer(held, dtype=np.uint8)
            count, finished = kernels.split_values(data, state, spans)
            found = [data[start:end].tobytes() for start, end in spans[:count].tolist()]
            del data  # what is looked at can't shrink
            yield found
            done = kernels.release_values(state, len(held))
            del held[:done]
            if finished:
                break
    if held.strip():
        yield [bytes(held)]


def batches_of(groups: Iterable[list[bytes]], options: ReadOptions, account: Account) -> Iterator[Batch]:
    """Turn JSON values into batches of documents.

    Raises
    ------
    Unreadable
        A fault of the stream, after what stands before it was yielded.
    """
    builder = _Builder(options, account)
    try:
        for group in groups:
            for line in group:
                builder.add(line)
                if builder.full:
                    yield builder.close()
    except Unreadable:
        if builder.lines:
            yield builder.close()
        raise
    if builder.lines:
        yield builder.close()


class _Builder:
    """Collects records until they make a batch."""

    def __init__(self, options: ReadOptions, account: Account) -> None:
        self.options, self.account = options, account
        self.find = _finder(options.text_field)
        self._reset()

    def _reset(self) -> None:
        self.lines: list[bytes] = []
        self.strings: list[bytes | msgspec.Raw] = []
        self.rows: list[int] = []
        self.held = 0

    @property
    def full(self) -> bool:
        """Whether the batch should be closed."""
        return self.held >= batches.BATCH_BYTES or len(self.rows) >= batches.BATCH_ROWS

    def add(self, line: bytes) -> None:
        """Take a record, or count why not. Blank lines are no records."""
        if not line or line.isspace():
            return
        account = self.account
        row, account.records = account.records, account.records + 1
        account.decoded += len(line)
        if row == 0:
            self._note_fields(line)
        string = self.find(line) or self._find_slowly(line)
        if string is None:
            return
        account.documents += 1
        self.lines.append(line)
        self.strings.append(string)
        self.rows.append(row)
        self.held += len(line)

    def _note_fields(self, line: bytes) -> None:
        with contextlib.suppress(Skip):
            record = parse_json(line).value
            self.account.fields.update(field_names(record) if isinstance(record, dict) else ())

    def _find_slowly(self, line: bytes) -> bytes | None:
        """Return the text as a JSON string, or None for a record that is skipped and counted."""
        try:
            parsed = parse_json(line)
            if parsed.repaired:
                self.account.skip(REPAIRED, len(line))
            return orjson.dumps(record_text(parsed.value, self.options.text_field, self.options.join_lists))
        except Skip as skip:
            self.account.skip(skip.reason, len(line))
            if skip.reason == "text_missing" and len(self.account.names) < NAMES_KEPT:
                self.account.names.update(field_names(parsed.value))
            return None

    def close(self) -> Batch:
        """Return the batch, and begin another."""
        one = len(self.strings) == 1  # a long document isn't copied once more
        source = np.frombuffer(self.strings[0] if one else b"".join(self.strings), dtype=np.uint8)
        bounds = np.cumsum([0, *map(len, self.strings)])
        data = np.empty(len(source) + WIDTH, dtype=np.uint8)
        offsets = np.empty_like(bounds)
        kernels.unescape(source, bounds, data, offsets)
        batch = Batch(
            data[: offsets[-1]], offsets, np.array(self.rows, dtype=np.int64), _Ids(self.lines, self.options.id_field)
        )
        for doc in batch.blank_documents():
            self.account.skip("text_empty", len(self.lines[doc]))
        self._reset()
        return batch


def _finder(name: str) -> Callable[[bytes], msgspec.Raw | None]:
    """Return a function that finds a field's JSON string in a record, or None where that takes more care."""
    if "." in name:
        return lambda line: None
    kind = msgspec.defstruct("Record", [("text", msgspec.Raw, msgspec.UNSET)], rename={"text": name}, gc=False)
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode

    def find(line: bytes) -> msgspec.Raw | None:
        try:
            value = decode(line).text
        except (msgspec.MsgspecError, RecursionError):
            return None
        if value is msgspec.UNSET or memoryview(value)[0] != _QUOTE or not is_utf8(line):
            return None
        return value

    return find


class _Ids(Sequence[str | None]):
    """Ids of documents, read from their records when asked for: few documents have a match."""

    def __init__(self, lines: list[bytes], field: str | None) -> None:
        self._lines, self._field = lines, field

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, doc):  # type: ignore[no-untyped-def]
        line = self._lines[doc]
        if not self._field:
            return None
        record = parse_json(line).value
        if isinstance(get_field(record, self._field), float):  # or an integer too long for the fast parser
            record = parse_json(line, exact_numbers=True).value
        return record_id(record, self._field)

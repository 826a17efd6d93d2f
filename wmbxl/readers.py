"""Shard → batches of documents, a bounded amount at a time, and an exact account of what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wmbxl import formats, kernels, streams
from wmbxl.errors import Unreadable
from wmbxl.records import (
    GAPS,
    REPAIRED,
    Skip,
    field_names,
    parse_json,
    record_id,
    record_text,
    text_of,
)
from wmbxl.types import ReadOptions, Shard

Array = np.ndarray[Any, Any]

BATCH_BYTES = 4 << 20  # a batch closes when its texts reach this many bytes ...
BATCH_ROWS = 16384  # ... or it has this many documents
NAMES_KEPT = 50  # field names remembered for the error that lists them


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
    ids : sequence of str or None
    """

    data: Array
    offsets: Array
    rows: Array
    ids: Sequence[str | None]

    @classmethod
    def of(cls, texts: pa.LargeStringArray, rows: Array, ids: Sequence[str | None]) -> Batch:
        """Make a batch of an Arrow array of valid strings without nulls."""
        _, offsets, data = texts.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int64, count=len(texts) + 1, offset=8 * texts.offset)
        buffer = np.frombuffer(data if data is not None else b"", dtype=np.uint8)
        # Arrow's own buffers are writable and mapped ones are not; the kernels would compile for each.
        bounds.flags.writeable = buffer.flags.writeable = False
        return cls(buffer, bounds, rows, ids)

    def __len__(self) -> int:
        return len(self.rows)

    def text(self, doc: int) -> str:
        """Return the text of document `doc`."""
        return self.data[self.offsets[doc] : self.offsets[doc + 1]].tobytes().decode()


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
    names : set of str
        Fields seen in records that lack the text field.
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
    names: set[str] = field(default_factory=set)
    consumed: Callable[[], int] = lambda: 0

    def skip(self, reason: str, size: int) -> None:
        """Count a record that was skipped or repaired."""
        self.skipped[reason] += 1
        self.skipped_bytes[reason] += size

    def fail(self, fault: Unreadable, lost_bytes: int) -> None:
        """Record what ended the piece early, and how many bytes of the file it cost."""
        self.fault = fault
        self.lost_bytes = max(1, lost_bytes)

    @property
    def unread_bytes(self) -> int:
        """Bytes of the file that were not audited; those of skipped records in proportion, rounded up."""
        gaps = sum(size for reason, size in self.skipped_bytes.items() if reason in GAPS)
        read = self.file_bytes - self.lost_bytes
        share = -(-gaps * read // self.decoded) if self.decoded else 0
        return min(self.file_bytes, self.lost_bytes + share) if self.file_bytes else self.lost_bytes + gaps


def read(shard: Shard, account: Account) -> Iterator[Batch]:
    """Yield the documents of a shard piece in order, and keep the account.

    A fault does not raise: it is left in ``account.fault`` after everything before it was yielded.
    """
    account.file_bytes = _size(shard)
    try:
        if shard.unit == "row_groups":
            yield from _parquet(shard, account)
        else:
            yield from _stream(shard, account)
    except Unreadable as fault:
        account.fail(fault, _lost(shard, account, fault))
    if shard.size < 0:  # the size was not known when the file was listed
        account.file_bytes = account.consumed()
    if account.fault is None and _changed(shard):
        changed = Unreadable("changed", f"{shard.url}: changed while it was read: run the audit again")
        account.fail(changed, account.file_bytes)


def _lost(shard: Shard, account: Account, fault: Unreadable) -> int:
    """Return the bytes of the file that a fault cost; all of the piece where nobody can say how much is missing."""
    if fault.position is None or fault.reason in ("truncated", "zstd_window"):
        return account.file_bytes
    begin = shard.start if shard.unit == "bytes" else 0
    return account.file_bytes - max(0, fault.position - begin)


def _changed(shard: Shard) -> bool:
    """Whether the file is another one than when it was listed."""
    if not shard.version:
        return False
    try:
        filesystem, path = fsspec.url_to_fs(shard.url, **shard.options.storage_options)
        filesystem.invalidate_cache()
        info = streams.retry(filesystem.info, path)
    except Exception:
        return True
    size = info.get("size")
    return version_of(info) != shard.version or (size is not None and shard.size >= 0 and int(size) != shard.size)


def version_of(info: Mapping[str, Any]) -> str:
    """Return what tells that a file changed: its etag, or else when it was modified."""
    for key in ("ETag", "etag", "mtime", "LastModified", "last_modified", "modified", "created"):
        if info.get(key) is not None:
            return str(info[key])
    return ""


def _size(shard: Shard) -> int:
    if shard.unit == "row_groups" or shard.whole:
        return max(0, shard.weight if shard.weight >= 0 else shard.size)
    return (shard.size if shard.stop < 0 else min(shard.stop, shard.size)) - shard.start


def open_stream(shard: Shard, account: Account) -> tuple[streams.Chunks, formats.Format]:
    """Return the decompressed bytes of a whole file, and its format.

    Raises
    ------
    Unreadable
        If the file can't be opened or its format is refused.
    """
    source = streams.Source(shard.url, shard.options.storage_options)
    account.consumed = lambda: source.position
    packed = source.read()
    codec = formats.codec_of(packed)
    source.position = 0
    source.close()
    if not packed:
        return streams.Chunks(iter(())), _empty(shard.url)
    if codec:
        chunks = streams.Chunks(streams.decompress(source, codec, shard.options.max_zstd_window))
    else:
        chunks = streams.Chunks(streams.whole(source))
    return chunks, formats.detect(chunks.peek(formats.HEAD), shard.url)


def _empty(url: str) -> formats.Format:
    """Return the format of a file of no bytes; a container can't be empty."""
    if formats.named_codec(url) or formats.stem(url).endswith((".parquet", ".arrow", ".feather", ".ipc")):
        raise Unreadable(
            "empty_file",
            f"{url}: 0 bytes, where its name promises a container: download it again",
            position=0,
        )
    return formats.Format("lines")


def _stream(shard: Shard, account: Account) -> Iterator[Batch]:
    if not shard.whole:
        source = streams.Source(shard.url, shard.options.storage_options, max(0, shard.start - 1))
        account.consumed = lambda: source.position - shard.start
        stop = shard.size if shard.stop < 0 else shard.stop
        yield from _json_batches(lines(streams.owned_lines(source, shard.start, stop)), shard.options, account)
        return
    chunks, kind = open_stream(shard, account)
    if kind.kind == "parquet":
        yield from _parquet(shard, account)
    elif kind.kind == "arrow_file":
        yield from _arrow_file(shard, account)
    elif kind.kind == "arrow_stream":
        yield from _arrow_stream(chunks, shard, account)
    else:
        utf8 = iter(chunks) if kind.encoding == "utf-8" else streams.to_utf8(iter(chunks), kind.encoding)
        if kind.kind == "text":
            yield from _text(utf8, shard, account)
        else:
            cut = lines(utf8) if kind.kind == "lines" else values(utf8)
            yield from _json_batches(cut, shard.options, account)


# ---------------------------------------------------------------- JSON


def lines(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut a stream at newlines. The part behind the last newline comes last, unless a fault cut it short."""
    parts: list[bytes] = []
    for chunk in chunks:
        cut = chunk.rfind(b"\n")
        if cut < 0:
            parts.append(chunk)
            continue
        parts.append(chunk[:cut])
        block = b"".join(parts)
        parts = [chunk[cut + 1 :]]
        yield block.split(b"\n")
    if any(parts):
        yield [b"".join(parts)]


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
            data = np.frombuffer(bytes(held), dtype=np.uint8)
            count, finished = kernels.split_values(data, state, spans)
            yield [data[start:end].tobytes() for start, end in spans[:count].tolist()]
            done = kernels.release_values(state, len(held))
            del held[:done]
            if finished:
                break
    if held.strip():
        yield [bytes(held)]


def _json_batches(groups: Iterable[list[bytes]], options: ReadOptions, account: Account) -> Iterator[Batch]:
    texts: list[str] = []
    rows: list[int] = []
    ids: list[str | None] = []
    held = 0
    try:
        for group in groups:
            for line in group:
                if not line or line.isspace():
                    continue
                row, account.records = account.records, account.records + 1
                account.decoded += len(line)
                document = _document(line, options, account)
                if document is None:
                    continue
                texts.append(document[0])
                ids.append(document[1])
                rows.append(row)
                held += len(line)
                if held >= BATCH_BYTES or len(rows) >= BATCH_ROWS:
                    yield _batch(texts, rows, ids)
                    texts, rows, ids, held = [], [], [], 0
    except Unreadable as fault:
        # What stands before the fault is audited before the fault is told.
        if rows:
            yield _batch(texts, rows, ids)
        raise fault
    if rows:
        yield _batch(texts, rows, ids)


def _batch(texts: list[str], rows: list[int], ids: list[str | None]) -> Batch:
    return Batch.of(pa.array(texts, pa.large_string()), np.array(rows, dtype=np.int64), ids)


def _document(line: bytes, options: ReadOptions, account: Account) -> tuple[str, str | None] | None:
    """Return (text, id) of a record, or None for one that is skipped and counted."""
    try:
        parsed = parse_json(line)
        if parsed.repaired:
            account.skip(REPAIRED, len(line))
        text = record_text(parsed.value, options.text_field, options.join_lists)
    except Skip as skip:
        account.skip(skip.reason, len(line))
        if skip.reason == "text_missing" and len(account.names) < NAMES_KEPT:
            account.names.update(field_names(parsed.value))
        return None
    account.documents += 1
    if not text or text.isspace():
        account.skip("text_empty", len(line))
    return text, record_id(parsed.value, options.id_field)


def _text(chunks: Iterator[bytes], shard: Shard, account: Account) -> Iterator[Batch]:
    """Read a file that is one document."""
    data = b"".join(chunks).removeprefix(b"\xef\xbb\xbf")
    account.records, account.documents, account.decoded = 1, 1, len(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        account.skip(REPAIRED, len(data))
    if not text or text.isspace():
        account.skip("text_empty", len(data))
    yield _batch([text], [0], [shard.url.rsplit("/", maxsplit=1)[-1]])


# ---------------------------------------------------------------- columns


def _parquet(shard: Shard, account: Account) -> Iterator[Batch]:
    with _opened(shard) as file:
        try:
            parquet = pq.ParquetFile(file)
            first, stop = (0, -1) if shard.unit == "bytes" else (shard.start, shard.stop)
            groups = range(first, parquet.num_row_groups if stop < 0 else stop)
            total = sum(parquet.metadata.row_group(group).num_rows for group in groups)
            account.consumed = lambda: account.file_bytes * account.records // max(1, total)
            columns = _columns(parquet.schema_arrow, shard.options, account, total)
            if columns is None:
                return
            for batch in parquet.iter_batches(row_groups=list(groups), columns=columns, batch_size=1024):
                yield from _record_batch(batch, shard.options, account)
        except (pa.ArrowException, OSError) as error:
            raise _broken(shard, error) from error


def _arrow_file(shard: Shard, account: Account) -> Iterator[Batch]:
    with _opened(shard) as file:
        try:
            reader = pa.ipc.open_file(file)
            if _columns(reader.schema, shard.options, account, -1) is None:
                account.records = sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
                account.skipped["text_missing"] = account.records
                return
            for i in range(reader.num_record_batches):
                yield from _record_batch(reader.get_batch(i), shard.options, account)
        except (pa.ArrowException, OSError) as error:
            raise _broken(shard, error) from error


def _arrow_stream(chunks: streams.Chunks, shard: Shard, account: Account) -> Iterator[Batch]:
    try:
        file = _Readable(chunks)
        reader = pa.ipc.open_stream(pa.PythonFile(file, mode="r"))
        missing = _columns(reader.schema, shard.options, account, -1) is None
        for batch in reader:
            if missing:
                account.records += batch.num_rows
                account.skipped["text_missing"] += batch.num_rows
            else:
                yield from _record_batch(batch, shard.options, account)
        if file.last != _END_OF_STREAM:  # pyarrow takes a stream that was cut between batches for a whole one
            raise Unreadable("truncated", f"{shard.url}: the Arrow stream has no end mark: download it again")
    except (pa.ArrowException, OSError) as error:
        raise _broken(shard, error) from error


_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def _opened(shard: Shard) -> Any:
    try:
        filesystem, path = fsspec.url_to_fs(shard.url, **shard.options.storage_options)
        return streams.retry(filesystem.open, path, "rb")
    except Exception as error:
        raise streams.unreadable(shard.url, error) from error


def _broken(shard: Shard, error: Exception) -> Unreadable:
    return Unreadable("corrupt", f"{shard.url}: {error}: download it again, or accept the gap with --accept-unread")


class _Readable:
    """A stream of chunks as a file that can be read."""

    closed = False

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = bytearray()
        self.last = b""  # the last 8 bytes that were read

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._held) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._held += chunk
        size = len(self._held) if size < 0 else size
        data = bytes(self._held[:size])
        del self._held[:size]
        self.last = (self.last + data)[-8:]
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _columns(schema: pa.Schema, options: ReadOptions, account: Account, rows: int) -> list[str] | None:
    """Return the columns to read; None, and an account of it, if the text field isn't there."""
    if find_column(schema, options.text_field) is None:
        account.names.update(column_names(schema))
        if rows > 0:
            account.records = rows
            account.skipped["text_missing"] = rows
        return None
    wanted = [options.text_field, *([options.id_field] if options.id_field else [])]
    return [name for name in wanted if find_column(schema, name) is not None]


def column_names(fields: Iterable[pa.Field], prefix: str = "") -> list[str]:
    """Return the dotted names of a schema's fields."""
    names: list[str] = []
    for item in fields:
        names.append(f"{prefix}{item.name}")
        if pa.types.is_struct(item.type):
            names.extend(
                column_names([item.type.field(i) for i in range(item.type.num_fields)], f"{prefix}{item.name}.")
            )
    return names


def find_column(schema: pa.Schema, name: str) -> list[str] | None:
    """Return the path of a field by its name, or by its dotted path; None if there is none."""
    if name in schema.names:
        return [name]
    return name.split(".") if name in column_names(schema) else None


def get_column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Return a column by its name or dotted path; None if there is none."""
    path = find_column(batch.schema, name)
    if path is None:
        return None
    column = batch.column(path[0])
    return pc.struct_field(column, path[1:]) if path[1:] else column


def _record_batch(batch: pa.RecordBatch, options: ReadOptions, account: Account) -> Iterator[Batch]:
    """Turn a record batch into batches of bounded size."""
    column = get_column(batch, options.text_field)
    assert column is not None, "the schema was checked"
    per_row = max(1, batch.nbytes // max(1, batch.num_rows))
    step = max(1, min(BATCH_ROWS, BATCH_BYTES // per_row))
    for start in range(0, batch.num_rows, step):
        piece = batch.slice(start, step)
        yield from _rows(piece, column.slice(start, step), options, account)


def _rows(batch: pa.RecordBatch, column: pa.Array, options: ReadOptions, account: Account) -> Iterator[Batch]:
    first = account.records
    account.records += len(column)
    account.decoded += batch.nbytes
    texts, rows = _as_texts(column, options, account)
    if not len(texts):
        return
    account.documents += len(texts)
    empty = pc.sum(pc.utf8_is_space(texts)).as_py() + pc.sum(pc.equal(pc.binary_length(texts), 0)).as_py()
    if empty:
        account.skipped["text_empty"] += empty
    ids = get_column(batch, options.id_field) if options.id_field else None
    named = [record_id({"id": value}, "id") for value in ids.take(pa.array(rows)).to_pylist()] if ids is not None else None
    yield Batch.of(texts, first + rows, named or [None] * len(rows))


def _as_texts(column: pa.Array, options: ReadOptions, account: Account) -> tuple[pa.LargeStringArray, Array]:
    """Return a column's texts and their rows within it."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if column.null_count:
        account.skipped["text_null"] += column.null_count
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    column = column.drop_null()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _valid(column.cast(pa.large_binary()), account), rows
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _valid(column.cast(pa.large_binary()), account), rows
    texts: list[str] = []
    kept: list[int] = []
    for row, value in zip(rows.tolist(), column.to_pylist(), strict=True):
        try:
            texts.append(text_of(value, options.join_lists))
            kept.append(row)
        except Skip as skip:
            account.skip(skip.reason, max(1, column.nbytes // len(column)))
    return pa.array(texts, pa.large_string()), np.array(kept, dtype=np.int64)


def _valid(column: pa.LargeBinaryArray, account: Account) -> pa.LargeStringArray:
    """Return binary values as strings; bytes that are not UTF-8 become U+FFFD and are counted."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        texts = []
        for value in column.to_pylist():
            try:
                texts.append(value.decode())
            except UnicodeDecodeError:
                texts.append(value.decode(errors="replace"))
                account.skip(REPAIRED, len(value))
        return pa.array(texts, pa.large_string())

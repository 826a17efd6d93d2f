"""Parquet and Arrow: columns turned into batches of documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wmbxl import batches, kernels, streams, tiers
from wmbxl.batches import Account, Array, Batch
from wmbxl.errors import Unreadable
from wmbxl.records import REPAIRED, Skip, as_id, text_of
from wmbxl.types import ReadOptions, Shard

BYTES_AT_ONCE = 1 << 20  # of a batch; more than of JSON, since Arrow's calls cost more than the cache gives back


def parquet(shard: Shard, account: Account) -> Iterator[Batch]:
    """Read Parquet, one row group after the other."""
    try:
        parquet = pq.ParquetFile(_file(shard))
        first, stop = (0, -1) if shard.unit == "bytes" else (shard.start, shard.stop)
        groups = range(first, parquet.num_row_groups if stop < 0 else stop)
        total = sum(parquet.metadata.row_group(group).num_rows for group in groups)
        account.consumed = lambda: account.file_bytes * account.records // max(1, total)
        columns = _columns(parquet.schema_arrow, shard.options, account, total)
        if columns is None:
            return
        for group in groups:
            rows = _rows_at_once(parquet.metadata.row_group(group))
            for batch in parquet.iter_batches(row_groups=[group], columns=columns, batch_size=rows, use_threads=False):
                yield from _record_batch(batch, shard.options, account)
                del batch  # or the next one lies elsewhere, and two are in the cache
    except _FAULTS as error:
        raise _broken(shard, error) from error


def _rows_at_once(group: pq.RowGroupMetaData) -> int:
    """Return how many rows of a row group make a batch."""
    return min(batches.BATCH_ROWS, 1 + BYTES_AT_ONCE * group.num_rows // max(1, group.total_byte_size))


def arrow_file(shard: Shard, account: Account) -> Iterator[Batch]:
    """Read an Arrow IPC file."""
    try:
        reader = pa.ipc.open_file(_file(shard))
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        yield from _record_batches(batches, reader.schema, shard, account)
    except _FAULTS as error:
        raise _broken(shard, error) from error


def arrow_stream(chunks: streams.Chunks, shard: Shard, account: Account) -> Iterator[Batch]:
    """Read an Arrow IPC stream."""
    try:
        file = _Readable(chunks)
        reader = pa.ipc.open_stream(pa.PythonFile(file, mode="r"))
        yield from _record_batches(reader, reader.schema, shard, account)
        if file.last != _END_OF_STREAM:  # pyarrow takes a stream that was cut between batches for a whole one
            raise Unreadable("truncated", f"{shard.url}: the Arrow stream has no end mark: download it again")
    except _FAULTS as error:
        raise _broken(shard, error) from error


def _record_batches(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, shard: Shard, account: Account
) -> Iterator[Batch]:
    missing = _columns(schema, shard.options, account, -1) is None
    for batch in batches:
        if missing:
            account.records += batch.num_rows
            account.skipped["text_missing"] += batch.num_rows
        else:
            batch.validate(full=True)  # Arrow trusts offsets, and broken ones would crash the process
            yield from _record_batch(batch, shard.options, account)


_FAULTS = (pa.ArrowException, OSError, IndexError)  # IndexError: of a file that lost row groups
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def _file(shard: Shard) -> pa.PythonFile:
    return pa.PythonFile(streams.Source.of(shard), mode="r")


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
    if account.fields is not None:
        account.fields.update(column_names(schema))
    wanted = [options.text_field, *([options.id_field] if options.id_field else [])]
    for name in wanted:
        column = name if name in schema.names else name.split(".")[0]
        if schema.names.count(column) > 1:
            raise Unreadable("duplicate_columns", f"two columns are named {column!r}: give one of them another name")
    if find_column(schema, options.text_field) is None:
        account.names.update(column_names(schema))
        if rows > 0:
            account.records = rows
            account.skipped["text_missing"] = rows
        return None
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
    ids = get_column(batch, options.id_field) if options.id_field else None
    size = batch.nbytes
    account.decoded += size
    parts = max(1, round(size / BYTES_AT_ONCE))
    step = max(1, min(batches.BATCH_ROWS, math.ceil(batch.num_rows / parts)))
    for start in range(0, batch.num_rows, step):
        beside = None if ids is None else ids.slice(start, step)
        yield from _rows(column.slice(start, step), beside, options, account)


def _rows(column: pa.Array, ids: pa.Array | None, options: ReadOptions, account: Account) -> Iterator[Batch]:
    first = account.records
    account.records += len(column)
    texts, rows = _as_texts(column, options, account)
    if not len(texts):
        return
    account.documents += len(texts)
    found = Batch.of(texts, first + rows, lambda docs: _ids(ids, rows[docs]))
    if empty := len(found.blank_documents()):
        account.skipped["text_empty"] += empty
    yield found


def _ids(column: pa.Array | None, rows: Array) -> list[str | None]:
    """Return a column's values as ids; bytes that are not UTF-8 become U+FFFD, dates beyond Python's plain numbers."""
    if column is None or pa.types.is_nested(column.type):
        return [None] * len(rows)
    column = column.take(pa.array(rows))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind):  # nothing looks into binary values
        column = column.view(pa.binary())
    elif pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        column = column.cast(pa.large_binary())
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return [as_id(None if value is None else value.decode(errors="replace")) for value in column.to_pylist()]
    return [as_id(_as_value(scalar)) for scalar in column]  # scalars are slower, and can say what Python can't


def _as_value(scalar: pa.Scalar) -> Any:
    try:
        value = scalar.as_py()
    except (OverflowError, ValueError):
        value = scalar.value
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _as_texts(column: pa.Array, options: ReadOptions, account: Account) -> tuple[pa.LargeStringArray, Array]:
    """Return a column's texts and their rows within it."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())  # Arrow can't filter views
    kind = column.type
    rows = np.arange(len(column))
    if column.null_count:
        account.skipped["text_null"] += column.null_count
        rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        column = column.drop_null()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _valid(column.cast(pa.large_binary()), account), rows
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
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
    if tiers.columns.compiles(column.nbytes) and kernels.are_utf8(*batches.as_arrays(column)):
        _, offsets, data = column.buffers()
        return pa.LargeStringArray.from_buffers(len(column), offsets, data, offset=column.offset)
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

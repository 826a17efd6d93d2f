"""Shard → batches of documents, a bounded amount at a time, and an exact account of what could not be read."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from wmbxl import ahead, columns, formats, jsonl, stores, streams
from wmbxl.batches import Account, Batch
from wmbxl.errors import Unreadable
from wmbxl.records import REPAIRED
from wmbxl.types import Shard


def read(shard: Shard, account: Account, source: streams.Source | None = None) -> Iterator[Batch]:
    """Yield the documents of a shard piece in order, and keep the account; `source` is its file, if it is open already.

    A fault does not raise: it is left in ``account.fault`` after everything before it was yielded.
    """
    account.file_bytes = _size(shard)
    if shard.size < 0:  # the listing didn't say
        with contextlib.suppress(Unreadable):
            account.file_bytes = streams.Source.of(shard).size
    try:
        if shard.unit == "row_groups":
            yield from columns.parquet(shard, account)
        else:
            yield from _stream(shard, account, source or source_of(shard))
    except Unreadable as fault:
        account.fail(fault, _lost(shard, account, fault))
    if not account.file_bytes:
        account.file_bytes = account.consumed()
    if account.fault is None and (changed := _changed(shard)):
        account.fail(changed, account.file_bytes)


def leave_unread(shard: Shard, account: Account, fault: Unreadable) -> None:
    """Keep the account of a shard that is not read at all."""
    account.file_bytes = _size(shard)
    account.fail(fault, account.file_bytes)


def _lost(shard: Shard, account: Account, fault: Unreadable) -> int:
    """Return the bytes of the file that a fault cost; all of the piece where nobody can say how much is missing."""
    if fault.position is None or fault.reason in ("truncated", "zstd_window"):
        return account.file_bytes
    begin = shard.start if shard.unit == "bytes" else 0
    return account.file_bytes - max(0, fault.position - begin)


def _changed(shard: Shard) -> Unreadable | None:
    """Return a fault if the file is another one than when it was listed, or if nobody can tell."""
    if not shard.version:
        return None
    try:
        filesystem, path = stores.locate(shard.url, shard.options.storage_options)
        if stores.same_throughout(filesystem, shard.size, shard.version):
            return None
        filesystem.invalidate_cache()
        info = stores.retry(filesystem.info, path)
    except Exception as error:
        fault = stores.unreadable(shard.url, error)
        return stores.changed(shard.url) if fault.reason == "missing" else fault
    size = info.get("size")
    same = version_of(info) == shard.version and (size is None or shard.size < 0 or int(size) == shard.size)
    return None if same else stores.changed(shard.url)


def version_of(info: Mapping[str, Any]) -> str:
    """Return what tells that a file changed: its etag, or else when it was modified."""
    for key in ("ETag", "etag", "mtime", "LastModified", "last_modified", "modified", "created"):
        value = info.get(key)
        if value is not None:  # a listing and a look at one file may give the same time in two forms
            return str(value.timestamp() if isinstance(value, datetime) else value)
    return ""


def _size(shard: Shard) -> int:
    if shard.unit == "row_groups" or shard.whole:
        return max(0, shard.weight if shard.weight >= 0 else shard.size)
    return (shard.size if shard.stop < 0 else min(shard.stop, shard.size)) - shard.start


def source_of(shard: Shard) -> streams.Source:
    """Return the file of a shard piece, where reading begins."""
    if shard.whole:
        return streams.Source.of(shard, forward=not formats.named_columns(shard.url))
    stop = shard.size if shard.stop < 0 else shard.stop
    return streams.Source.of(shard, max(0, shard.start - 1), stop, forward=True)


class Upcoming:
    """Shard pieces, each with its file; a store is asked for the beginning of the next ones while one is read.

    Parameters
    ----------
    shards : iterable of Shard
        The store is asked for the beginning of the first ones at once.
    """

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._rest = iter(shards)
        self._next: deque[tuple[Shard, streams.Source]] = deque()
        self._ask()

    def _ask(self) -> None:
        held = sum(min(shard.size, ahead.BEGINNING_BYTES) for shard, _ in self._next)
        while len(self._next) < ahead.FILES_AHEAD and held < ahead.BEGINNING_BYTES:
            shard = next(self._rest, None)
            if shard is None:
                return
            source = source_of(shard)
            if shard.unit == "bytes":  # row groups are found from the end of the file
                source.begin()
            self._next.append((shard, source))
            held += min(shard.size, ahead.BEGINNING_BYTES)

    def __iter__(self) -> Iterator[tuple[Shard, streams.Source]]:
        while self._next:
            shard, source = self._next.popleft()
            self._ask()
            yield shard, source
            source.close()

    def close(self) -> None:
        """Give up what was asked for."""
        for _, source in self._next:
            source.close()


def open_stream(
    shard: Shard, account: Account, source: streams.Source | None = None
) -> tuple[streams.Chunks, formats.Format]:
    """Return the decompressed bytes of a whole file, and its format.

    Raises
    ------
    Unreadable
        If the file can't be opened or its format is refused.
    """
    source = source or source_of(shard)
    account.consumed = lambda: source.position
    packed = source.read()
    codec = formats.codec_of(packed)
    source.seek(0)
    if not packed:
        return streams.Chunks(iter(())), _empty(shard.url)
    if codec:
        chunks = streams.Chunks(streams.decompress(source, codec, shard.options.max_zstd_window))
    else:
        chunks = streams.Chunks(streams.whole(source))
    try:
        found = formats.detect(chunks.peek(formats.HEAD), shard.url)
    except Unreadable:
        chunks.peek(streams.BLOCK)  # a decompressor may put out rubbish before it notices a fault
        if chunks.fault is not None:  # what a damaged file looks like says nothing
            raise chunks.fault from None
        raise
    if codec and found.kind in ("parquet", "arrow_file"):
        raise Unreadable(
            "refused_compressed",
            f"{shard.url}: {found.kind.replace('_', ' ')} inside {codec}, which can only be read from its end: "
            "decompress the file",
        )
    return chunks, found


def _empty(url: str) -> formats.Format:
    """Return the format of a file of no bytes; a container can't be empty."""
    if formats.named_codec(url) or formats.named_columns(url):
        raise Unreadable(
            "empty_file",
            f"{url}: 0 bytes, where its name promises a container: download it again",
            position=0,
        )
    return formats.Format("lines")


def _stream(shard: Shard, account: Account, source: streams.Source) -> Iterator[Batch]:
    if not shard.whole:
        account.consumed = lambda: source.position - shard.start
        owned = streams.owned_lines(source, shard.start, source.stop)
        yield from jsonl.batches_of(jsonl.lines(owned), shard.options, account)
        return
    chunks, kind = open_stream(shard, account, source)
    if kind.kind == "parquet":
        yield from columns.parquet(shard, account)
    elif kind.kind == "arrow_file":
        yield from columns.arrow_file(shard, account)
    elif kind.kind == "arrow_stream":
        yield from columns.arrow_stream(chunks, shard, account)
    else:
        utf8 = iter(chunks) if kind.encoding == "utf-8" else streams.to_utf8(iter(chunks), kind.encoding)
        if kind.kind == "text":
            yield from _text(utf8, shard, account)
        else:
            cut = jsonl.lines(utf8) if kind.kind == "lines" else jsonl.values(utf8)
            yield from jsonl.batches_of(cut, shard.options, account)


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
    name = shard.url.rsplit("/", maxsplit=1)[-1]
    yield Batch.of(pa.array([text], pa.large_string()), np.zeros(1, dtype=np.int64), lambda docs: [name] * len(docs))

"""Bytes in: files read forward, opened again after passing faults, decompressed."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import lzma
import os
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fsspec import AbstractFileSystem
from isal import igzip_lib

from wmbxl import ahead, direct
from wmbxl.errors import Unreadable
from wmbxl.formats import Codec, codec_of
from wmbxl.stores import is_local, locate, open_listed, retry, same_throughout, unreadable
from wmbxl.text import replace_surrogates
from wmbxl.types import Shard

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK = 1 << 20  # bytes read from a file at a time
# Small, so that what a scan works with stays in caches that it shares with others.
PACKED = 1 << 18  # bytes given to a decompressor at a time
DECODED = 1 << 19  # bytes that it puts out at a time


class Source:
    """A file that is opened again where a passing fault struck.

    Parameters
    ----------
    url : str
    storage_options : dict
        For fsspec.
    position : int
        The first byte to read.
    stop : int
        Where reading will probably end, so that a store isn't asked for more; negative for the end of the file.
    forward : bool
        Whether all will be read, from the first byte to the last, so that a store can be asked for much at once.
    listed : tuple of int and str
        Size and version of the file when it was listed; -1 and nothing if unknown.
    """

    def __init__(
        self, url: str, storage_options: dict[str, Any], position: int = 0, stop: int = -1, forward: bool = False,
        listed: tuple[int, str] = (-1, ""),
    ) -> None:  # fmt: skip
        self.url = url
        self.position = position
        self.stop = stop
        self.forward = forward
        self.listed = listed
        self.storage_options = storage_options
        self._file: Any = None

    @classmethod
    def of(cls, shard: Shard, position: int = 0, stop: int = -1, forward: bool = False) -> Source:
        """Return the file that a shard is, or is a piece of."""
        listed = (shard.size, shard.version)
        return cls(shard.url, shard.options.storage_options, position, stop, forward, listed)

    def read(self, size: int = BLOCK) -> bytes:
        """Return the next bytes, at most `size` (all, if negative); none at the end of the file.

        Raises
        ------
        Unreadable
            After some tries (`wmbxl.stores.TRIES`), or at once for a fault that doesn't pass.
        """
        if size < 0:
            size = max(0, self.size - self.position)
        try:
            data: bytes = retry(self._read, size)
        except Exception as error:
            raise unreadable(self.url, error, self.position) from error
        self.position += len(data)
        return data

    def _read(self, size: int) -> bytes:
        try:
            if self._file is None:
                self._file = self._open(*locate(self.url, self.storage_options))
            return self._file.read(size)
        except Exception:
            self.close()
            self.forward = False  # a store in trouble is not asked for much at once
            raise

    def _open(self, filesystem: AbstractFileSystem, path: str) -> Any:
        how = {} if is_local(filesystem) else ahead.options(self.stop, self.forward)
        file = open_listed(filesystem, path, *self.listed, **how)
        if same_throughout(filesystem, *self.listed):
            file.cache.fetcher = direct.fetcher(filesystem, path, self.listed[1], file.cache.fetcher)
        file.seek(self.position)
        return file

    def begin(self) -> None:
        """Ask a store for the first bytes, and don't wait for them.

        Nothing is asked where it would take a request to open the file, which has to be waited for.
        """
        with contextlib.suppress(Exception):  # told when it is read
            filesystem, path = locate(self.url, self.storage_options)
            if same_throughout(filesystem, *self.listed):
                self._file = self._open(filesystem, path)
                self._file.cache.begin(self.position)

    closed = False  # as files have it: Arrow asks

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def seekable(self) -> bool:
        """Whether it can be read from another position."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self.position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to another position."""
        origin = self.size if whence == os.SEEK_END else self.position if whence == os.SEEK_CUR else 0
        if origin + offset != self.position:
            self.position = origin + offset
            if self._file is not None:
                try:
                    self._file.seek(self.position)
                except (OSError, ValueError):  # it can only be read forward
                    self.close()
        return self.position

    @cached_property
    def size(self) -> int:
        """Bytes of the file."""
        try:
            filesystem, path = locate(self.url, self.storage_options)
            if same_throughout(filesystem, *self.listed):
                return self.listed[0]
            return int(retry(filesystem.size, path))
        except Exception as error:
            raise unreadable(self.url, error) from error

    def close(self) -> None:
        """Close the file; a later read opens it again."""
        if self._file is not None:
            file, self._file = self._file, None
            cache = getattr(file, "cache", None)
            if isinstance(cache, ahead.ReadAhead):  # fsspec closes its own only
                cache.close()
            file.close()


class Chunks:
    """A stream of byte chunks whose beginning can be looked at.

    Parameters
    ----------
    chunks : iterator of bytes
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._ahead: list[bytes] = []
        self.fault: Unreadable | None = None

    def peek(self, size: int) -> bytes:
        """Return the first `size` bytes, or all if there are fewer, without taking them.

        Raises
        ------
        Unreadable
            If a fault comes before the first byte.
        """
        while sum(map(len, self._ahead)) < size and self.fault is None:
            try:
                self._ahead.append(next(self._chunks))
            except StopIteration:
                break
            except Unreadable as fault:  # what came before it can still be read
                self.fault = fault
                if not self._ahead:
                    raise
        return b"".join(self._ahead)[:size]

    def __iter__(self) -> Iterator[bytes]:
        while self._ahead:
            yield self._ahead.pop(0)
        if self.fault is not None:
            raise self.fault
        yield from self._chunks


def whole(source: Source) -> Iterator[bytes]:
    """Yield all of a file."""
    while data := source.read():
        yield data


def owned_lines(source: Source, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes of the lines that start in ``[start, stop)``; `source` stands at ``max(0, start - 1)``."""
    if start > 0:
        while True:
            before = source.position
            data = source.read(min(BLOCK, stop - before)) if before < stop else b""
            if not data:
                return
            newline = data.find(b"\n")
            if newline >= 0:
                break
        if before + newline + 1 >= stop:
            return
        if newline + 1 < len(data):
            yield data[newline + 1 :]
        ended = data.endswith(b"\n")
    else:
        ended = True
    while source.position < stop:
        data = source.read(min(BLOCK, stop - source.position))
        if not data:
            return
        ended = data.endswith(b"\n")
        yield data
    while not ended and (data := source.read()):
        newline = data.find(b"\n")
        ended = newline >= 0
        yield data[: newline + 1] if ended else data


@dataclass(frozen=True)
class _Compression:
    make: Callable[[int], Any]
    errors: tuple[type[Exception], ...]


# isal's type hints take its error class for an instance.
_IGZIP_ERROR: type[Exception] = igzip_lib.error  # type: ignore[assignment]

_COMPRESSIONS: dict[Codec, _Compression] = {
    "gz": _Compression(
        lambda window: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP), (_IGZIP_ERROR, EOFError)
    ),
    "bz2": _Compression(lambda window: bz2.BZ2Decompressor(), (OSError, ValueError, EOFError)),
    "xz": _Compression(lambda window: lzma.LZMADecompressor(lzma.FORMAT_XZ), (lzma.LZMAError, EOFError)),
    "zst": _Compression(
        lambda window: zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: window}),
        (zstd.ZstdError, EOFError),
    ),
}


def decompress(source: Source, codec: Codec, max_zstd_window: int = 27) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file, all members and frames, in chunks of at most `DECODED` bytes.

    Raises
    ------
    Unreadable
        ``truncated``, ``corrupt``, ``trailing_garbage`` or ``zstd_window``, after everything before the fault.
    """
    pending = source.read(PACKED)
    while pending:
        pending = yield from _member(source, codec, pending, max_zstd_window)
        while not pending.strip(b"\0"):  # padding
            pending = source.read(PACKED)
            if not pending:
                return
        pending = pending.lstrip(b"\0")
        if len(pending) < 16:
            pending += source.read(PACKED)
        if codec_of(pending) != codec:
            at = source.position - len(pending)
            raise Unreadable(
                "trailing_garbage",
                f"{source.url}: {len(pending)} or more bytes that are not {codec} behind the {codec} data, "
                f"from byte {at}: cut the file there, or accept the gap with --accept-unread",
                at,
            )


def _member(source: Source, codec: Codec, data: bytes, window: int) -> Generator[bytes, None, bytes]:
    """Yield one member's decompressed bytes; return the bytes behind it."""
    compression = _COMPRESSIONS[codec]
    decompressor = compression.make(window)
    begin = source.position - len(data)
    yielded = 0
    while not decompressor.eof:
        if decompressor.needs_input and not data:
            data = source.read(PACKED)
            if not data:
                raise Unreadable(
                    "truncated",
                    f"{source.url}: the {codec} data ends in the middle, at byte {source.position}: "
                    "download it again, or accept the gap with --accept-unread",
                    source.position,
                )
        if data:
            chunk = source.position - len(data)
        try:
            out = decompressor.decompress(data, DECODED)
        except compression.errors as error:
            fault = _corrupt(source, codec, error, window, chunk)
            yield from _salvage(source, compression, window, begin, chunk, yielded)
            raise fault from error
        data = b""
        if out:
            yielded += len(out)
            held = [out]
            del out  # or the next one lies elsewhere, and two are in the cache
            yield held.pop()
    return decompressor.unused_data


def _salvage(
    source: Source, compression: _Compression, window: int, begin: int, faulty: int, skip: int
) -> Iterator[bytes]:  # fmt: skip
    """Yield what a member that begins at `begin` holds between its first `skip` bytes and its fault.

    A decompressor that meets a fault keeps what it had put out in that step. So the member is read again, from byte
    `faulty` on in smaller steps, and once more in steps of a byte.
    """
    for step in (4096, 1):
        again = Source(source.url, source.storage_options, begin, listed=source.listed)
        decompressor = compression.make(window)
        seen = 0
        try:
            while again.position < source.position:
                at = again.position
                careful = at >= faulty
                data = again.read(step if careful else min(BLOCK, faulty - again.position))
                while data or not decompressor.needs_input:
                    out = decompressor.decompress(data, -1 if careful else DECODED)
                    data = b""
                    if out and seen + len(out) > skip:
                        yield out[max(0, skip - seen) :]
                    seen += len(out)
        except compression.errors:
            faulty = at
        skip = max(skip, seen)


def _corrupt(source: Source, codec: Codec, error: Exception, window: int, begun: int) -> Unreadable:
    if codec == "zst" and "memory" in str(error):
        return Unreadable(
            "zstd_window",
            f"{source.url}: its zstd window is larger than 2^{window} bytes: "
            f"allow it with --max-zstd-window (up to 31), at that much memory a worker",
            source.position,
        )
    return Unreadable(
        "corrupt",
        f"{source.url}: corrupt {codec} data between bytes {begun} and {source.position} ({error}): "
        "download it again, or accept the gap with --accept-unread",
        begun,
    )


def to_utf8(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Re-encode a stream; lone surrogates become U+FFFD.

    Raises
    ------
    Unreadable
        ``corrupt``, where the bytes are not in this encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    try:
        for chunk in chunks:
            yield replace_surrogates(decoder.decode(chunk)).encode()
        yield replace_surrogates(decoder.decode(b"", True)).encode()
    except UnicodeDecodeError as error:
        raise Unreadable("corrupt", f"broken {encoding} text: {error}") from error

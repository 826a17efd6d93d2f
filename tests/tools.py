"""What the tests build inputs with, and look at outcomes with."""

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from wmbxl import Corpus, readers
from wmbxl.batches import Account
from wmbxl.records import GAPS
from wmbxl.types import Shard

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BOM = b"\xef\xbb\xbf"


def zstandard(data: bytes) -> bytes:
    """Compress with a checksum, as the zstd command does."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard,
}


def skippable(content: bytes) -> bytes:
    """Return a zstd frame that readers pass over."""
    return b"\x5a\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def line(text: Any, **fields: Any) -> bytes:
    """Return one JSONL record."""
    return json.dumps({"text": text, **fields}).encode() + b"\n"


def jsonl(texts: Iterable[Any]) -> bytes:
    """Return JSONL of these texts. A lone surrogate is escaped."""
    return b"".join(map(line, texts))


def table(texts: Sequence[str], **columns: Any) -> pa.Table:
    """Return texts as a table."""
    return pa.table({"text": pa.array(texts, pa.string()), **columns})


def parquet(content: pa.Table, **options: Any) -> bytes:
    """Return a table as a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(content, sink, **options)
    return sink.getvalue()


def arrow(content: pa.Table, rows: int | None = None, stream: bool = False) -> bytes:
    """Return a table as an Arrow IPC file or stream of batches of `rows`."""
    sink = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, content.schema) as writer:
        writer.write_table(content, max_chunksize=rows)
    return sink.getvalue()


def bulk(documents: int = 800, words: int = 60) -> list[str]:
    """Return documents that compress badly."""
    rng = np.random.default_rng(0)
    return [" ".join(map(str, row)) for row in rng.integers(0, 10**9, (documents, words)).tolist()]


@dataclass(frozen=True)
class Read:
    """What reading a piece gave."""

    shard: Shard
    texts: list[str]
    rows: list[int]
    ids: list[str | None]
    account: Account

    @property
    def reason(self) -> str | None:
        """Why reading ended early."""
        return self.account.fault.reason if self.account.fault else None

    @property
    def position(self) -> int | None:
        """Where reading ended early."""
        return self.account.fault.position if self.account.fault else None

    def check(self) -> "Read":
        """Check what holds for every account."""
        account = self.account
        gaps = [reason for reason in account.skipped if reason in GAPS]
        lost = account.fault is not None or bool(gaps)
        assert (account.unread_bytes > 0) == lost
        # An empty container is a gap although it has no bytes.
        assert account.unread_bytes <= max(1, account.file_bytes)
        unaudited = sum(n for reason, n in account.skipped.items() if reason in LEAVES_NO_DOCUMENT)
        assert account.records == account.documents + unaudited
        assert account.documents == len(self.texts) == len(self.rows) == len(self.ids)
        assert self.rows == sorted(set(self.rows))
        assert all(0 <= row < account.records for row in self.rows)
        return self


LEAVES_NO_DOCUMENT = {*GAPS, "text_missing", "text_null"}


def read_shard(shard: Shard) -> Read:
    """Read one piece."""
    account = Account()
    got = Read(shard, [], [], [], account)
    for batch in readers.read(shard, account):
        got.texts.extend(batch.text(doc) for doc in range(len(batch)))
        got.rows.extend(batch.rows.tolist())
        got.ids.extend(batch.ids(range(len(batch))))
    return got.check()


def read(path: Path | str, data: bytes | None = None, **options: Any) -> Read:
    """Write `data`, if any is given, and read the file whole."""
    if data is not None:
        Path(path).write_bytes(data)
    (shard,) = Corpus("c", str(path), **options).shards(1 << 40)
    return read_shard(shard)


class Trouble(LocalFileSystem):  # type: ignore[misc]
    """The local filesystem, with faults."""

    protocol = "trouble"
    root_marker = "/"
    faults: ClassVar[int] = 0  # reads that will fail ...
    behind: ClassVar[int] = 0  # ... at this byte or later ...
    error: ClassVar[Exception] = OSError("connection reset")  # ... with this
    raised: ClassVar[int] = 0

    @classmethod
    def reset(cls) -> None:
        cls.faults, cls.behind, cls.error, cls.raised = 0, 0, OSError("connection reset"), 0

    @classmethod
    def fail(cls, times: int, error: Exception | None = None, behind: int = 0) -> None:
        cls.faults, cls.behind, cls.raised = times, behind, 0
        cls.error = error or cls.error

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(item) for item in path]
        return super()._strip_protocol(str(path).removeprefix("trouble://"))

    def unstrip_protocol(self, name: str) -> str:
        return f"trouble://{name}"

    def open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        return _Troubled(super().open(path, mode, **kwargs))


class _Troubled(io.RawIOBase):
    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._file.read(size)
        if Trouble.faults > 0 and self._file.tell() > Trouble.behind:
            Trouble.faults -= 1
            Trouble.raised += 1
            raise Trouble.error
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


fsspec.register_implementation("trouble", Trouble, clobber=True)

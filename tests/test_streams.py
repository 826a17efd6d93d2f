"""Bytes in: every member and frame, everything before a fault, and an honest word on what was lost."""

import bz2
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import tools
from tests.tools import COMPRESS, jsonl, read, skippable
from wmbxl import Corpus, stores, streams
from wmbxl.errors import Unreadable
from wmbxl.formats import Codec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CODECS = ["gz", "bz2", "xz", "zst"]
TEXTS = tools.bulk()
LINES = jsonl(TEXTS)  # about 0.5 MB, so that a fault in it lies inside one step of a decompressor
MAKE: dict[str, Callable[[], Any]] = {
    "gz": lambda: zlib.decompressobj(31),
    "bz2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
    "zst": zstd.ZstdDecompressor,
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make members, frames and faults lie across many reads."""
    monkeypatch.setattr(streams, "BLOCK", 64)
    monkeypatch.setattr(streams, "PACKED", 64)
    monkeypatch.setattr(streams.Source.read, "__defaults__", (64,))


def decodable(codec: str, data: bytes) -> list[str]:
    """Return the texts of the whole lines that stand before a fault, found byte by byte."""
    decompressor, out = MAKE[codec](), bytearray()
    try:
        for i in range(len(data)):
            out += decompressor.decompress(data[i : i + 1])
    except (zlib.error, OSError, ValueError, lzma.LZMAError, zstd.ZstdError):
        pass
    return TEXTS[: out.count(b"\n")]


def spoiled(data: bytes, at: int) -> bytes:
    return data[:at] + bytes(byte ^ 0xFF for byte in data[at : at + 16]) + data[at + 16 :]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("part", [0.0001, 0.1, 0.5, 0.9, 0.99999])
def test_truncated(tmp_path: Path, codec: str, part: float) -> None:
    whole = COMPRESS[codec](LINES)
    data = whole[: max(8, int(len(whole) * part))]
    got = read(tmp_path / "a", data)
    assert (got.reason, got.position) == ("truncated", len(data))
    assert got.texts == decodable(codec, data)
    assert got.account.unread_bytes == len(data)  # nobody knows how much is missing
    assert str(len(data)) in str(got.account.fault)


@pytest.mark.parametrize("codec", CODECS)
def test_truncated_behind_a_whole_member(tmp_path: Path, codec: str) -> None:
    member = COMPRESS[codec](jsonl(["a", "b"]))
    got = read(tmp_path / "a", member + member[:-3])
    assert got.reason == "truncated"
    assert got.texts[:2] == ["a", "b"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("part", [0.02, 0.5, 0.9])
def test_corrupt(tmp_path: Path, codec: str, part: float) -> None:
    whole = COMPRESS[codec](LINES)
    at = int(len(whole) * part)
    got = read(tmp_path / "a", spoiled(whole, at))
    assert got.reason == "corrupt"
    assert got.position is not None
    assert got.position <= len(whole)
    assert got.account.unread_bytes >= len(whole) - at - 16  # what lies behind the fault is not audited


@pytest.mark.parametrize("codec", CODECS)
def test_documents_before_corrupt_data(tmp_path: Path, codec: str) -> None:
    # bzip2 decodes a whole block of 900 kB at once, so the fault has to lie in the second.
    lines = LINES * 3 if codec == "bz2" else LINES
    whole = COMPRESS[codec](lines)
    data = spoiled(whole, int(len(whole) * 0.9))
    got = read(tmp_path / "a", data)
    decompressor, out = MAKE[codec](), bytearray()
    with pytest.raises((zlib.error, OSError, ValueError, lzma.LZMAError, zstd.ZstdError)):
        for i in range(len(data)):
            out += decompressor.decompress(data[i : i + 1])
    # What a decoder puts out between the fault and its noticing it is rubbish, and not the same for every decoder.
    sound = os.path.commonprefix([bytes(out), lines]).count(b"\n")  # noqa: RUF071 - of bytes
    assert sound > 100
    assert got.texts[:sound] == (TEXTS * 3)[:sound]


@pytest.mark.parametrize("codec", CODECS)
def test_documents_before_a_bad_checksum(tmp_path: Path, codec: str) -> None:
    whole = COMPRESS[codec](LINES)
    end = {"gz": 8, "bz2": 4, "xz": 30, "zst": 4}[codec]
    data = bytearray(whole)
    data[-end] ^= 0xFF
    got = read(tmp_path / "a", bytes(data))
    assert got.reason == "corrupt"
    assert got.texts == TEXTS


@pytest.mark.parametrize("codec", CODECS)
def test_a_bad_checksum_is_told(tmp_path: Path, codec: str) -> None:
    data = bytearray(COMPRESS[codec](LINES))
    data[-8 if codec == "gz" else -4] ^= 0xFF
    got = read(tmp_path / "a", bytes(data))
    assert got.reason == "corrupt"
    assert TEXTS[: len(got.texts)] == got.texts


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("padding", [0, 4, 512, 70_000])
def test_members_and_padding(tmp_path: Path, codec: str, padding: int) -> None:
    pad = b"\0" * padding
    members = [b"", jsonl(["a"]), jsonl(["b", "c"]), b"", b'{"text": ', b'"d"}']
    data = b"".join(COMPRESS[codec](member) + pad for member in members)
    assert read(tmp_path / "a", data).texts == ["a", "b", "c", "d"]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shift", range(0, 64, 7))
def test_members_across_reads(tmp_path: Path, codec: str, shift: int) -> None:
    members = [jsonl([f"{i}" * (shift + i)]) for i in range(12)]
    data = b"".join(COMPRESS[codec](member) + b"\0" * (4 * i) for i, member in enumerate(members))
    got = read(tmp_path / "a", data)
    assert got.texts == [f"{i}" * (shift + i) for i in range(12)]
    assert got.account.unread_bytes == 0


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("codec", CODECS)
def test_truncated_anywhere(tmp_path: Path, codec: str) -> None:
    first, second = COMPRESS[codec](jsonl(["a"])), COMPRESS[codec](jsonl(["b"] * 30))
    data = first + second
    for length in range(8, len(data)):
        got = read(tmp_path / "a", data[:length])
        if length == len(first):
            assert (got.texts, got.reason) == (["a"], None)
        else:
            assert got.reason in ("truncated", "trailing_garbage")
            assert got.texts[:1] == ["a"] or length < len(first)


@pytest.mark.parametrize("size", [0, 5, 1 << 20, 3_000_000])
def test_skippable_frames(tmp_path: Path, size: int) -> None:
    skip = skippable(b"x" * size)
    data = skip + tools.zstandard(jsonl(["a"])) + skip + skip + tools.zstandard(jsonl(["b"])) + skip
    assert read(tmp_path / "a.jsonl", data).texts == ["a", "b"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("garbage", [b"x", b"GARBAGE" * 10_000, b"\0\0{}"])
def test_garbage_behind_the_data(tmp_path: Path, codec: str, garbage: bytes) -> None:
    data = COMPRESS[codec](jsonl(["a"]))
    got = read(tmp_path / "a", data + garbage)
    zeros = len(garbage) - len(garbage.lstrip(b"\0"))
    assert (got.texts, got.reason, got.position) == (["a"], "trailing_garbage", len(data) + zeros)
    assert got.account.unread_bytes == len(garbage) - zeros


def frame(window_log: int, content: bytes) -> bytes:
    """Return a zstd frame of one raw block that asks for a window of ``2 ** window_log`` bytes."""
    header = (len(content) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd" + bytes([0, window_log - 10 << 3]) + header + content


def test_the_zstd_window(tmp_path: Path) -> None:
    data = frame(28, jsonl(["a"]))
    refused = read(tmp_path / "a.jsonl.zst", data)
    assert (refused.reason, refused.texts) == ("zstd_window", [])
    assert "--max-zstd-window" in str(refused.account.fault)
    assert refused.account.unread_bytes == len(data)
    assert read(tmp_path / "a.jsonl.zst", data, max_zstd_window=28).texts == ["a"]
    assert read(tmp_path / "a.jsonl.zst", frame(27, jsonl(["a"]))).texts == ["a"]


def test_a_window_too_large_behind_a_good_frame(tmp_path: Path) -> None:
    got = read(tmp_path / "a.jsonl.zst", tools.zstandard(jsonl(["a"])) + frame(30, jsonl(["b"])))
    assert (got.reason, got.texts) == ("zstd_window", ["a"])


# ---------------------------------------------------------------- faults of the medium


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_fault_that_passes(tmp_path: Path, trouble: type[tools.Trouble], name: str) -> None:
    data = COMPRESS["gz"](LINES) if name.endswith("gz") else LINES * 5
    (tmp_path / name).write_bytes(data)
    (shard,) = Corpus("c", f"trouble://{tmp_path}/{name}").shards(1 << 40)
    for behind in (0, len(data) - 1):
        trouble.fail(2, behind=behind)
        got = tools.read_shard(shard)
        assert trouble.raised == 2
        assert got.reason is None
        assert got.texts == TEXTS * (1 if name.endswith("gz") else 5)


@pytest.mark.parametrize(
    ("error", "reason", "tries"),
    [
        (OSError("reset"), "io_error", stores.TRIES),
        (TimeoutError("slow"), "io_error", stores.TRIES),
        (RuntimeError("of a library"), "io_error", stores.TRIES),
        (PermissionError("no"), "permission_denied", 1),
        (FileNotFoundError("gone"), "missing", 1),
    ],
)
def test_a_fault_that_stays(
    tmp_path: Path, trouble: type[tools.Trouble], error: Exception, reason: str, tries: int
) -> None:
    data = LINES * 5
    (tmp_path / "a.jsonl").write_bytes(data)
    (shard,) = Corpus("c", f"trouble://{tmp_path}/a.jsonl").shards(1 << 40)
    trouble.fail(1000, error, behind=2 << 20)
    got = tools.read_shard(shard)
    assert (got.reason, got.position, trouble.raised) == (reason, 2 << 20, tries)
    assert got.texts == (TEXTS * 5)[: data[: 2 << 20].count(b"\n")]
    assert got.account.unread_bytes == len(data) - (2 << 20)
    assert "a.jsonl" in str(got.account.fault)


def test_a_file_that_disappears(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(["a"]))
    (shard,) = Corpus("c", str(path)).shards()
    path.unlink()
    got = tools.read_shard(shard)
    assert (got.reason, got.account.unread_bytes) == ("missing", shard.size)


# ---------------------------------------------------------------- small parts


def test_peeking_takes_nothing() -> None:
    chunks = streams.Chunks(iter([b"ab", b"c", b"defg"]))
    assert [chunks.peek(size) for size in (0, 1, 4, 2, 100)] == [b"", b"a", b"abcd", b"ab", b"abcdefg"]
    assert b"".join(chunks) == b"abcdefg"


def test_peeking_keeps_a_fault_for_later() -> None:
    def broken() -> Iterator[bytes]:
        yield b"ab"
        raise Unreadable("corrupt", "broken", 2)

    chunks = streams.Chunks(broken())
    assert chunks.peek(10) == b"ab"
    read_chunks = iter(chunks)
    assert next(read_chunks) == b"ab"
    with pytest.raises(Unreadable, match="broken"):
        next(read_chunks)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("step", [1, 2, 3, 5, 1000])
def test_to_utf8_in_any_chunks(encoding: str, step: int) -> None:
    text = "aé中😀\n" * 20
    data = text.encode(encoding)
    chunks = (data[i : i + step] for i in range(0, len(data), step))
    assert b"".join(streams.to_utf8(chunks, encoding)).decode() == text


@pytest.mark.parametrize("codec", CODECS)
def test_decompress_yields_bounded_chunks(tmp_path: Path, codec: Codec) -> None:
    (tmp_path / "a").write_bytes(COMPRESS[codec](b"a" * 5_000_000))
    sizes = [len(chunk) for chunk in streams.decompress(streams.Source(str(tmp_path / "a"), {}), codec)]
    assert sum(sizes) == 5_000_000
    assert max(sizes) <= streams.DECODED

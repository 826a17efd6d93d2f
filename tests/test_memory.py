"""Memory of a worker: flat in the corpus, in the shard and in the hits; bounded by the longest line.

Each scan runs in a process of its own, which reports its peak. The bound that docs/explanation/memory.md states is
held to with room for the allocator.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import as_jsonl, make_benchmark, make_documents, make_text, write_benchmark

MB = 1 << 20
SCAN = """
import json, sys
import wmbxl
from wmbxl import tiers
from wmbxl.corpus import Corpus
for tier in tiers.ALL:
    tier.bytes_left = 0  # all kernels are compiled for the first corpus
benchmark, corpus, warm = sys.argv[1:]
def peak():  # getrusage would count the parent's memory too
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
index = wmbxl.ProbeIndex.build(wmbxl.read_benchmark(benchmark), [5, 13])
wmbxl.scan_shard(Corpus("warm", warm).shards()[0], index)  # compiles
before = peak()
(shard,) = Corpus("made", corpus).shards(1 << 40)
tally = wmbxl.scan_shard(shard, index)
print(json.dumps([before, peak(), tally.documents, tally.occurrences, tally.unread_bytes]))
"""


def peak(folder: Path, corpus: Path) -> tuple[int, int, int]:
    """Return bytes that a scan adds to a warm process's peak, its documents, and its matches."""
    write_benchmark(folder / "problems.jsonl", make_benchmark())
    (folder / "warm.jsonl").write_bytes(as_jsonl(["İstanbul", *make_documents(make_benchmark(), 0, 5)]))
    args = [sys.executable, "-c", SCAN, str(folder / "problems.jsonl"), str(corpus), str(folder / "warm.jsonl")]
    done = subprocess.run(args, capture_output=True, text=True, check=True, timeout=300)
    before, after, documents, matches, unread = json.loads(done.stdout)
    assert unread == 0
    return (after - before) * 1024, documents, matches


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("hits", [False, True])
def test_flat_in_the_shard_and_in_the_hits(tmp_path: Path, hits: bool) -> None:
    texts = (
        make_documents(make_benchmark(), 1, 400) if hits else [f"{i} {make_text(i, 300)[:1500]}" for i in range(400)]
    )
    block = as_jsonl([text + " " + "filler words that no problem has " * 150 for text in texts])
    found = []
    for times in (3, 60):
        path = tmp_path / f"{times}.jsonl.gz"
        with gzip.open(path, "wb", 1) as file:
            for _ in range(times):
                file.write(block)
        found.append(peak(tmp_path, path))
    (small, few, _), (large, many, matches) = found
    assert many == 20 * few
    assert (matches > 20_000) == hits
    assert large < small + 24 * MB, f"{small / MB:.0f} MB grew to {large / MB:.0f} MB"
    assert large < 96 * MB


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("kind", ["line", "token", "words", "turkish", "fields"])
def test_bounded_by_the_longest_line(tmp_path: Path, kind: str) -> None:
    size = 64 * MB
    path = tmp_path / "long.jsonl"
    if kind == "line":
        text = make_text(5, 200_000)
        path.write_bytes(b'{"text": "' + (text.replace("\\", "\\\\").encode() * (size // len(text))) + b'"}\n')
    elif kind == "token":
        path.write_bytes(as_jsonl(["x" * (5 * MB), "a " + "y" * (size - 10) + " b"]))
    elif kind == "fields":
        path.write_bytes(b'{"text": "word", "more": [' + b'{"a": [1, {"b": null}]}, ' * (size // 25) + b"0]}\n")
    elif kind == "turkish":  # with a match behind letters that change their length
        path.write_bytes(
            as_jsonl(["İstanbul güzel bir şehir " * (size // 28) + make_documents(make_benchmark(), 2, 1)[0]])
        )
    else:
        path.write_bytes(b'{"text": "word"}\n' * 200_000)
    grown, documents, _ = peak(tmp_path, path)
    assert documents == {"line": 1, "token": 2, "words": 200_000, "turkish": 1, "fields": 1}[kind]
    times = 5 if kind == "turkish" else 4
    bound = 96 * MB if kind == "words" else times * path.stat().st_size + 64 * MB
    assert grown < bound, f"{grown / MB:.0f} MB"

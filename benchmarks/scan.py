"""Speed and memory of the scan, as ratios measured in one run.

    python benchmarks/scan.py [--corpus 'GLOB' --text-field F] [--benchmark FILE] [--quick] [--json FILE]

Without --corpus it makes text of its own, which is easier than real text. The floor is the plainest read: a zstd
stream, split into lines, `orjson.loads`, the text taken. The oracle is the definition in plain Python: normalise, form
every n-gram, look it up in a dict. Times are CPU time of this process, the best of several runs; throughput counts
bytes of JSON. Memory is the peak of a process of its own, over what it held before.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numba
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

import wmbxl
from wmbxl.streams import zstd
from wmbxl.text import ngrams

NS = (8, 10, 12, 13, 15)
MB = 1e6


def best(body: Callable[[], object], times: int) -> float:
    """Return the CPU seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        began = time.process_time()
        body()
        seconds.append(time.process_time() - began)
    return min(seconds)


def make_text(chooser: random.Random, words: int) -> str:
    vocabulary = [f"w{i}" for i in range(3000)]
    return " ".join(
        f"\\mathbf{{{word}}}" if chooser.random() < 0.1 else word for word in chooser.choices(vocabulary, k=words)
    )


def made(folder: Path, documents: int, problems: int) -> tuple[list[bytes], wmbxl.Benchmark]:
    """Return JSON lines of made text, some of which hold a problem, and the benchmark."""
    chooser = random.Random(0)
    surfaces = {f"p{i}": make_text(chooser, 60) for i in range(problems)}
    lines = []
    for i in range(documents):
        text = make_text(chooser, 1500) + (" " + chooser.choice(list(surfaces.values())) if i % 20 == 0 else "")
        lines.append(orjson.dumps({"text": text, "id": i}))
    return lines, wmbxl.Benchmark.from_surfaces(surfaces)


def floor(path: Path) -> int:
    """Read the way that nobody can beat without leaving Python's strings out."""
    total = 0
    with zstd.open(path, "rb") as file:
        for line in file:
            total += len(orjson.loads(line)["text"])
    return total


def oracle(path: Path, benchmark: wmbxl.Benchmark, n: int) -> int:
    """Count windows that the benchmark has, in plain Python."""
    normaliser = wmbxl.Normaliser()
    owned = {gram for p in benchmark.problems for gram in ngrams(normaliser.tokens(p.surfaces["prompt"]), n)}
    hits = 0
    with zstd.open(path, "rb") as file:
        for line in file:
            hits += sum(gram in owned for gram in ngrams(normaliser.tokens(orjson.loads(line)["text"]), n))
    return hits


def scan(path: Path, index: wmbxl.ProbeIndex) -> wmbxl.Tally:
    """Scan a file whole, with evidence."""
    return wmbxl.Tally.sum(wmbxl.scan_shard(shard, index) for shard in wmbxl.Corpus("c", str(path)).shards(1 << 40))


def store(folder: Path, lines: list[bytes]) -> dict[str, Path]:
    """Write the same records in several formats."""
    data = b"\n".join(lines) + b"\n"
    paths = {name: folder / f"corpus.{name}" for name in ("jsonl", "jsonl.zst", "parquet")}
    paths["jsonl"].write_bytes(data)
    paths["jsonl.zst"].write_bytes(zstd.compress(data, 3))
    texts = [orjson.loads(line)["text"] for line in lines]
    pq.write_table(pa.table({"text": texts}), paths["parquet"], compression="zstd", row_group_size=500)
    return paths


def speed(paths: dict[str, Path], benchmark: wmbxl.Benchmark, size: int, times: int) -> dict[str, float]:
    """Return throughputs in MB of JSON a second, and their ratios."""
    one, five = wmbxl.ProbeIndex.build(benchmark, [13]), wmbxl.ProbeIndex.build(benchmark, NS)
    packed = paths["jsonl.zst"]
    hits = scan(packed, one).occurrences  # compiles
    if hits != oracle(packed, benchmark, 13):
        raise AssertionError(f"the scan found {hits} windows, the oracle {oracle(packed, benchmark, 13)}")
    found = {
        "floor MB/s": size / MB / best(lambda: floor(packed), times),
        "oracle MB/s": size / MB / best(lambda: oracle(packed, benchmark, 13), 1),
        "scan n=13 MB/s": size / MB / best(lambda: scan(packed, one), times),
        "scan five n MB/s": size / MB / best(lambda: scan(packed, five), times),
        "scan plain jsonl MB/s": size / MB / best(lambda: scan(paths["jsonl"], one), times),
        "scan parquet MB/s": size / MB / best(lambda: scan(paths["parquet"], one), times),
        "parquet column MB/s": size
        / MB
        / best(lambda: pq.read_table(paths["parquet"], columns=["text"], use_threads=False), times),
        "index bytes per n-gram, five n": five.nbytes / five.size,
    }
    found["scan ÷ floor"] = found["scan n=13 MB/s"] / found["floor MB/s"]
    found["scan ÷ oracle"] = found["scan n=13 MB/s"] / found["oracle MB/s"]
    found["five n ÷ one n, time"] = found["scan n=13 MB/s"] / found["scan five n MB/s"]
    found["scan parquet ÷ column"] = found["scan parquet MB/s"] / found["parquet column MB/s"]
    return found


_PEAK = """
import sys, time
def peak():  # getrusage would count the parent's memory too
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
began = time.perf_counter()
import wmbxl
index = wmbxl.ProbeIndex.build(wmbxl.Benchmark.from_surfaces({"p": "a b c d e f g h i j k l m n o p"}), [13])
wmbxl.scan_shard(wmbxl.Corpus("c", sys.argv[1]).shards()[0], index)
first = time.perf_counter() - began
before = peak()
wmbxl.scan_shard(wmbxl.Corpus("c", sys.argv[2]).shards(1 << 40)[0], index)
print(first, peak() - before)
"""


def memory(folder: Path, lines: list[bytes], line_mb: int) -> dict[str, float]:
    """Return what a scan adds to a process's peak, in MB, and the seconds from import to the first result."""
    small, once, often, long = (folder / f"{name}.jsonl" for name in ("small", "once", "often", "long"))
    block = b"\n".join(lines[:500]) + b"\n"
    small.write_bytes(lines[0] + b"\n")
    once.write_bytes(block)
    often.write_bytes(block * 20)
    long.write_bytes(b'{"text": "' + b"one word and the next \\\\alpha " * (line_mb * 1_000_000 // 30) + b'"}\n')
    peaks = {}
    for name, path in (("corpus ×1", once), ("corpus ×20", often), ("long line", long)):
        out = subprocess.run([sys.executable, "-c", _PEAK, str(small), str(path)], capture_output=True, check=True)
        first, grown = map(float, out.stdout.split())
        peaks[f"peak MB, {name} ({path.stat().st_size / MB:.0f} MB)"] = grown * 1024 / MB
    return {**peaks, "seconds from import to first result": first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="JSONL shards of real text, any compression")
    parser.add_argument("--text-field", default="text")
    parser.add_argument("--benchmark", help="problems, as for wmbxl audit")
    parser.add_argument("--quick", action="store_true", help="tiny, for tests")
    parser.add_argument("--json", help="write the figures here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, benchmark = made(folder, 60 if given.quick else 3000, 20 if given.quick else 2000)
        if given.benchmark:
            benchmark = wmbxl.read_benchmark(given.benchmark)
        if given.corpus:
            bag = wmbxl.Corpus("c", given.corpus, text_field=given.text_field).to_bag()
            lines = bag.map(lambda row: orjson.dumps({"text": row["text"]})).compute(scheduler="sync")
        size = sum(map(len, lines)) + len(lines)
        figures = {
            **speed(store(folder, lines), benchmark, size, 1 if given.quick else 5),
            **memory(folder, lines, 2 if given.quick else 200),
        }
    machine = {"machine": platform.machine(), "python": platform.python_version(), "numba": numba.__version__}
    print(", ".join(f"{key} {value}" for key, value in machine.items()), f"- {size / MB:.1f} MB of JSON")
    for key, value in figures.items():
        print(f"{key:>42}  {value:10.2f}")
    if given.json:
        Path(given.json).write_text(json.dumps({**machine, "bytes": size, **figures}, indent=2))


if __name__ == "__main__":
    main()

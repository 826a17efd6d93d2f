"""Throughput of one core: floor, kernel, formats, and n.

The floor is the plainest read: a zstd stream, split into lines, `orjson.loads`, the text taken. The oracle is the
definition in plain Python: normalise, form every n-gram, look it up in a set. Throughput counts bytes of JSON.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq

import wmbxl
from benchmarks.figures import MB, Figure, at_least, at_most, by_turns
from benchmarks.inputs import Inputs, scan
from wmbxl import kernels
from wmbxl.batches import Account, Batch
from wmbxl.readers import read
from wmbxl.scan import MATCHES_HELD
from wmbxl.streams import zstd
from wmbxl.text import ngrams

NS = (8, 10, 12, 13, 15)
FORMATS = ("jsonl", "jsonl.gz", "jsonl.xz", "jsonl.zst", "parquet")


def floor(path: Path) -> int:
    """Read the way that nobody can beat without leaving Python's strings out."""
    total = 0
    with zstd.open(path, "rb") as file:
        for line in file:
            total += len(orjson.loads(line)["text"])
    return total


def column(path: Path) -> object:
    return pq.read_table(path, columns=["text"], use_threads=False)


def oracle(path: Path, benchmark: wmbxl.Benchmark, n: int) -> int:
    """Count windows that the benchmark has, in plain Python."""
    normaliser = wmbxl.Normaliser()
    owned = {
        gram for p in benchmark.problems for text in p.surfaces.values() for gram in ngrams(normaliser.tokens(text), n)
    }
    hits = 0
    with zstd.open(path, "rb") as file:
        for line in file:
            hits += sum(gram in owned for gram in ngrams(normaliser.tokens(orjson.loads(line)["text"]), n))
    return hits


def batches(path: Path) -> list[Batch]:
    (shard,) = wmbxl.Corpus("c", str(path)).shards(1 << 40)
    return list(read(shard, Account()))


def kernel(held: list[Batch], index: wmbxl.ProbeIndex) -> int:
    """Find matches in documents that are in memory already, and count nothing."""
    tables, scratch = index.tables(), kernels.new_scratch()
    found, totals = np.empty((MATCHES_HELD, 4), dtype=np.int64), np.zeros(2, dtype=np.int64)
    hits = 0
    for batch in held:
        state = kernels.new_state()
        while state[kernels.DOC] < len(batch):
            hits += kernels.find_matches(batch.data, batch.offsets, tables, state, scratch, totals, found)
    return hits


def measure(inputs: Inputs) -> list[Figure]:
    paths = {suffix: inputs.store(suffix) for suffix in FORMATS}
    packed = paths["jsonl.zst"]
    indexes = {n: wmbxl.ProbeIndex.build(inputs.benchmark, [n]) for n in NS}
    five = wmbxl.ProbeIndex.build(inputs.benchmark, NS)
    hits, expected = scan(packed, indexes[13]).occurrences, oracle(packed, inputs.benchmark, 13)
    if hits != expected:
        raise AssertionError(f"the scan found {hits} windows, the oracle {expected}")
    held = batches(packed)
    # What is compared stands side by side.
    times = by_turns(
        {
            "kernel alone": lambda: kernel(held, indexes[13]),
            **{f"scan, {suffix}": lambda path=path: scan(path, indexes[13]) for suffix, path in paths.items()},
            "parquet's column": lambda: column(paths["parquet"]),
            "floor": lambda: floor(packed),
            **{f"scan, n = {n}": lambda index=index: scan(packed, index) for n, index in reversed(indexes.items())},
            "scan, five n": lambda: scan(packed, five),
        },
        inputs.rounds,
    )
    slow = by_turns({"oracle": lambda: oracle(packed, inputs.benchmark, 13)}, 1).fastest("oracle")
    fastest = {name: times.fastest(name) for name in times.seconds} | {"oracle": slow}
    return [
        *(Figure(name, inputs.size / MB / spent, "MB/s") for name, spent in fastest.items()),
        Figure("scan ÷ floor", times.ratio("floor", "scan, n = 13"), "", at_least(0.7, 1.0)),
        Figure(
            "scan of Parquet ÷ its column", times.ratio("parquet's column", "scan, parquet"), "", at_least(0.5, 0.8)
        ),
        Figure("five n ÷ one n, time", times.ratio("scan, five n", "scan, n = 13"), "", at_most(1.3, 1.1)),
        Figure(
            "five n ÷ five scans of one n, time", fastest["scan, five n"] / sum(fastest[f"scan, n = {n}"] for n in NS)
        ),
        Figure("scan ÷ oracle", slow / times.typical("scan, n = 13"), "", at_least(20, 35)),
    ]

"""Whole audits with one worker and with two: wall time from the call to the tables, the cluster's start included.

Files are as large as corpora have them, some 60 MB, and take 6 GB or so of the temporary folder. Wall time needs an
idle machine with two cores; audits take turns, and the faster of two counts. Before each audit, two processes that only
scan some of the files, without Dask, tell how much two cores of this machine give at that time: they share caches and
memory, perhaps with other machines. The CPU time of all processes tells whether a second worker adds work.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import wmbxl
from benchmarks.figures import MB, Figure, at_least, by_turns
from benchmarks.inputs import Inputs, scan

N = 13
TURNS = (1, 2, 2, 1)  # workers of the audits
SECONDS = 32  # of scanning each corpus, for one worker; the processes that only scan take a quarter of its files
CORPORA = 2  # over the same files, which then fit in the system's cache; the start of a cluster is a small part
FILE_BYTES = 60_000_000


def stored(inputs: Inputs, files: int, copies: int) -> Path:
    """Return a folder of so many files, each of so many copies of the text."""
    folder = inputs.folder / f"{files}-files"
    if not folder.exists():
        folder.mkdir()
        packed = inputs.store("jsonl.zst").read_bytes() * copies  # a file may hold several zstd frames
        for i in range(files):
            # A link to one file would count once.
            (folder / f"{i:05}.jsonl.zst").write_bytes(packed)
        os.sync()  # or the disk writes while audits are timed
    return folder


def audited(inputs: Inputs, folder: Path, workers: int) -> tuple[float, float]:
    """Return the seconds, wall and CPU, of an audit."""
    out = inputs.folder / f"audit-{time.monotonic_ns()}"
    began, used = time.perf_counter(), _cpu()
    corpora = [wmbxl.Corpus(f"c{i}", str(folder)) for i in range(CORPORA)]
    wmbxl.audit(inputs.benchmark, corpora, str(out), ns=[N], workers=workers)
    return time.perf_counter() - began, _cpu() - used


def _scan_each(paths: Sequence[Path], index: bytes) -> float:
    """Return how many files a second this process scans."""
    opened = wmbxl.ProbeIndex.from_bytes(index)
    began = time.perf_counter()
    for path in paths:
        scan(path, opened)
    return len(paths) / (time.perf_counter() - began)


def two_processes(pool: ProcessPoolExecutor, paths: Sequence[Path], index: bytes) -> float:
    """Return how many files a second two processes scan, over how many one does."""
    (one,) = pool.map(_scan_each, [paths], [index])
    return sum(pool.map(_scan_each, [paths, paths[::-1]], [index] * 2)) / one


def _cpu() -> float:
    """Return the CPU seconds of this process and of those that it has started and ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def measure(inputs: Inputs) -> list[Figure]:
    index = wmbxl.ProbeIndex.build(inputs.benchmark, [N])
    packed = inputs.store("jsonl.zst")
    scan(packed, index)  # compiles
    seconds = by_turns({"scan": lambda: scan(packed, index)}, inputs.rounds).fastest("scan")
    copies = 1 if inputs.quick else max(1, FILE_BYTES // packed.stat().st_size)
    files = 2 if inputs.quick else math.ceil(SECONDS / seconds / copies)
    folder = stored(inputs, files, copies)
    paths, packed_index = sorted(folder.iterdir())[: math.ceil(files / 4)], index.to_bytes()
    small, _ = audited(inputs, stored(inputs, 1, copies), 1)
    plain: list[float] = []
    audits: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_scan_each, [paths[:1]] * 2, [packed_index] * 2))  # both processes have compiled
        for workers in TURNS:
            plain.append(two_processes(pool, paths, packed_index))
            audits[workers].append(audited(inputs, folder, workers))
    (one, one_cpu), (two, two_cpu) = (min(audits[workers]) for workers in (1, 2))
    size = inputs.size * copies * files * CORPORA / MB
    return [
        Figure("two processes ÷ one, scan alone, lowest", min(plain)),
        Figure("two processes ÷ one, scan alone, highest", max(plain)),
        Figure(f"small audit ({inputs.size * copies * CORPORA / MB:,.0f} MB), one worker", small, "s"),
        Figure(f"large audit ({size:,.0f} MB), one worker", one, "s"),
        Figure(f"large audit ({size:,.0f} MB), two workers", two, "s"),
        Figure("two workers", size / two, "MB/s"),
        Figure("two workers ÷ one, CPU of all processes", two_cpu / one_cpu),
        Figure("two workers ÷ one, whole audit", one / two, "", at_least(1.8, 1.95)),
        Figure("of what two processes reach that only scan", one / two / statistics.median(plain)),
    ]

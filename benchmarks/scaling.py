"""Whole audits with one worker and with two: wall time from the call to the tables, the cluster's start included."""

from __future__ import annotations

import math
import time

import wmbxl
from benchmarks.figures import MB, Figure, at_least
from benchmarks.inputs import Inputs, scan

N = 13
SECONDS = 60  # of scanning, for one worker; the start of a cluster is then a small part


def audited(inputs: Inputs, copies: int, workers: int) -> float:
    """Return the seconds of an audit of so many copies of the corpus."""
    folder = inputs.folder / f"{copies}-copies"
    if not folder.exists():
        folder.mkdir()
        packed = inputs.store("jsonl.zst").read_bytes()
        for i in range(copies):
            # A file may hold several zstd frames, and a link to one file would count once.
            (folder / f"{i:05}.jsonl.zst").write_bytes(packed)
    out = inputs.folder / f"audit-{copies}-{workers}-{time.monotonic_ns()}"
    began = time.perf_counter()
    wmbxl.audit(inputs.benchmark, [wmbxl.Corpus("c", str(folder))], str(out), ns=[N], workers=workers)
    return time.perf_counter() - began


def measure(inputs: Inputs) -> list[Figure]:
    index = wmbxl.ProbeIndex.build(inputs.benchmark, [N])
    packed = inputs.store("jsonl.zst")
    scan(packed, index)  # compiles
    began = time.perf_counter()
    scan(packed, index)
    copies = 2 if inputs.quick else math.ceil(SECONDS / (time.perf_counter() - began))
    start = audited(inputs, 1, 1)
    one, two = audited(inputs, copies, 1), audited(inputs, copies, 2)
    size = inputs.size * copies / MB
    return [
        Figure("audit of one copy, one worker", start, "s"),
        Figure(f"audit of {size:,.0f} MB, one worker", one, "s"),
        Figure(f"audit of {size:,.0f} MB, two workers", two, "s"),
        Figure("two workers", size / two, "MB/s"),
        Figure("two workers ÷ one, whole audit", one / two, "", at_least(1.8, 1.95)),
    ]

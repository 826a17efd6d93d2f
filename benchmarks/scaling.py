"""Whole audits with one worker and with two: wall time from the call to the tables, the cluster's start included.

Wall time needs an idle machine with two cores. On a busy one the CPU time of all processes still tells whether a
second worker adds work. The copies of the corpus take up to a few GB of the temporary folder.
"""

from __future__ import annotations

import math
import resource
import time

import wmbxl
from benchmarks.figures import MB, Figure, at_least, fastest
from benchmarks.inputs import Inputs, scan

N = 13
SECONDS = 60  # of scanning, for one worker; the start of a cluster is then a small part


def audited(inputs: Inputs, copies: int, workers: int) -> tuple[float, float]:
    """Return the seconds, wall and CPU, of an audit of so many copies of the corpus."""
    folder = inputs.folder / f"{copies}-copies"
    if not folder.exists():
        folder.mkdir()
        packed = inputs.store("jsonl.zst").read_bytes()
        for i in range(copies):
            # A file may hold several zstd frames, and a link to one file would count once.
            (folder / f"{i:05}.jsonl.zst").write_bytes(packed)
    out = inputs.folder / f"audit-{copies}-{workers}-{time.monotonic_ns()}"
    began, used = time.perf_counter(), _cpu()
    wmbxl.audit(inputs.benchmark, [wmbxl.Corpus("c", str(folder))], str(out), ns=[N], workers=workers)
    return time.perf_counter() - began, _cpu() - used


def _cpu() -> float:
    """Return the CPU seconds of this process and of those that it has started and ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def measure(inputs: Inputs) -> list[Figure]:
    index = wmbxl.ProbeIndex.build(inputs.benchmark, [N])
    packed = inputs.store("jsonl.zst")
    scan(packed, index)  # compiles
    seconds = fastest({"scan": lambda: scan(packed, index)}, inputs.rounds)["scan"]
    copies = 2 if inputs.quick else math.ceil(SECONDS / seconds)
    start, _ = audited(inputs, 1, 1)
    (one, one_cpu), (two, two_cpu) = audited(inputs, copies, 1), audited(inputs, copies, 2)
    size = inputs.size * copies / MB
    return [
        Figure("audit of one copy, one worker", start, "s"),
        Figure(f"audit of {size:,.0f} MB, one worker", one, "s"),
        Figure(f"audit of {size:,.0f} MB, two workers", two, "s"),
        Figure("two workers", size / two, "MB/s"),
        Figure("two workers ÷ one, CPU of all processes", two_cpu / one_cpu),
        Figure("two workers ÷ one, whole audit", one / two, "", at_least(1.8, 1.95)),
    ]

"""Peak memory of a process that scans, and the time to a first result; each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.figures import MB, Figure, at_most
from benchmarks.inputs import Inputs, write

ROOT = Path(__file__).parents[1]

# Imports nothing of the benchmarks, so that the clock starts before wmbxl is imported.
_CHILD = """
import json, sys, time
began = time.perf_counter()
import wmbxl
if sys.argv[1] == "kernels":
    from wmbxl import tiers
    for tier in tiers.ALL:
        tier.bytes_left = 0  # the kernels that a long run compiles are compiled at once
index = wmbxl.ProbeIndex.build(wmbxl.Benchmark.from_surfaces({"p": "a b c d e f g h i j k l m n o p"}), [13])
wmbxl.scan_shard(wmbxl.Corpus("c", sys.argv[2]).shards()[0], index)
first = time.perf_counter() - began
used = time.process_time()
def peak():  # getrusage would count the parent's memory too
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
before = peak()
if len(sys.argv) > 3:
    problems = wmbxl.Benchmark.from_surfaces(json.load(open(sys.argv[4])))
    index = wmbxl.ProbeIndex.build(problems, [13])
    before = peak()
    (shard,) = wmbxl.Corpus("c", sys.argv[3]).shards(1 << 40)
    assert not wmbxl.scan_shard(shard, index).unread_bytes
print(json.dumps({"first": first, "cpu": used, "before": before, "peak": peak()}))
"""


def child(kernels: Path, begin: str, *paths: Path) -> dict[str, float]:
    """Run the child; `begin` says whether with ``kernels`` or, as a process does, with ``python``."""
    command = [sys.executable, "-c", _CHILD, begin, *map(str, paths)]
    known = {**os.environ, "WMBXL_KERNELS": str(kernels)}
    return json.loads(subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=known).stdout)


def memory(inputs: Inputs) -> list[Figure]:
    """Compare a corpus, the same 20 times, and one long line."""
    small = write(inputs.folder / "small.jsonl", inputs.texts[:1])
    surfaces = inputs.folder / "surfaces.json"
    problems = inputs.benchmark.problems
    surfaces.write_text(json.dumps({p.id: next(iter(p.surfaces.values())) for p in problems}))
    once, often, long = (inputs.folder / f"{name}.jsonl" for name in ("once", "often", "long"))
    block = b"".join(inputs.lines)
    once.write_bytes(block)
    with often.open("wb") as file:
        for _ in range(20):
            file.write(block)
    length = 20_000 if inputs.quick else 200_000_000
    phrase = b"one word and the next \\\\alpha "
    long.write_bytes(b'{"text": "' + phrase * (length // len(phrase)) + b'"}\n')
    found = {
        path.stem: child(inputs.folder / "none" / path.stem, "kernels", small, path, surfaces)
        for path in (once, often, long)
    }
    added = {name: peaks["peak"] - peaks["before"] for name, peaks in found.items()}
    size = long.stat().st_size
    for path in (once, often, long):
        path.unlink()
    return [
        Figure("worker before the scan", found["once"]["before"] / MB, "MB"),
        Figure(f"peak on the corpus ({len(block) / MB:.0f} MB)", found["once"]["peak"] / MB, "MB"),
        Figure("peak on the corpus × 20", found["often"]["peak"] / MB, "MB"),
        Figure("corpus × 20 ÷ corpus, peak", found["often"]["peak"] / found["once"]["peak"], "", at_most(1.1, 1.05)),
        Figure(f"a line of {size / MB:.0f} MB adds", added["long"] / MB, "MB"),
        Figure("what a long line adds ÷ its length", added["long"] / size, "", at_most(4, 3)),
    ]


def first_result(inputs: Inputs) -> list[Figure]:
    """Import, index, scan one document; the same with kernels, and when an earlier process has compiled them."""
    small = write(inputs.folder / "small.jsonl", inputs.texts[:1])
    rounds = range(1 if inputs.quick else 3)
    fresh = [child(inputs.folder / "none", "python", small) for _ in rounds]
    compiling = [child(inputs.folder / f"kernels-{i}", "kernels", small) for i in rounds]
    later = [child(inputs.folder / "kernels-0", "python", small) for _ in rounds]
    return [
        Figure("import to first result", min(run["first"] for run in fresh), "s", at_most(4, 2)),
        Figure("the same, CPU", min(run["cpu"] for run in fresh), "s"),
        Figure("the same with all kernels, compiled first", min(run["first"] for run in compiling), "s"),
        Figure("import to first result in a later process", min(run["first"] for run in later), "s", at_most(4, 2)),
    ]


def measure(inputs: Inputs) -> list[Figure]:
    return [*memory(inputs), *first_result(inputs)]

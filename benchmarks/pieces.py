"""A corpus of very many tiny files: what a piece costs the driver and the scheduler. Also of objects in a store.

python -m benchmarks pieces
python -m benchmarks.objects

The driver is the process that calls the audit. Here the scheduler runs in a process of its own, so that the two can be
told apart; on a local cluster they share one.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import psutil
from distributed import Client

import wmbxl
from benchmarks.figures import MB, Figure, at_most, peak_of
from benchmarks.inputs import Inputs, made_text
from wmbxl.corpus import BLOCK_SIZE
from wmbxl.plan import plan

ROOT = Path(__file__).parents[1]
COUNTS = (1_000, 10_000, 100_000)


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python module meanwhile."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT, env=_environment(), **quiet)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _environment() -> dict[str, str]:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def fill(folder: Path, count: int) -> None:
    """Write so many files of one document."""
    for i in range(count):
        group = folder / f"{i // 1000:04}"
        if i % 1000 == 0:
            group.mkdir(parents=True)
        (group / f"{i:07}.jsonl").write_bytes(orjson.dumps({"text": f"document number {i} says little"}) + b"\n")


def drive(folder: str, out: str, scheduler: str, options: dict[str, str]) -> dict[str, float]:
    """Audit a folder on a cluster that is there; return what it cost this process."""
    corpus = wmbxl.Corpus("c", folder, storage_options=options)
    benchmark = wmbxl.Benchmark.from_surfaces({f"p{i}": made_text(random.Random(i), 40) for i in range(100)})
    with Client(scheduler_file=scheduler) as client:
        client.wait_for_workers(2)
        before, began, used = peak_of(), time.perf_counter(), time.process_time()
        files = len(corpus.listing.shards)
        listed, used_listing = time.perf_counter(), time.process_time()
        tasks = len(plan(corpus, BLOCK_SIZE, "", 0))
        planned = time.perf_counter()
        done = wmbxl.audit(benchmark, [corpus], out, client=client, storage_options=options)
        assert done.info["corpora"][0]["documents"] == files
        return {
            "listing": listed - began, "listing_cpu": used_listing - used, "planning": planned - listed,
            "tasks": tasks, "cpu": time.process_time() - used, "wall": time.perf_counter() - began, "before": before,
            "peak": peak_of(),
        }  # fmt: skip


def audited(folder: Path, count: int) -> dict[str, float]:
    """Audit so many tiny files; return seconds and bytes of the driver, and of the scheduler."""
    corpus, out = folder / f"tiny-{count}", folder / f"tiny-audit-{count}"
    fill(corpus, count)
    found = cost(folder, str(corpus), str(out), {})
    shutil.rmtree(corpus)
    shutil.rmtree(out)
    return found


def cost(folder: Path, corpus: str, out: str, options: dict[str, str]) -> dict[str, float]:
    """Audit a corpus, with driver, scheduler and two workers in processes of their own; return what it cost."""
    address = folder / "scheduler.json"
    local = ("--scheduler-file", str(address))
    workers = ("dask", "worker", *local, "--nworkers", "2", "--nthreads", "1", "--no-dashboard")
    with (
        running("dask", "scheduler", *local, "--port", "0", "--no-dashboard") as scheduler,
        running(*workers) as started,
    ):
        while not address.exists():
            time.sleep(0.1)
        watched = psutil.Process(scheduler.pid)
        used, before = sum(watched.cpu_times()[:2]), peak_of(scheduler.pid)
        command = [sys.executable, "-m", "benchmarks.pieces", corpus, out, str(address), json.dumps(options)]
        done = subprocess.run(command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        used = sum(watched.cpu_times()[:2]) - used
        peaks = {
            "scheduler_cpu": used, "scheduler_before": before, "scheduler_peak": peak_of(scheduler.pid),
            "workers_cpu": sum(sum(child.cpu_times()[:2]) for child in psutil.Process(started.pid).children(True)),
        }  # fmt: skip
    address.unlink(missing_ok=True)
    return {**found, **peaks}


def measure(inputs: Inputs, counts: Sequence[int] = COUNTS) -> list[Figure]:
    counts = (20,) if inputs.quick else counts
    found = {count: audited(inputs.folder, count) for count in counts}
    figures = []
    for count, cost in found.items():
        last = count == counts[-1]
        figures += [
            Figure(f"{count:,} pieces, driver's CPU per piece", 1000 * cost["cpu"] / count, "ms",
                   at_most(1, 0.5) if last else None),
            Figure(f"{count:,} pieces, scheduler's CPU per piece", 1000 * cost["scheduler_cpu"] / count, "ms"),
            Figure(f"{count:,} pieces, wall per piece", 1000 * cost["wall"] / count, "ms"),
            Figure(f"{count:,} pieces, driver's peak", cost["peak"] / MB, "MB"),
            Figure(f"{count:,} pieces, scheduler's peak", cost["scheduler_peak"] / MB, "MB"),
        ]  # fmt: skip
    if len(counts) > 1:
        (few, least), *_, (many, most) = found.items()
        for name, key in (("driver's", "peak"), ("scheduler's", "scheduler_peak")):
            figures.append(Figure(f"{name} peak, growth per piece", (most[key] - least[key]) / (many - few), "B"))
    return figures


if __name__ == "__main__":
    print(json.dumps(drive(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))))

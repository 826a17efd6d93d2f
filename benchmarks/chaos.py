"""One audit on an S3 server under chaos: workers killed, their jobs cancelled, the store down, connections reset.

python -m benchmarks.chaos [--kills 20] [--scancels 5] [--outages 10] [--resets 100] [--quick] [--json FILE]

The workers are jobs on a Slurm of three nodes on this machine; with --scancels 0 they are processes. The tables have to
be the same as without chaos, no shard may be lost or count twice, and no more may be done again than was under way.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dask
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from distributed import Client

import wmbxl
from benchmarks.figures import Figure, Target, at_least, at_most, clean_up_when_terminated, json_file
from tests.clusters import slurm
from tests.s3 import Faults, Proxy, Server, missing, served
from tests.support import TABLES, make_benchmark, write_corpus
from wmbxl import clusters
from wmbxl.watch import Watch

NS = (5, 13)
DOCUMENTS = 20  # of a shard
BLOCK_SIZE = 4096  # less than two shards have, so that each is a task
WORKERS = 3
OUTAGE = 1.0  # seconds
BURST = 10  # connections reset at a time
LATENCY = 0.02  # seconds before each request goes on
KINDS = ("kills", "scancels", "outages", "resets")


class Counting(Watch):
    """Also counts what is done again."""

    scanned = 0  # documents, by all who scanned them
    taken_up = 0  # results that were lost, but for their checkpoints

    def take(self, event: Mapping[str, Any]) -> None:
        if event["kind"] == "batch":
            self.scanned += event["documents"]
        self.taken_up += event["kind"] == "task" and event["resumed"]
        super().take(event)


class Chaos(threading.Thread):
    """Deals out a number of each fault in a random order, spread over the pieces as they get done."""

    def __init__(self, client: Client, proxy: Proxy, given: argparse.Namespace, watch: Watch, pieces: int) -> None:
        super().__init__(daemon=True)
        self.client, self.proxy, self.watch = client, proxy, watch
        self.left = {kind: getattr(given, kind) for kind in KINDS}
        rounds = sum(self.left.values()) - self.left["resets"] + -(-self.left["resets"] // BURST)
        self.step = 0.8 * pieces / max(1, rounds)  # a worker that is killed before it has done anything shows nothing
        self.dealt = dict.fromkeys(KINDS, 0)
        self.over = threading.Event()
        self.end = time.monotonic() + given.minutes * 60
        self.rounds = 0

    def run(self) -> None:
        chooser = random.Random(0)
        while any(self.left.values()) and self._wait(lambda: self.watch.pieces_done >= self.rounds * self.step):
            self.rounds += 1
            kind = chooser.choice([kind for kind, left in self.left.items() if left])
            done = getattr(self, kind)(chooser)
            self.dealt[kind] += done
            self.left[kind] -= min(self.left[kind], done)
        self.proxy.faults = Faults()

    def _wait(self, ready: Callable[[], object], seconds: float = float("inf")) -> bool:
        """Wait until something is so; False if the audit or the time is over before."""
        end = min(self.end, time.monotonic() + seconds)
        while not ready():
            if self.over.wait(0.05) or time.monotonic() > end:
                return False
        return True

    def kills(self, chooser: random.Random) -> int:
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"])
        try:
            (process,) = self.client.run(os.getpid, workers=[chooser.choice(workers)]).values()
            os.kill(process, signal.SIGKILL)
        except (IndexError, OSError):  # there is none, or it is going away
            return 0
        return 1

    def scancels(self, chooser: random.Random) -> int:
        jobs = subprocess.check_output(["squeue", "-h", "-t", "RUNNING", "-o", "%A"], text=True).split()
        if not jobs:
            return 0
        subprocess.run(["scancel", chooser.choice(jobs)], check=True)
        return 1

    def outages(self, chooser: random.Random) -> int:
        self.proxy.faults.refused = True
        self.over.wait(OUTAGE)
        self.proxy.faults.refused = False
        return 1

    def resets(self, chooser: random.Random) -> int:
        count = min(BURST, self.left["resets"])
        self.proxy.faults.resets = count
        self._wait(lambda: not self.proxy.faults.resets, 5)
        left, self.proxy.faults.resets = self.proxy.faults.resets, 0
        return count - left


@contextlib.contextmanager
def cluster(folder: Path, with_jobs: bool) -> Iterator[Client]:
    """Run workers as jobs of a Slurm, or as processes."""
    recipe: dict[str, Any] = {"kind": "local"}
    with contextlib.ExitStack() as stack:
        if with_jobs:
            (home := folder / "slurm").mkdir()
            os.environ.update(stack.enter_context(slurm.running(home)))
            recipe = {
                "kind": "slurm", "cores": 1, "memory": "1GB", "walltime": "02:00:00", "interface": "lo",
                "log_directory": str(folder / "jobs"), "local_directory": str(folder / "local"),
            }  # fmt: skip
        path = folder / "recipe.yaml"
        path.write_text(yaml.safe_dump({**recipe, "workers": WORKERS, "dashboard_address": ":0"}))
        # A task is under way in many a kill here, which is not its fault.
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 50}))
        yield stack.enter_context(clusters.started(clusters.read_recipe(str(path)), print))


def audit(client: Client, server: Server, port: int, out: str, watch: Watch) -> dict[str, pa.Table]:
    """Run the audit; return its tables, and of the ledger what doesn't depend on how the run went."""
    options = server.options(port)
    corpus = wmbxl.Corpus("c", "s3://corpora/chaos", storage_options=options)
    done = wmbxl.audit(
        make_benchmark(), [corpus], f"s3://runs/{out}", NS, client=client, block_size=BLOCK_SIZE,
        storage_options=options, watch=watch,
    )  # fmt: skip
    assert done.status == "complete", done.info["corpora"]
    client.sync(client.scheduler.identity)  # events that are under way arrive first
    objects = server.read_all(f"runs/{out}")
    tables = {name: pq.read_table(io.BytesIO(objects[name])) for name in (*TABLES, "ledger.parquet")}
    ledger = tables["ledger.parquet"].select(["shard", "start", "stop", "size", "version", "documents", "tokens"])
    return {**tables, "ledger.parquet": ledger.sort_by("shard")}


def measure(given: argparse.Namespace, folder: Path, server: Server) -> list[Figure]:
    benchmark, shards = make_benchmark(), 40 if given.quick else 300
    server.put(write_corpus(folder / "corpus", benchmark, shards=shards, documents=DOCUMENTS), "corpora/chaos")
    with cluster(folder, given.scancels > 0) as client, Proxy(server.port) as proxy:
        proxy.faults.latency = LATENCY
        began = time.monotonic()
        calm = audit(client, server, proxy.port, "calm", Watch())
        calm_seconds = time.monotonic() - began
        watch, began = Counting(), time.monotonic()
        chaos = Chaos(client, proxy, given, watch, shards)
        chaos.start()
        try:
            rough = audit(client, server, proxy.port, "rough", watch)
        finally:
            chaos.over.set()
        chaos.join()  # not when terminated: it may wait for a worker that it killed
        seconds = time.monotonic() - began
    places = rough["ledger.parquet"]["shard"].to_pylist()
    lost = chaos.dealt["kills"] + chaos.dealt["scancels"]  # each had one task under way at most
    nothing = at_most(0, 0)
    return [
        Figure("undisturbed", calm_seconds, "s"),
        Figure("under chaos", seconds, "s"),
        *(Figure(f"{kind} dealt out", count, "", _all(getattr(given, kind))) for kind, count in chaos.dealt.items()),
        Figure("tables that differ", sum(calm[name] != rough[name] for name in calm), "", nothing),
        Figure("shards lost", shards - len(set(places)), "", nothing),
        Figure("shards counted twice", len(places) - len(set(places)), "", nothing),
        Figure("shards in the progress display too many", watch.pieces_done - shards, "", nothing),
        Figure("results of lost workers taken up from checkpoints", watch.taken_up),
        Figure("documents scanned again", max(0, watch.scanned - shards * DOCUMENTS), "",
               at_most(lost * DOCUMENTS, lost * DOCUMENTS / 2)),
    ]  # fmt: skip


def _all(count: int) -> Target:
    return at_least(count, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, most in zip(KINDS, (20, 5, 10, 100), strict=True):
        parser.add_argument(f"--{name}", type=int, default=most)
    parser.add_argument("--minutes", type=float, default=30, help="no more faults after this time")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", type=json_file, help="write the figures here")
    given = parser.parse_args()
    if reason := missing():
        parser.error(reason)
    if given.scancels and (reason := slurm.missing()):
        parser.error(f"{reason}; or do without:  --scancels 0")
    clean_up_when_terminated()
    with tempfile.TemporaryDirectory() as folder:
        (home := Path(folder) / "s3").mkdir()
        with served(home) as server:
            figures = measure(given, Path(folder), server)
    for figure in figures:
        print(figure.row(judged=not given.quick))
    if given.json:
        given.json.write_text(json.dumps({"chaos": [figure.as_json() for figure in figures]}, indent=1))


if __name__ == "__main__":
    main()

"""One audit on an S3 server under chaos: workers killed, the store down, connections reset; the tables stay the same.

python -m benchmarks.chaos [--kills 20] [--outages 10] [--resets 100] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path

import dask
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

import wmbxl
from benchmarks.figures import Figure, at_most, clean_up_when_terminated
from tests.s3 import Faults, Proxy, Server, served
from tests.support import TABLES, make_benchmark, write_corpus
from wmbxl.watch import Watch

NS = (5, 13)
OUTAGE = 1.0  # seconds
BURST = 10  # connections reset at a time


class Chaos(threading.Thread):
    """Deals out a number of each fault in a random order, spread over the pieces as they get done."""

    def __init__(
        self, cluster: LocalCluster, proxy: Proxy, given: argparse.Namespace, watch: Watch, pieces: int
    ) -> None:
        super().__init__(daemon=True)
        self.cluster, self.proxy, self.watch = cluster, proxy, watch
        self.left = {"kills": given.kills, "outages": given.outages, "resets": given.resets}
        rounds = given.kills + given.outages + -(-given.resets // BURST)
        self.step = 0.8 * pieces / max(1, rounds)  # a worker that is killed before it has done anything shows nothing
        self.dealt = dict.fromkeys(self.left, 0)
        self.over = threading.Event()

    def run(self) -> None:
        chooser = random.Random(0)
        dealt = 0
        while any(self.left.values()) and not self.over.is_set():
            dealt += 1
            while self.watch.pieces_done < dealt * self.step and not self.over.is_set():
                self.over.wait(0.05)
            kind = chooser.choice([kind for kind, left in self.left.items() if left])
            self.dealt[kind] += getattr(self, kind)(chooser)
            self.left[kind] = max(0, self.left[kind] - 1)
        self.proxy.faults = Faults()

    def kills(self, chooser: random.Random) -> int:
        alive = [nanny.pid for nanny in self.cluster.workers.values() if nanny.pid]
        if not alive:
            return 0
        os.kill(chooser.choice(alive), signal.SIGKILL)
        return 1

    def outages(self, chooser: random.Random) -> int:
        self.proxy.faults.refused = True
        self.over.wait(OUTAGE)
        self.proxy.faults.refused = False
        return 1

    def resets(self, chooser: random.Random) -> int:
        count = min(BURST, self.left["resets"])
        self.left["resets"] -= count - 1
        struck = self.proxy.struck
        self.proxy.faults.resets = count
        end = time.monotonic() + 5
        while self.proxy.faults.resets and time.monotonic() < end and not self.over.is_set():
            time.sleep(0.02)
        self.proxy.faults.resets = 0
        return self.proxy.struck - struck


def audit(client: Client, server: Server, port: int, out: str, watch: Watch) -> dict[str, object]:
    """Run the audit and return its tables."""
    options = server.options(port)
    corpus = wmbxl.Corpus("c", "s3://corpora/chaos", storage_options=options)
    done = wmbxl.audit(
        make_benchmark(), [corpus], f"s3://runs/{out}", NS, client=client, storage_options=options, watch=watch
    )
    assert done.status == "complete", done.info["corpora"]
    ledger = done.ledger
    assert not ledger.duplicated(["shard", "start"]).any()
    objects = server.read_all(f"runs/{out}")
    return {"pieces": len(ledger), **{name: pq.read_table(io.BytesIO(objects[name])) for name in TABLES}}


def measure(given: argparse.Namespace, folder: Path, server: Server) -> list[Figure]:
    benchmark, shards = make_benchmark(), 20 if given.quick else 200
    server.put(write_corpus(folder / "corpus", benchmark, shards=shards, documents=20), "corpora/chaos")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
        Proxy(server.port) as proxy,
    ):
        began = time.monotonic()
        calm = audit(client, server, server.port, "calm", Watch())
        calm_seconds = time.monotonic() - began
        proxy.faults.latency = 0.02
        watch, began = Watch(), time.monotonic()
        chaos = Chaos(cluster, proxy, given, watch, shards)
        chaos.start()
        try:
            rough = audit(client, server, proxy.port, "rough", watch)
        finally:
            chaos.over.set()
            chaos.join()
        seconds = time.monotonic() - began
        client.sync(client.scheduler.identity)  # events that are under way arrive first
    differing = sum(calm[name] != rough[name] for name in calm)
    documents = shards * 20
    return [
        Figure("undisturbed", calm_seconds, "s"),
        Figure("under chaos", seconds, "s"),
        *(Figure(f"{kind} dealt out", count) for kind, count in chaos.dealt.items()),
        Figure("documents scanned more than once", watch.documents - documents),
        Figure("pieces done more than once", watch.pieces_done - shards),
        Figure("tables that differ", differing, "", at_most(0, 0)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, most in (("kills", 20), ("outages", 10), ("resets", 100)):
        parser.add_argument(f"--{name}", type=int, default=most)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    clean_up_when_terminated()
    with tempfile.TemporaryDirectory() as folder:
        (home := Path(folder) / "s3").mkdir()
        with served(home) as server:
            figures = measure(given, Path(folder), server)
    for figure in figures:
        print(figure.row())
    if given.json:
        given.json.write_text(json.dumps({"chaos": [figure.as_json() for figure in figures]}, indent=1))


if __name__ == "__main__":
    main()

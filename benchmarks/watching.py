"""What the live page costs: CPU time of the scheduler during an audit, beside that of the workers.

    python benchmarks/watching.py [--quick] [--json FILE]

The scheduler and two workers are processes of their own, so their times do not mix. Three kinds of audits take turns:
one without the page, one with the page that nobody looks at, and one with the page open. Who looks is a process that
takes every change that the scheduler sends, as a browser would; its time is not counted. The first round is not
counted either, since workers compile in it. A share is the time that the scheduler spends more than without the page,
per CPU second of the workers.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster

import wmbxl
from benchmarks.figures import json_file
from wmbxl import dashboard
from wmbxl.demo import demo_benchmark, demo_corpus

KINDS = ("no page", "unwatched", "watched")
SHARDS = 60

VIEWER = """
import sys, time
from bokeh.client import pull_session
session = pull_session(url=sys.argv[1])
print("open", flush=True)
while True:
    session.force_roundtrip()
    time.sleep(1)
"""


def make_corpus(folder: Path, copies: int) -> wmbxl.Corpus:
    """Write the demo's documents many times."""
    plain = next(Path(shard.url) for shard in demo_corpus().listing.shards if shard.url.endswith(".jsonl"))
    content = gzip.compress(plain.read_bytes())
    for number in range(SHARDS):
        (folder / f"{number:02}.jsonl.gz").write_bytes(content * copies)  # members of one gzip file
    return wmbxl.Corpus("demo", str(folder))


@contextlib.contextmanager
def without_page(*_: object) -> Iterator[tuple[str, object]]:
    """Stand in for `wmbxl.dashboard.shown`."""
    yield "", lambda outcome: None


@contextlib.contextmanager
def viewer(client: Client) -> Iterator[None]:
    """Have somebody look at the page while the block runs."""
    link = str(client.dashboard_link).replace("/status", "/wmbxl")
    with subprocess.Popen([sys.executable, "-c", VIEWER, link], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def cpu(client: Client) -> tuple[float, float]:
    """CPU seconds so far of the scheduler and of the workers."""
    return client.run_on_scheduler(time.process_time), sum(client.run(time.process_time).values())


def audited(client: Client, corpus: wmbxl.Corpus, out: str, kind: str) -> tuple[float, float]:
    """Audit once; return CPU seconds of the scheduler and of the workers."""
    with contextlib.ExitStack() as stack:
        if kind == "no page":
            stack.enter_context(mock.patch.object(dashboard, "shown", without_page))
        if kind == "watched":
            stack.enter_context(viewer(client))
        before = cpu(client)
        wmbxl.audit(demo_benchmark(), [corpus], out, (8, 13), client=client, restart=True)
        after = cpu(client)
    return after[0] - before[0], after[1] - before[1]


def measure(copies: int, rounds: int) -> dict[str, float]:
    """Return CPU seconds of each kind of audit, the medians of all rounds, and what the page costs."""
    seconds: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    with (
        tempfile.TemporaryDirectory() as folder,
        SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        (Path(folder) / "corpus").mkdir()
        corpus = make_corpus(Path(folder) / "corpus", copies)
        audited(client, corpus, f"{folder}/run", "unwatched")  # compiles, and adds the page
        for _ in range(rounds):
            for kind in KINDS:
                seconds[kind].append(audited(client, corpus, f"{folder}/run", kind))
    found = {}
    for kind in KINDS:
        found[f"{kind}, scheduler s"] = statistics.median(scheduler for scheduler, _ in seconds[kind])
        found[f"{kind}, workers s"] = statistics.median(workers for _, workers in seconds[kind])
    work = statistics.median(workers for kind in KINDS for _, workers in seconds[kind])
    for kind in KINDS[1:]:
        found[f"{kind}, share"] = (found[f"{kind}, scheduler s"] - found["no page, scheduler s"]) / work
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="little data, one round")
    parser.add_argument("--json", type=json_file, help="write the figures to a file")
    options = parser.parse_args()
    found = measure(1, 1) if options.quick else measure(60, 5)
    for name, value in found.items():
        print(f"{name:24} {value:8.2%}" if name.endswith("share") else f"{name:24} {value:8.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()

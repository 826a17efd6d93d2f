"""Scanning from an object store that is 50 ms away, whose connections are limited as those of S3 are.

python -m benchmarks.stores [--corpus FILES --benchmark PROBLEMS] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import wmbxl
from benchmarks.figures import MB, Figure, at_least, clean_up_when_terminated
from benchmarks.inputs import Inputs, add_options, from_options
from tests.s3 import Faults, Proxy, Server, served

LATENCY = 0.05  # seconds before each request goes on
SHARD = 64 << 20  # bytes of a shard in the store


def _delay(target: int, latency: float, pipe: Connection) -> None:
    with Proxy(target) as proxy:
        proxy.faults = Faults(latency=latency)
        pipe.send(proxy.port)
        pipe.recv()


@contextlib.contextmanager
def delayed(server: Server) -> Iterator[int]:
    """Give the port of a proxy that is as far away as a store; in a process of its own, as a store's is."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_delay, args=(server.port, LATENCY, there))
    process.start()
    there.close()  # so that its end is noticed here
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def shard_of(inputs: Inputs, suffix: str, size: int) -> Path:
    """Write the corpus over and over, until the file is as large as a shard."""
    once = inputs.store(suffix).read_bytes()
    path = inputs.folder / f"shard.{suffix}"
    with path.open("wb") as file:
        for _ in range(-(-size // len(once))):
            file.write(once)
    return path


def scanned(url: str, options: dict[str, object], index: wmbxl.ProbeIndex) -> tuple[float, float, int]:
    """Return seconds, seconds of CPU, and matches; a listing is not part of it."""
    (shard,) = wmbxl.Corpus("c", url, storage_options=options).shards(1 << 40)
    wall, cpu = time.perf_counter(), time.process_time()
    tally = wmbxl.scan_shard(shard, index)
    assert not tally.unread_bytes
    return time.perf_counter() - wall, time.process_time() - cpu, tally.occurrences


def latency(inputs: Inputs, server: Server) -> Iterator[Figure]:
    """Compare the store with the local disk, by turns, each at its fastest."""
    index = wmbxl.ProbeIndex.build(inputs.benchmark, [13])
    for suffix in ("jsonl.zst", "jsonl.gz", "jsonl"):
        path = shard_of(inputs, suffix, SHARD >> 10 if inputs.quick else SHARD)
        server.upload(path, f"corpora/{path.name}")
        size = path.stat().st_size / MB
        with delayed(server) as port:
            here, there = [], []
            scanned(str(inputs.store(suffix)), {}, index)  # compiled, and in the system's cache
            for _ in range(1 if inputs.quick else 3):
                here.append(scanned(str(path), {}, index))
                there.append(scanned(f"s3://corpora/{path.name}", server.options(port), index))
        assert here[0][2] == there[0][2]
        yield from [
            Figure(f"{suffix}, local", size / min(here)[0], "MB/s of file"),
            Figure(f"{suffix}, 50 ms away", size / min(there)[0], "MB/s of file"),
            Figure(f"{suffix}, CPU of the worker, 50 ms away ÷ local", min(there)[1] / min(here)[1], ""),
            Figure(f"{suffix}, 50 ms away ÷ local", min(here)[0] / min(there)[0], "", at_least(0.8, 0.9)),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    given = parser.parse_args()
    clean_up_when_terminated()
    with tempfile.TemporaryDirectory() as folder:
        inputs = from_options(given, Path(folder))
        (home := Path(folder) / "s3").mkdir()
        with served(home) as server:
            figures = []
            print(inputs)
            for figure in latency(inputs, server):
                print(figure.row(), flush=True)
                figures.append(figure)
    if given.json:
        given.json.write_text(json.dumps({"stores": [figure.as_json() for figure in figures]}, indent=1))


if __name__ == "__main__":
    main()

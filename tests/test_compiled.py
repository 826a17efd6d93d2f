"""Compiled kernels on disk: compiled once, taken up by others, and never believed when something is wrong with them."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import pytest
from numba import types
from numba.core.registry import cpu_target

from wmbxl import compiled, kernels, tiers

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

COUNTING = """
import json, sys
import numpy as np
import wmbxl
from numba.core import event
from wmbxl import kernels
class Compiled(event.Listener):
    count = 0
    def on_start(self, _): self.count += 1
    def on_end(self, _): pass
event.register("numba:compile", listener := Compiled())
"""
# Say what they found, and how many kernels they compiled: a scan, and the smallest kernel alone.
SCAN = """
from wmbxl import tiers
tiers.scan.bytes_left = 0
index = wmbxl.ProbeIndex.build(wmbxl.Benchmark.from_surfaces({"p": "a b c d e"}), [3])
tally = wmbxl.scan_shard(wmbxl.Corpus("c", sys.argv[1]).shards()[0], index)
print(json.dumps([listener.count, tally.occurrences, tally.evidence.num_rows, tally.tokens]))
"""
SMALL = """
state = np.array([7, 0, 0, 0, 0, 4], dtype=np.int64)
done = int(kernels.release_values(state, 7))
print(json.dumps([listener.count, done, state.tolist()]))
"""
RELEASED = [3, [4, 0, 0, 0, 0, 1]]
# Say which kinds of work a process leaves to Python at first.
TIERS = """
from wmbxl import tiers
print(json.dumps([tier.kernel for tier in tiers.ALL if not tier.compiles(1)]))
"""


def run(script: str, folder: Path, *arguments: Path, **environment: str) -> list[Any]:
    command = [sys.executable, "-c", COUNTING + script, *map(str, arguments)]
    known = {**os.environ, "WMBXL_KERNELS": str(folder), **environment}
    return json.loads(subprocess.run(command, env=known, capture_output=True, check=True, text=True).stdout)


def small(folder: Path, **environment: str) -> int:
    """Run the smallest kernel in a process of its own; return how many kernels that compiled."""
    count, done, state = run(SMALL, folder, **environment)
    assert [done, state] == RELEASED
    return count


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder with one kernel."""
    folder = tmp_path / "kernels"
    assert small(folder) == 1
    return folder


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": "x a b c d e y"}\n{"text": "b c d"}\n')
    first = run(SCAN, tmp_path / "kernels", corpus)
    second = run(SCAN, tmp_path / "kernels", corpus)
    assert first[0] > 0
    assert second == [0, *first[1:]] == [0, 4, 4, 10]


def test_a_process_that_took_up_a_kernel_can_compile_others(kept: Path, tmp_path: Path) -> None:
    """Numba's registries are loaded when the first kernel is compiled, not when one is taken up."""
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": "x a b c d e y"}\n')
    taken_up = SMALL.replace("print(", "assert [listener.count, done] == [0, 3], (")
    count, *found = run(taken_up + SCAN, kept, corpus)
    assert count > 0
    assert found == [3, 3, 7]


def test_work_is_left_to_kernels_that_are_kept(tmp_path: Path) -> None:
    every = [tier.kernel for tier in tiers.ALL]
    folder = tmp_path / "kernels"
    assert run(TIERS, folder) == every
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": "x a b c d e y"}\n')
    run(SCAN, folder, corpus)
    assert run(TIERS, folder) == every[1:]
    assert run(TIERS, folder, NUMBA_BOUNDSCHECK="1") == every  # these would have to be compiled


def test_a_small_scan_compiles_nothing(tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": "x a b c d e y"}\n{"text": "b c d É"}\n')
    at_once = SCAN.replace("tiers.scan.bytes_left = 0", "")
    assert run(at_once, tmp_path / "kernels", corpus) == [0, 4, 4, 11]
    assert not (tmp_path / "kernels").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        lambda data: b"\0" * len(data),
    ],
)
def test_damaged_code_is_compiled_again(kept: Path, damage: Any) -> None:
    (path,) = kept.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert small(kept) == 1
    assert small(kept) == 0  # and kept again


def test_what_numba_can_not_read_is_compiled_again(kept: Path) -> None:
    (path,) = kept.iterdir()
    packed = b"not what Numba wrote"
    path.write_bytes(compiled.hashlib.sha256(packed).digest() + packed)
    assert small(kept) == 1


def test_a_folder_that_can_not_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert small(tmp_path / "file") == 1
    assert small(tmp_path / "file" / "beneath") == 1


def test_settings_of_numba_count(kept: Path) -> None:
    assert small(kept, NUMBA_BOUNDSCHECK="1") == 1
    assert small(kept) == 0


def test_many_processes_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: small(tmp_path / "kernels"), range(8)))
    assert len(list((tmp_path / "kernels").iterdir())) == 1
    assert small(tmp_path / "kernels") == 0


def test_a_path_names_all_that_the_code_depends_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WMBXL_KERNELS", str(tmp_path))
    context = cpu_target.target_context

    def path(name: str, writable: bool) -> Path:
        data = types.Array(types.uint8, 1, "C", readonly=not writable)
        return compiled.KernelCache(name)._path(types.void(data), context)

    paths = {path("a", True), path("b", True), path("a", False)}
    monkeypatch.setattr(compiled, "_sources", lambda: "other sources")
    assert len(paths | {path("a", True)}) == 4


def test_all_sources_are_named() -> None:
    """What the kernels take from other modules of wmbxl is compiled into them."""
    taken = {getattr(value, "__module__", None) for value in vars(kernels).values()} | {kernels.hashing.__name__}
    modules = {name for name in taken if name and name.startswith("wmbxl.")} - {compiled.__name__}
    assert modules == {f"wmbxl.{Path(name).stem}" for name in compiled.SOURCES}

"""Audits on several hosts, one of which is cut off for a while."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tests.clusters import hosts
from tests.clusters.conftest import INTERPRETED, Place
from tests.support import table_bytes

# Dask waits 30 seconds for a host that doesn't answer; this is the least that it allows, about.
IMPATIENT = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s"}
COUNT = "import sys, distributed; print(len(distributed.Client(sys.argv[1]).scheduler_info(-1)['workers']))"


@pytest.fixture
def network() -> Iterator[hosts.Network]:
    """Three hosts with a worker each, and a scheduler between them."""
    if reason := hosts.missing():
        pytest.skip(reason)
    network = hosts.Network(3, {**INTERPRETED, **IMPATIENT})
    with network.running():
        yield network


def until(ready: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.1)


@pytest.mark.parametrize(("seconds", "left"), [(3, 3), (15, 2)])
def test_a_host_is_cut_off_in_mid_scan_and_healed(
    place: Place, network: hosts.Network, seconds: float, left: int
) -> None:
    """After a short while its worker goes on; after a long one it has left, and others have done its work."""
    out = f"cut-{seconds}"
    command = network.command(0, *place.command(out, "--scheduler", network.scheduler(0)))
    with subprocess.Popen(command, cwd=place.folder, env=network.environment, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr
        until(lambda: run.poll() is not None or list((place.folder / out).glob("checkpoints/*.arrow")))
        assert run.poll() is None, run.stderr.read()
        network.cable(2, "down")
        time.sleep(seconds)
        network.cable(2, "up")
        said = run.stderr.read()
        assert run.wait() == 0, said
    count = network.command(0, sys.executable, "-c", COUNT, network.scheduler(0))
    assert int(subprocess.check_output(count, env=network.environment, text=True)) == left
    assert table_bytes(place.folder / out) == table_bytes(place.folder / "calm")

"""Fixtures that several test modules share."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
import tenacity
from distributed import Client, LocalCluster

from tests import s3 as servers
from tests import tools
from tests.browser import browser, page
from wmbxl import stores, tiers

__all__ = ["browser", "page"]  # fixtures

# Kernels are compiled once for all processes of a run, and neither taken from the user's cache nor put there.
_kernels = tempfile.TemporaryDirectory(prefix="wmbxl-kernels-")
os.environ.setdefault("WMBXL_KERNELS", _kernels.name)

if numba.config.DISABLE_JIT:
    np.seterr(over="ignore")  # compiled, integers wrap round, which hashing relies on


def shared_folder() -> Path:
    """Return where the shared data folder is, if it is there."""
    return Path(os.environ.get("WMBXL_SHARED", Path(__file__).parents[2] / "shared")) / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data folder; tests that need it are skipped where it is absent."""
    if not shared_folder().is_dir():
        pytest.skip("needs the shared data folder (set WMBXL_SHARED)")
    return shared_folder()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A local cluster of two workers, for one module."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as made:
        yield made


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry at once."""
    monkeypatch.setattr(stores.retry, "wait", tenacity.wait_none())


@pytest.fixture
def trouble(no_waits: None) -> Iterator[type[tools.Trouble]]:
    """A filesystem whose reads fail when told to."""
    tools.Trouble.reset()
    yield tools.Trouble
    tools.Trouble.reset()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    """A real S3 server over HTTP."""
    if reason := servers.missing():
        pytest.skip(reason)
    with servers.served(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def proxy(s3: servers.Server) -> Iterator[servers.Proxy]:
    """A proxy before that server, which makes trouble when told to."""
    with servers.Proxy(s3.port) as made:
        yield made


@pytest.fixture(autouse=True)
def kernels_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give even small tests to the kernels; workers, processes of their own, do so if the kernels are kept."""
    begin_with(monkeypatch, parsed_bytes=0)


@pytest.fixture(params=[0, 1 << 60], ids=["kernels", "no kernels"])
def either_tier(kernels_at_once: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Run a test with the kernels and with what a process does before it compiles them."""
    begin_with(monkeypatch, request.param)


def begin_with(monkeypatch: pytest.MonkeyPatch, parsed_bytes: int) -> None:
    for tier in tiers.ALL:
        monkeypatch.setattr(tier, "bytes_left", parsed_bytes)

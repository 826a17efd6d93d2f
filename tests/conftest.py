"""Fixtures that several test modules share."""

import os
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
import tenacity

from tests import tools
from tests.browser import browser, page
from wmbxl import streams

__all__ = ["browser", "page"]  # fixtures

if numba.config.DISABLE_JIT:
    np.seterr(over="ignore")  # compiled, integers wrap round, which hashing relies on


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data folder; tests that need it are skipped where it is absent."""
    root = Path(os.environ.get("WMBXL_SHARED", Path(__file__).parents[2] / "shared")) / "data"
    if not root.is_dir():
        pytest.skip("needs the shared data folder (set WMBXL_SHARED)")
    return root


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry at once."""
    monkeypatch.setattr(streams.retry, "wait", tenacity.wait_none())


@pytest.fixture
def trouble(no_waits: None) -> Iterator[type[tools.Trouble]]:
    """A filesystem whose reads fail when told to."""
    tools.Trouble.reset()
    yield tools.Trouble
    tools.Trouble.reset()

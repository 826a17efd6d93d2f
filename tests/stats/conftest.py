from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View


@pytest.fixture(scope="session")
def golden() -> Path:
    """Folder with the published figures."""
    root = Path(__file__).parents[2]
    shared = Path(os.environ.get("WMBXL_SHARED", root.parent / "shared"))
    folder = shared / "data" / "golden"
    if not folder.is_dir():
        pytest.skip(f"the published figures are not at {folder}; set WMBXL_SHARED to the folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def published(golden: Path) -> Callable[[str], pd.DataFrame]:
    def read(name: str) -> pd.DataFrame:
        return pd.read_csv(golden / f"published_{name}.csv")

    return read


@pytest.fixture(scope="session")
def rebuilt() -> Callable[..., tuple[Verdicts, View]]:
    """Verdicts with the right numbers of correct answers in a view and outside."""

    def build(
        models: Sequence[str], full: tuple[int, Sequence[int]], view: tuple[int, Sequence[int]]
    ) -> tuple[Verdicts, View]:
        (n_full, right_full), (n_view, right_view) = full, view
        correct = np.zeros((n_full, len(models)), dtype=bool)
        for k, (everywhere, inside) in enumerate(zip(right_full, right_view, strict=True)):
            correct[:inside, k] = True
            correct[n_view : n_view + everywhere - inside, k] = True
        ids = tuple(f"p{k:05d}" for k in range(n_full))
        return Verdicts(ids, tuple(models), correct, np.ones_like(correct)), View("view", ids[:n_view], "rebuilt")

    return build


@pytest.fixture
def simulated() -> Callable[..., tuple[Verdicts, View]]:
    def draw(items: int = 60, models: int = 3, view: int = 50, seed: int = 0) -> tuple[Verdicts, View]:
        rng = np.random.default_rng(seed)
        correct = rng.random((items, models)) < np.linspace(0.4, 0.8, models)
        ids = tuple(f"p{k:05d}" for k in range(items))
        names = tuple(f"m{k}" for k in range(models))
        members = rng.permutation(items)[:view]
        return Verdicts(ids, names, correct, np.ones_like(correct)), View("view", tuple(ids[k] for k in members), "x")

    return draw

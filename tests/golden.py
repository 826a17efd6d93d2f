"""What two independent scans of the shared data agree on, and how an audit is held against it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

NS = (8, 10, 12, 13, 15)
COLUMNS = [
    "n_grams_total", "n_grams_unique", "hits_total", "docs_total", "unique_ngrams_total", "in_S0", "in_S1",
]  # fmt: skip


def assert_golden(metadata: pd.DataFrame, shared: Path) -> None:
    golden = pd.read_parquet(shared / "golden/latex_combined.parquet")
    joined = golden.merge(metadata, on=["problem_id", "n"], suffixes=("", "_found"), validate="1:1")
    assert len(joined) == len(golden) == len(metadata) == 13_240
    for name in COLUMNS:
        assert joined[name].tolist() == joined[f"{name}_found"].tolist(), name

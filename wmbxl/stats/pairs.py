"""Every model against every other one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from wmbxl.stats import remarks
from wmbxl.stats.compare import (
    all_items,
    difference_cells,
    everything,
    replicate_accuracies,
    sentence,
    with_adjusted,
)
from wmbxl.stats.intervals import intervals
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View

_COLUMNS = [
    *["view", "model_a", "model_b", "n", "acc_a", "acc_b"],
    *["delta_pp", "ci_low_pp", "ci_high_pp", "se_pp", "p", "largest_pp", "note"],
]


def pairs(verdicts: Verdicts, views: Iterable[View], bootstrap: Bootstrap) -> pd.DataFrame:
    """Compare every two models, on everything and on each view; the view's own problems are resampled.

    Parameters
    ----------
    verdicts : Verdicts
        Two models are compared on the problems for which both have a verdict.
    views : iterable of View
        The views.
    bootstrap : Bootstrap
        The protocol.

    Returns
    -------
    pandas.DataFrame
        ``view, model_a, model_b, n, acc_a, acc_b, delta_pp, ci_low_pp, ci_high_pp, se_pp, p, largest_pp,
        p_bonferroni, p_holm, p_bh, delta_full_pp, sign_changes, note``. The difference is a minus b; p-values
        are adjusted over the pairs of a view; `sign_changes` is True where the view and all problems put
        different models ahead. No rows if there is only one model.
    """
    full = _pair_table(verdicts, everything(verdicts), bootstrap)
    tables = [full, *(_pair_table(verdicts, view, bootstrap) for view in views)]
    table = pd.concat(tables, ignore_index=True)
    keys = ["model_a", "model_b"]
    table = table.merge(full[[*keys, "delta_pp"]].rename(columns={"delta_pp": "delta_full_pp"}), on=keys)
    table["sign_changes"] = table["delta_pp"] * table["delta_full_pp"] < 0
    table["note"] = table.pop("note")
    return table


def _pair_table(verdicts: Verdicts, view: View, bootstrap: Bootstrap) -> pd.DataFrame:
    part = verdicts.take(verdicts.contains(view.ids))
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    # Pairs that share the same problems share a run; with no verdict missing, that is one run for all.
    runs: dict[bytes, list[tuple[int, int]]] = {}
    for a, b in combinations(range(len(part.models)), 2):
        shared = part.observed[:, a] & part.observed[:, b]
        runs.setdefault(shared.tobytes(), []).append((a, b))
    for mask, couples in runs.items():
        common = part.take(np.frombuffer(mask, dtype=bool))
        accuracies = replicate_accuracies(common, [all_items(common)], bootstrap)
        for a, b in couples:
            [found] = intervals(accuracies.columns([a]).minus(accuracies.columns([b])), bootstrap)
            rows[a, b] = {
                "view": view.name,
                "model_a": part.models[a],
                "model_b": part.models[b],
                "n": len(common),
                "acc_a": float(accuracies.estimate[a]),
                "acc_b": float(accuracies.estimate[b]),
                **difference_cells(found),
                "note": sentence(
                    remarks.about_missing(len(part) - len(common), len(part)),
                    remarks.about_common(len(common)),
                    remarks.about_replicates(found, bootstrap.replicates),
                ),
            }
    return with_adjusted(pd.DataFrame([rows[key] for key in sorted(rows)], columns=_COLUMNS))

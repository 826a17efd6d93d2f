"""How much the labels, and the deltas, depend on the length of the n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from wmbxl.stats.compare import full_vs_view
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import SnapshotViews, UndecidedPolicy, View, audit_rows, audit_view


def lengths(metadata: pd.DataFrame) -> list[int]:
    """List the n of an audit, in rising order."""
    return sorted(int(n) for n in metadata["n"].unique())


def membership_by_n(
    metadata: pd.DataFrame,
    channel: str | None = None,
    reference: int = 13,
    snapshot: SnapshotViews | None = None,
) -> pd.DataFrame:
    """Count S0 at each n, and how many labels change against a reference.

    Parameters
    ----------
    metadata : pandas.DataFrame
        Of an audit, or of the problems of interest.
    channel : str, optional
        May be left out if the audit has only one.
    reference : int
        The n with whose labels the others are compared.
    snapshot : SnapshotViews, optional
        Problems by the date of their source. The flag rate among later ones is a proxy for chance collisions.

    Returns
    -------
    pandas.DataFrame
        ``n, problems, undecided, auditable, S0, S0_pct, S0_auditable, S0_auditable_pct, flipped,
        flip_pct``, and with `snapshot` also ``pre_snapshot, pre_flagged_pct, post_snapshot,
        post_flagged_pct``. Percentages are of decided problems.

    Raises
    ------
    UsageError
        The audit lacks the reference n or the channel.

    Examples
    --------
    >>> metadata = pd.DataFrame({"problem_id": ["a", "b"] * 2, "channel": "text", "n": [8, 8, 13, 13],
    ...                          "auditable": True, "in_S0": [False, False, True, False]})
    >>> membership_by_n(metadata)[["n", "S0", "flipped", "flip_pct"]]
        n  S0  flipped  flip_pct
    0   8   0        1      50.0
    1  13   1        0       0.0
    """
    labels = {n: _labels(metadata, n, channel) for n in lengths(metadata)}
    against = labels[reference]["in_S0"] if reference in labels else _labels(metadata, reference, channel)["in_S0"]
    rows = []
    for n, table in labels.items():
        decided = table[table["in_S0"].notna()]
        clean = decided["in_S0"].astype(bool)
        usable = decided["auditable"].astype(bool)
        both = decided.index.intersection(against.dropna().index)
        flipped = int((clean[both] != against[both].astype(bool)).sum())
        row: dict[str, Any] = {
            "n": n,
            "problems": len(table),
            "undecided": len(table) - len(decided),
            "auditable": int(usable.sum()),
            "S0": int(clean.sum()),
            "S0_pct": _percent(int(clean.sum()), len(decided)),
            "S0_auditable": int((clean & usable).sum()),
            "S0_auditable_pct": _percent(int((clean & usable).sum()), int(usable.sum())),
            "flipped": flipped,
            "flip_pct": _percent(flipped, len(both)),
        }
        if snapshot is not None:
            row |= _flag_rate("pre", clean, snapshot.before) | _flag_rate("post", clean, snapshot.after)
        rows.append(row)
    return pd.DataFrame(rows)


def _labels(metadata: pd.DataFrame, n: int, channel: str | None) -> pd.DataFrame:
    rows = audit_rows(metadata, n, channel).set_index("problem_id")
    return rows[["auditable", "in_S0"]].astype({"in_S0": "boolean"})


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else float(np.nan)


def _flag_rate(prefix: str, clean: pd.Series[bool], dated: View) -> dict[str, float]:
    labels = clean[clean.index.isin(dated.ids)]
    return {
        f"{prefix}_snapshot": len(labels),
        f"{prefix}_flagged_pct": _percent(int((~labels).sum()), len(labels)),
    }


def deltas_by_n(
    verdicts: Verdicts,
    metadata: pd.DataFrame,
    bootstrap: Bootstrap,
    channel: str | None = None,
    undecided: UndecidedPolicy = "refuse",
) -> pd.DataFrame:
    """Compare everything with S0 at each n of an audit.

    Parameters
    ----------
    verdicts, bootstrap
        As for `wmbxl.stats.compare.full_vs_view`.
    metadata, channel, undecided
        As for `wmbxl.views.audit_view`.

    Returns
    -------
    pandas.DataFrame
        The columns of `full_vs_view`, after ``n``.
    """
    tables = []
    for n in lengths(metadata):
        view = audit_view(metadata, "S0", n, channel, undecided=undecided)
        table = full_vs_view(verdicts, [view], bootstrap)
        table.insert(0, "n", n)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)

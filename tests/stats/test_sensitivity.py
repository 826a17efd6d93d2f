from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from wmbxl.errors import UsageError
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.sensitivity import deltas_by_n, membership_by_n
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import SnapshotViews, View

# Table 1 of the paper: |S0| of 800 at each n, and labels that differ from those at n = 13.
TABLE_1 = {
    8: (264, 33.0, 63.25),
    10: (600, 75.0, 21.25),
    12: (745, 93.125, 3.125),
    13: (770, 96.25, 0),
    15: (790, 98.75, 2.5),
}
IDS = [f"p{k:03d}" for k in range(800)]


@pytest.fixture
def nested():
    """S0 grows with n, as it must where hits at a longer n imply hits at a shorter one."""
    return pd.concat(
        pd.DataFrame({"problem_id": IDS, "channel": "text", "n": n, "auditable": True, "in_S0": np.arange(800) < size})
        for n, (size, *_) in TABLE_1.items()
    )


def test_table_1(nested):
    table = membership_by_n(nested).set_index("n")
    for n, (size, share, flips) in TABLE_1.items():
        row = table.loc[n]
        assert (row["S0"], row["S0_pct"], row["flip_pct"]) == (size, share, flips)


def test_flag_rates_by_date(nested):
    snapshot = SnapshotViews(View("before", tuple(IDS[400:]), "x"), View("after", tuple(IDS[:400]), "x"))
    row = membership_by_n(nested, snapshot=snapshot).set_index("n").loc[13]
    assert (row["pre_snapshot"], row["pre_flagged_pct"]) == (400, 7.5)
    assert (row["post_snapshot"], row["post_flagged_pct"]) == (400, 0)


def test_unauditable_and_undecided_problems_are_counted_apart():
    metadata = pd.DataFrame(
        {
            "problem_id": list("abcd"), "channel": "text", "n": 13,
            "auditable": [False, True, True, True], "in_S0": [True, True, False, None],
        }
    )  # fmt: skip
    [row] = membership_by_n(metadata).to_dict("records")
    assert (row["problems"], row["undecided"], row["auditable"]) == (4, 1, 2)
    assert (row["S0"], row["S0_auditable"]) == (2, 1)
    assert row["S0_pct"] == pytest.approx(100 * 2 / 3)
    assert row["S0_auditable_pct"] == 50


def test_the_reference_must_be_in_the_audit(nested):
    with pytest.raises(UsageError, match=r"no n = 20.*It holds n = 8, 10, 12, 13, 15"):
        membership_by_n(nested, reference=20)


def test_deltas_where_no_problem_is_clean(nested):
    right = np.ones((800, 1), dtype=bool)
    right[::3] = False
    verdicts = Verdicts(tuple(IDS), ("m",), right, np.ones_like(right))
    nested.loc[nested["n"] == 8, "in_S0"] = False
    table = deltas_by_n(verdicts, nested, Bootstrap(replicates=100)).set_index("n")
    assert table.loc[8, "n_view"] == 0
    assert np.isnan(table.loc[8, "delta_pp"])
    assert table.loc[8, "note"].startswith("no problem with a verdict is in this view")
    assert np.isfinite(table.loc[[10, 12, 13, 15], "ci_low_pp"]).all()

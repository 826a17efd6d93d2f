"""What the WirelessMathBench-XL authors published, from counts alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from wmbxl.stats.compare import accuracy, everything, full_vs_view, view_vs_rest
from wmbxl.stats.counterfactual import counterfactuals, power
from wmbxl.stats.resample import Bootstrap

RNGS = pytest.mark.parametrize("rng", ["philox", "release"])


def counted(percent: pd.Series, n: pd.Series | int) -> list[int]:
    return [round(value) for value in percent * n / 100]


def printed(values: pd.Series, template: pd.Series, digits: int) -> None:
    # Half a unit of the last digit: how 31.375 prints depends on the order of two operations.
    np.testing.assert_allclose(values, template, atol=0.5 * 10.0**-digits + 1e-9, rtol=0)


@RNGS
@pytest.mark.parametrize("name", ["frontier_multin_delta", "answer_surface_n13_delta"])
def test_full_versus_s0(published, rebuilt, name, rng):
    for n, rows in published(name).groupby("n"):
        n_full, n_view = int(rows["n_full"].iloc[0]), int(rows["n_S0"].iloc[0])
        verdicts, view = rebuilt(
            list(rows["model"]),
            (n_full, counted(rows["acc_full"], n_full)),
            (n_view, counted(rows["acc_S0"], n_view)),
        )
        found = full_vs_view(verdicts, [view], Bootstrap(rng=rng))
        assert found["n_full"].tolist() == rows["n_full"].tolist()
        assert found["n_view"].tolist() == rows["n_S0"].tolist()
        assert (100 * found["n_view"] / found["n_full"]).tolist() == rows["s0_pct"].tolist()
        for ours, theirs in (("acc_full", "acc_full"), ("acc_view", "acc_S0"), ("delta_pp", "delta_pp")):
            assert found[ours].tolist() == rows[theirs].tolist()
        tolerance = 0.12 if n >= 12 else 0.35
        for end in ("ci_low_pp", "ci_high_pp"):
            np.testing.assert_allclose(found[end], rows[end], atol=tolerance, rtol=0)
        # The extreme of 10,000 draws is far noisier than an end of the interval.
        np.testing.assert_allclose(found["largest_pp"], rows["bootstrap_max_abs_pp"], rtol=0.45)


def test_table_2(published, rebuilt):
    rows = published("frontier_table2")
    verdicts, view = rebuilt(
        list(rows["model"]), (800, counted(rows["full_pct"], 800)), (770, counted(rows["s0_pct"], 770))
    )
    found = full_vs_view(verdicts, [view], Bootstrap())
    printed(found["acc_full"], rows["full_pct"], 2)
    printed(found["acc_view"], rows["s0_pct"], 2)
    printed(found["delta_pp"], rows["delta_pp"], 2)
    for end in ("ci_low_pp", "ci_high_pp"):
        np.testing.assert_allclose(found[end], rows[end], atol=0.12, rtol=0)


@RNGS
def test_public_subset(published, rebuilt, rng):
    rows = published("public_subset_results")
    verdicts, view = rebuilt(
        list(rows["model"]),
        (800, counted(rows["acc_full800"], 800)),
        (310, counted(rows["acc_public310"], 310)),
    )
    table = accuracy(verdicts, [everything(verdicts), view], Bootstrap(rng=rng)).set_index("view")
    full, public = table.loc["full"].reset_index(), table.loc["view"].reset_index()
    printed(full["acc"], rows["acc_full800"], 2)
    printed(public["acc"], rows["acc_public310"], 2)
    printed(public["acc"] - full["acc"], rows["delta_pp"], 2)
    two_items = 100 * 2 / 310 + 0.005
    for end in ("ci_low", "ci_high"):
        np.testing.assert_allclose(public[end], rows[end], atol=two_items, rtol=0)


@RNGS
def test_paper_disjoint_slice(published, rebuilt, rng):
    rows = published("paper_disjoint")
    inside, outside = counted(rows["acc_pd_pct"], 34), counted(rows["acc_rest_pct"], 766)
    both = [a + b for a, b in zip(inside, outside, strict=True)]
    verdicts, view = rebuilt(list(rows["model"]), (800, both), (34, inside))
    found = view_vs_rest(verdicts, [view], Bootstrap(rng=rng))
    printed(found["acc_view"], rows["acc_pd_pct"], 1)
    printed(found["acc_rest"], rows["acc_rest_pct"], 1)
    printed(found["delta_pp"], rows["delta_pp"], 1)
    for end in ("ci_low_pp", "ci_high_pp"):
        np.testing.assert_allclose(found[end], rows[end], atol=1.5, rtol=0)


@pytest.mark.parametrize("scorer", ["judge", "exact"])
def test_exact_format_lower_bound(published, rebuilt, scorer):
    rows = published("exact_format_lower_bound")
    full, part = rows[f"{scorer}_full_pct"], rows[f"{scorer}_s0_pct"]
    verdicts, view = rebuilt(list(rows["model"]), (800, counted(full, 800)), (770, counted(part, 770)))
    found = full_vs_view(verdicts, [view], Bootstrap(replicates=10))
    printed(found["acc_full"], full, 2)
    printed(found["acc_view"], part, 2)
    printed(found["delta_pp"], rows[f"{scorer}_delta_pp"], 2)


def test_largest_inflation_of_the_frontier_rows(published, rebuilt):
    rows = published("frontier_table2")
    verdicts, view = rebuilt(
        list(rows["model"]), (800, counted(rows["full_pct"], 800)), (770, counted(rows["s0_pct"], 770))
    )
    bound = counterfactuals(verdicts, [view])["if_all_right_pp"]
    assert f"{bound.min():.2f} {bound.max():.2f}" == "0.31 0.51"


def test_the_frontier_comparison_is_underpowered(published, rebuilt):
    rows = published("frontier_table2")
    verdicts, view = rebuilt(
        list(rows["model"]), (800, counted(rows["full_pct"], 800)), (770, counted(rows["s0_pct"], 770))
    )
    found = power(full_vs_view(verdicts, [view], Bootstrap()), counterfactuals(verdicts, [view]), Bootstrap())
    assert not found["resolvable"].any()

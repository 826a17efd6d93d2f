"""Comparisons, and what they say in words at the edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from wmbxl.errors import UsageError
from wmbxl.stats.compare import accuracy, everything, full_vs_view, group_views, view_vs_rest
from wmbxl.stats.pairs import pairs
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View

FAST = Bootstrap(replicates=200)


def with_missing(verdicts, model, items):
    observed = verdicts.observed.copy()
    observed[items, model] = False
    return replace(verdicts, observed=observed, correct=verdicts.correct & observed)


def test_an_empty_view(simulated):
    verdicts, _ = simulated(models=1)
    for table in (f(verdicts, [View("none", (), "x")], FAST) for f in (full_vs_view, view_vs_rest)):
        [row] = table.to_dict("records")
        assert row["n_view"] == 0
        assert np.isnan([row["acc_view"], row["delta_pp"], row["ci_low_pp"], row["p"]]).all()
        assert row["note"].startswith("no problem with a verdict is in this view, so there is nothing to compare")
    [row] = accuracy(verdicts, [View("none", (), "x")], FAST).to_dict("records")
    assert np.isnan(row["acc"])
    assert row["note"] == "no verdict is here, so there is no accuracy"


def test_a_view_of_everything(simulated):
    verdicts, _ = simulated(models=1)
    [row] = full_vs_view(verdicts, [everything(verdicts)], FAST).to_dict("records")
    assert (row["delta_pp"], row["ci_low_pp"], row["ci_high_pp"]) == (0, 0, 0)
    assert row["note"].startswith("every problem with a verdict is in this view")


def test_one_model(simulated):
    verdicts, view = simulated(models=1)
    table = pairs(verdicts, [view], FAST)
    assert table.empty
    assert {"model_a", "p_holm", "sign_changes"} <= set(table.columns)


def test_all_right(simulated):
    verdicts, view = simulated(models=1)
    perfect = replace(verdicts, correct=np.ones_like(verdicts.correct))
    [row] = accuracy(perfect, [everything(perfect)], FAST).to_dict("records")
    assert (row["acc"], row["ci_low"], row["ci_high"]) == (100, 100, 100)
    assert row["note"] == (
        "none of 60 verdicts is wrong: the interval covers less than it says; "
        "the exact (Clopper-Pearson) interval is 94.04 to 100.00 %"
    )
    [row] = full_vs_view(perfect, [view], FAST).to_dict("records")
    assert row["delta_pp"] == 0
    assert "none of 50 verdicts in the view is wrong" in row["note"]
    [row] = full_vs_view(perfect, [view], replace(FAST, method="bca")).to_dict("records")
    assert np.isnan(row["ci_low_pp"])
    assert "this kind of interval does not exist here; use the percentile interval" in row["note"]


def test_missing_verdicts_leave_both_sides(simulated):
    verdicts, view = simulated(models=2)
    holes = with_missing(verdicts, 0, [0, 1, 2])
    first, second = full_vs_view(holes, [view], FAST).to_dict("records")
    assert (first["n_full"], second["n_full"]) == (57, 60)
    assert first["acc_full"] == pytest.approx(100 * verdicts.correct[3:, 0].mean())
    assert "3 of 60 verdicts are missing and left out" in first["note"]
    assert "missing" not in second["note"]


def test_a_pair_is_compared_on_what_both_answered(simulated):
    verdicts, view = simulated(models=3)
    holes = with_missing(verdicts, 0, [0, 1, 2])
    table = pairs(holes, [view], FAST).query("view == 'full'").set_index(["model_a", "model_b"])
    assert table["n"].to_dict() == {("m0", "m1"): 57, ("m0", "m2"): 57, ("m1", "m2"): 60}
    assert table.loc[("m0", "m1"), "acc_b"] == pytest.approx(100 * verdicts.correct[3:, 1].mean())
    assert table.loc[("m0", "m1"), "note"] == "3 of 60 verdicts are missing and left out"


def test_a_resample_without_view_items():
    ids = tuple("abcd")
    right = np.array([[True], [False], [True], [False]])
    verdicts = Verdicts(ids, ("m",), right, np.ones_like(right))
    [row] = full_vs_view(verdicts, [View("one", ("a",), "x")], Bootstrap(replicates=1000)).to_dict("records")
    assert np.isfinite([row["ci_low_pp"], row["ci_high_pp"]]).all()
    assert "of 1000 resamples drew no verdicts, or only equal ones, and were left out" in row["note"]
    left_out = int(row["note"].split(" of 1000")[0].rsplit(" ", 1)[1])
    # A resample of 4 misses one given problem with probability (3/4)**4.
    assert left_out / 1000 == pytest.approx(0.75**4, abs=0.06)


def test_few_problems_outside(simulated):
    verdicts, view = simulated(view=57)
    assert full_vs_view(verdicts, [view], FAST)["note"].str.contains("only 3 problem.* outside the view").all()


def test_undecided_problems_are_on_neither_side(simulated):
    verdicts, view = simulated(items=60, view=40)
    outside = tuple(name for name in verdicts.ids if name not in view.ids)
    hazy = replace(view, undecided=outside[:5])
    table = full_vs_view(verdicts, [hazy], FAST)
    assert table["n_full"].tolist() == [55] * 3
    assert table["note"].str.contains("5 problem.* undecided").all()
    assert view_vs_rest(verdicts, [hazy], FAST)["n_rest"].tolist() == [15] * 3


def test_no_view_at_all(simulated):
    with pytest.raises(UsageError, match="Give --audit DIR, or --view"):
        full_vs_view(simulated()[0], [], FAST)


def test_signs_that_change(simulated):
    right = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], dtype=bool)
    verdicts = Verdicts(tuple("abcde"), ("m", "n"), right, np.ones_like(right))
    table = pairs(verdicts, [View("v", ("a", "b"), "x")], FAST)
    assert table["sign_changes"].tolist() == [False, True]
    assert table["delta_full_pp"].round(6).tolist() == [-20, -20]


def test_groups_by_value_and_by_label(simulated):
    verdicts, _ = simulated(items=4)
    items = pd.DataFrame(
        {"type": ["a", "b", "a", None], "tags": [["x", "y"], ["y"], [], None]}, index=list(verdicts.ids)
    )
    described = replace(verdicts, items=items)
    assert [(view.name, len(view)) for view in group_views(described, "type")] == [("a", 2), ("b", 1)]
    assert [(view.name, len(view)) for view in group_views(described, "tags")] == [("x", 1), ("y", 2)]
    with pytest.raises(UsageError, match="Columns: type, tags"):
        group_views(described, "kind")


def test_family_sizes(simulated):
    verdicts, view = simulated(models=3)
    two_views = full_vs_view(verdicts, [view, everything(verdicts)], FAST)
    np.testing.assert_allclose(two_views["p_bonferroni"], np.minimum(1, 3 * two_views["p"]))


def test_clusters_on_both_sides_are_told(simulated):
    verdicts, view = simulated(items=60, view=40, models=1)
    clustered = replace(verdicts, clusters=tuple(str(k // 2) for k in range(60)))
    [row] = view_vs_rest(clustered, [view], FAST).to_dict("records")
    assert "cluster(s) have problems on both sides, so the sides are not independent" in row["note"]
    [row] = view_vs_rest(verdicts, [view], FAST).to_dict("records")
    assert "cluster" not in row["note"]

"""Agreement, held against the packages that others use for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from wmbxl.errors import UsageError
from wmbxl.stats.agreement import group_agreement, pair_agreement, ratings_from_frame
from wmbxl.stats.resample import Bootstrap

FAST = Bootstrap(replicates=200)
LEVELS = [1, 2, 3, 4, 5]


def drawn(items=60, raters=3, missing=0.0, seed=0):
    """Ratings from 1 to 5 of raters who see the same truth, each with errors of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, items)
    ratings = np.clip(truth[:, None] + rng.integers(-1, 2, (items, raters)), 1, 5).astype(float)
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return pd.DataFrame(ratings, columns=[f"r{k}" for k in range(raters)])


@pytest.mark.parametrize(("weights", "theirs"), [("none", None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_cohens_kappa_is_that_of_statsmodels(weights, theirs):
    frame = drawn(raters=2)
    table = pd.crosstab(*(pd.Categorical(frame[name], categories=LEVELS) for name in frame), dropna=False)
    expected = cohens_kappa(table.to_numpy(), wt=theirs, return_results=False)
    [row] = pair_agreement(ratings_from_frame(frame, LEVELS), FAST, weights).to_dict("records")
    assert row["kappa"] == pytest.approx(expected, abs=1e-12)
    assert row["agree"] == pytest.approx(100 * (frame["r0"] == frame["r1"]).mean())
    assert row["ci_low_kappa"] < expected < row["ci_high_kappa"]


def test_bootstrap_interval_is_near_the_asymptotic_one():
    frame = drawn(items=400, raters=2)
    theirs = cohens_kappa(pd.crosstab(frame["r0"], frame["r1"]).to_numpy())
    [row] = pair_agreement(ratings_from_frame(frame, LEVELS), Bootstrap(replicates=4000)).to_dict("records")
    assert row["ci_low_kappa"] == pytest.approx(theirs.kappa_low, abs=0.01)
    assert row["ci_high_kappa"] == pytest.approx(theirs.kappa_upp, abs=0.01)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_fleiss_kappa_is_that_of_statsmodels_on_complete_items(missing):
    frame = drawn(raters=4, missing=missing)
    complete = frame.dropna()
    found = group_agreement(ratings_from_frame(frame, LEVELS), FAST)
    table, _ = aggregate_raters(complete.to_numpy().astype(int), n_cat=6)
    assert found["fleiss"] == pytest.approx(fleiss_kappa(table), abs=1e-12)
    assert (found["raters"], found["n_complete"]) == (4, len(complete))


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_alpha_is_that_of_the_package_krippendorff(level, missing):
    krippendorff = pytest.importorskip("krippendorff", reason="pip install krippendorff")
    frame = drawn(raters=5, missing=missing)
    expected = krippendorff.alpha(frame.to_numpy().T, level_of_measurement=level, value_domain=LEVELS)
    found = group_agreement(ratings_from_frame(frame, LEVELS), FAST, level)
    assert found["alpha"] == pytest.approx(expected, abs=1e-12)
    assert found["ci_low_alpha"] < expected < found["ci_high_alpha"]
    assert found["n"] == (frame.notna().sum(axis=1) >= 2).sum()


def test_the_interval_is_that_of_scipys_bootstrap_over_items():
    frame = drawn(items=50, raters=2)

    def kappa(index):
        table = np.zeros((5, 5))
        np.add.at(table, tuple(frame.to_numpy().astype(int)[index.astype(int)].T - 1), 1)
        return cohens_kappa(table, return_results=False)

    theirs = scipy.stats.bootstrap(
        (np.arange(len(frame)),), kappa, n_resamples=1000, vectorized=False, method="percentile", rng=0
    ).confidence_interval
    [row] = pair_agreement(ratings_from_frame(frame, LEVELS), Bootstrap(replicates=4000)).to_dict("records")
    assert row["ci_low_kappa"] == pytest.approx(theirs.low, abs=0.03)
    assert row["ci_high_kappa"] == pytest.approx(theirs.high, abs=0.03)


def test_items_of_a_cluster_are_drawn_together():
    frame = pd.concat([drawn(items=40, raters=2)] * 4, ignore_index=True)
    clusters = [str(k % 40) for k in range(160)]
    alone, together = (
        pair_agreement(ratings_from_frame(frame, LEVELS, labels), FAST).iloc[0] for labels in (None, clusters)
    )
    assert alone["kappa"] == together["kappa"]
    widths = [row["ci_high_kappa"] - row["ci_low_kappa"] for row in (alone, together)]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.25)  # four copies of an item say no more than one


def test_one_category_alone_is_no_agreement_beyond_chance():
    frame = pd.DataFrame({"a": [1] * 20, "b": [1] * 20})
    [row] = pair_agreement(ratings_from_frame(frame, [0, 1]), FAST).to_dict("records")
    found = group_agreement(ratings_from_frame(frame, [0, 1]), FAST)
    assert row["agree"] == found["agree"] == 100
    assert np.isnan([row["kappa"], found["fleiss"], found["alpha"]]).all()
    assert "only one category is used" in row["note"]
    assert "only one category is used" in found["note"]


def test_raters_without_an_item_in_common():
    frame = pd.DataFrame({"a": [1, None], "b": [None, 0]})
    [row] = pair_agreement(ratings_from_frame(frame), FAST).to_dict("records")
    found = group_agreement(ratings_from_frame(frame), FAST)
    assert (row["n"], found["n"], found["n_complete"]) == (0, 0, 0)
    assert np.isnan([row["agree"], row["kappa"], found["agree"], found["fleiss"], found["alpha"]]).all()
    assert row["note"] == found["note"] == "no item is rated by both, so there is no agreement to measure"


def test_without_an_item_that_all_rated_there_is_no_fleiss_kappa():
    frame = pd.DataFrame({"a": [1, 0] * 10, "b": [*[1, 0] * 5, *[None] * 10], "c": [*[None] * 10, *[0, 1] * 5]})
    found = group_agreement(ratings_from_frame(frame), FAST)
    assert (found["n"], found["n_complete"], found["agree"]) == (20, 0, 50)
    assert np.isnan(found["fleiss"])
    assert found["note"].startswith("no item is rated by all, so there is no Fleiss' kappa")
    assert "one category" not in found["note"]


def test_few_disagreements_are_told():
    frame = pd.DataFrame({"a": [1, 0] * 20, "b": [*[1, 0] * 19, 0, 0]})
    [row] = pair_agreement(ratings_from_frame(frame), FAST).to_dict("records")
    assert row["note"] == "only 1 disagreement(s) on 40 items: the interval covers less than it says"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1]}), "agreement needs two raters, found 1: a"),
        (pd.DataFrame({"a": [1], "b": [7]}), "expected ratings from 1, 2, 3, 4, 5, found 7"),
    ],
)
def test_wrong_usage(frame, message):
    with pytest.raises(UsageError, match=message):
        ratings_from_frame(frame, LEVELS)

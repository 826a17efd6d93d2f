from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from wmbxl.stats.buckets import accuracy_by_bucket, bucket_views, rank_correlation, spearman_from_counts
from wmbxl.stats.resample import Bootstrap


@pytest.fixture
def hits():
    values = np.random.default_rng(3).choice([0, 0, 0, 1, 2, 5, 7, 30], size=60)
    return pd.Series(values, index=[f"p{k:05d}" for k in range(60)])


def test_every_problem_is_in_one_bucket(hits):
    views = bucket_views(hits)
    assert [view.name for view in views] == ["0", "1-2", "3-5", "6-10", ">=11"]
    assert sorted(name for view in views for name in view.ids) == sorted(hits.index)


def test_accuracy_in_buckets(simulated, hits):
    verdicts, _ = simulated(models=1)
    table = accuracy_by_bucket(verdicts, hits, Bootstrap(replicates=100)).set_index("bucket")
    assert table["n"].sum() == 60
    inside = verdicts.contains(hits.index[hits == 0])
    assert table.loc["0", "acc"] == pytest.approx(100 * verdicts.correct[inside, 0].mean())


def test_rho_is_scipys(simulated, hits):
    verdicts, _ = simulated()
    table = rank_correlation(verdicts, hits, Bootstrap(replicates=500))
    for k, rho in enumerate(table["rho"]):
        assert rho == pytest.approx(spearmanr(hits.to_numpy(), verdicts.correct[:, k]).statistic)
        assert table["p"][k] == pytest.approx(spearmanr(hits.to_numpy(), verdicts.correct[:, k]).pvalue)
    assert ((table["ci_low"] <= table["rho"]) & (table["rho"] <= table["ci_high"])).all()


def test_two_wrong_answers_prove_nothing(simulated, hits):
    """A strong model whose few errors fall among problems without hits is likely to be so by chance."""
    verdicts, _ = simulated(models=1)
    correct = np.ones_like(verdicts.correct)
    correct[np.flatnonzero(verdicts.contains(hits.index[hits == 0]))[:2]] = False
    [row] = rank_correlation(replace(verdicts, correct=correct), hits, Bootstrap(replicates=200)).to_dict("records")
    assert row["p"] > 0.1
    assert "only 2 of 60 verdicts are wrong" in row["note"]


def test_resampled_rho_is_scipys(simulated, hits):
    verdicts, _ = simulated(models=1)
    drawn = np.random.default_rng(0).integers(0, 60, size=60)
    level = np.searchsorted(np.unique(hits), hits.to_numpy()[drawn])
    right = verdicts.correct[drawn, 0]
    width = hits.nunique()
    counts = np.concatenate([np.bincount(level[right], minlength=width), np.bincount(level, minlength=width)])
    expected = spearmanr(level, right).statistic
    assert spearman_from_counts(counts[None].astype(float)).item() == pytest.approx(expected)


def test_no_correlation_exists(simulated, hits):
    verdicts, _ = simulated(models=1)
    [row] = rank_correlation(verdicts, hits * 0, Bootstrap(replicates=50)).to_dict("records")
    assert np.isnan(row["rho"])
    assert "there is no correlation" in row["note"]


def test_missing_verdicts_are_left_out(simulated, hits):
    verdicts, _ = simulated(models=1)
    observed = verdicts.observed.copy()
    observed[:10] = False
    holes = replace(verdicts, observed=observed, correct=verdicts.correct & observed)
    [row] = rank_correlation(holes, hits, Bootstrap(replicates=50)).to_dict("records")
    assert row["n"] == 50
    assert row["rho"] == pytest.approx(spearmanr(hits.to_numpy()[10:], verdicts.correct[10:, 0]).statistic)
    assert "10 of 60 verdicts are missing" in row["note"]

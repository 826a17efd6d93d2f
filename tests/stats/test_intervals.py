from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from wmbxl.stats.compare import replicate_accuracies, view_vs_rest
from wmbxl.stats.intervals import adjusted, intervals
from wmbxl.stats.resample import Bootstrap, Replicates

METHODS = pytest.mark.parametrize("method", ["percentile", "basic", "bca"])


def scipy_interval(samples, statistic, draws, method, paired):
    """SciPy's interval from our replicates, so that any difference is one of method and not of chance."""
    given = stats._resampling.BootstrapResult(
        confidence_interval=None, bootstrap_distribution=draws, standard_error=None
    )
    found = stats.bootstrap(
        samples,
        statistic,
        n_resamples=0,
        bootstrap_result=given,
        method=method,
        paired=paired,
        vectorized=True,
    )
    return found.confidence_interval, found.standard_error


@METHODS
def test_full_versus_view_agrees_with_scipy(simulated, method):
    verdicts, view = simulated(items=120, models=3, view=100)
    inside = verdicts.contains(view.ids)
    both = replicate_accuracies(verdicts, [np.ones(120, dtype=bool), inside], Bootstrap(replicates=999))
    deltas = both.columns(slice(0, 3)).minus(both.columns(slice(3, 6)))

    def statistic(right, kept, axis):
        # The same operations in the same order, for BCa counts ties with the estimate.
        return right.mean(axis=axis) * 100 - (right * kept).sum(axis=axis) / kept.sum(axis=axis) * 100

    for k, found in enumerate(intervals(deltas, Bootstrap(replicates=999, method=method))):
        samples = (verdicts.correct[:, k].astype(float), inside.astype(float))
        expected, error = scipy_interval(samples, statistic, deltas.draws[:, k], method, paired=True)
        np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high], rtol=1e-9)
        assert found.standard_error == pytest.approx(error)


@METHODS
def test_independent_sides_agree_with_scipy(simulated, method):
    verdicts, view = simulated(items=120, models=1, view=80)
    inside = verdicts.contains(view.ids)
    sides = [verdicts.take(inside), verdicts.take(~inside)]
    a, b = (
        replicate_accuracies(side, [np.ones(len(side), dtype=bool)], Bootstrap(replicates=999), stream)
        for stream, side in enumerate(sides)
    )
    difference = a.minus_independent(b)
    [found] = intervals(difference, Bootstrap(replicates=999, method=method))

    def statistic(one, other, axis):
        return one.mean(axis=axis) * 100 - other.mean(axis=axis) * 100

    samples = tuple(side.correct[:, 0].astype(float) for side in sides)
    expected, _ = scipy_interval(samples, statistic, difference.draws[:, 0], method, paired=False)
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high], rtol=1e-9)


@METHODS
def test_scipys_own_draws_give_the_same_within_monte_carlo_error(simulated, method):
    verdicts, view = simulated(items=150, models=1, view=100)
    table = view_vs_rest(verdicts, [view], Bootstrap(method=method))
    inside = verdicts.contains(view.ids)
    samples = tuple(100.0 * verdicts.correct[side, 0] for side in (inside, ~inside))
    expected = stats.bootstrap(
        samples,
        lambda one, other, axis: one.mean(axis=axis) - other.mean(axis=axis),
        method=method,
        rng=np.random.default_rng(1),
    ).confidence_interval
    error = 4 * table["se_pp"].item() * 2.7 / 100
    np.testing.assert_allclose(table[["ci_low_pp", "ci_high_pp"]].to_numpy()[0], expected, atol=error)


def replicated(draws, estimate=0.0):
    column = np.asarray(draws, dtype=float)[:, None]
    return Replicates(np.array([estimate]), column, np.zeros((1, 1)))


def test_a_p_value_is_never_zero_and_never_above_one():
    [apart] = intervals(replicated(np.arange(1, 100)), Bootstrap())
    [centred] = intervals(replicated(np.zeros(99)), Bootstrap())
    assert apart.p_value == pytest.approx(2 / 100)
    assert centred.p_value == 1


def test_undefined_replicates_are_counted_and_left_out():
    [found] = intervals(replicated([1, np.nan, 3, np.nan]), Bootstrap(level=0.5))
    assert (found.undefined, found.low, found.high) == (2, 1.5, 2.5)


def test_no_replicate_is_defined():
    [found] = intervals(replicated([np.nan, np.nan], estimate=np.nan), Bootstrap())
    assert np.isnan([found.low, found.high, found.p_value]).all()


def test_adjustments_are_those_of_statsmodels():
    p_values = pd.Series(np.random.default_rng(0).random(30) ** 4)
    p_values[7] = np.nan
    found = adjusted(p_values)
    assert found.loc[7].isna().all()
    for column, method in (("p_bonferroni", "bonferroni"), ("p_holm", "holm"), ("p_bh", "fdr_bh")):
        expected = multipletests(p_values.dropna(), method=method)[1]
        np.testing.assert_allclose(found[column].dropna(), expected)


def test_nothing_to_adjust():
    assert adjusted(pd.Series([np.nan, np.nan])).isna().all(axis=None)
    assert adjusted(pd.Series([], dtype=float)).empty

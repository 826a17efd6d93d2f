"""From replicates to intervals and p-values.

References
----------
Efron, B. and Tibshirani, R. (1993). *An Introduction to the Bootstrap*, chapters 13, 14 and 16.
Davison, A. C. and Hinkley, D. V. (1997). *Bootstrap Methods and Their Application*, section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control

from wmbxl.stats.resample import Bootstrap, Floats, Replicates

# Percentage points nearer to zero than this differ from it by rounding alone.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Interval:
    """An estimate with its uncertainty, all in the statistic's own unit.

    Attributes
    ----------
    estimate : float
        The statistic of the data.
    low, high : float
        The interval's ends; NaN where they are undefined.
    standard_error : float
        Standard deviation of the replicates.
    p_value : float
        Two-sided bootstrap p-value of the hypothesis that the statistic is 0.
    largest : float
        Largest absolute value among the replicates.
    undefined : int
        Replicates without a value, left out of all the above.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    p_value: float
    largest: float
    undefined: int


def intervals(replicates: Replicates, bootstrap: Bootstrap) -> list[Interval]:
    """Read an interval off the replicates of each statistic.

    Parameters
    ----------
    replicates : Replicates
        S statistics.
    bootstrap : Bootstrap
        Its `method` and `level`.

    Returns
    -------
    list of Interval, length S
        Ends are quantiles with linear interpolation, as in `scipy.stats.bootstrap`.

    Examples
    --------
    >>> draws = np.arange(101.0)[:, None]
    >>> [found] = intervals(Replicates(np.array([50.0]), draws, np.zeros((1, 1))), Bootstrap(level=0.9))
    >>> found.low, found.high
    (5.0, 95.0)
    """
    return [
        _interval(float(replicates.estimate[k]), replicates.draws[:, k], replicates.influence[:, k], bootstrap)
        for k in range(len(replicates.estimate))
    ]


def _interval(estimate: float, draws: Floats, influence: Floats, bootstrap: Bootstrap) -> Interval:
    defined = draws[~np.isnan(draws)]
    undefined = len(draws) - len(defined)
    if len(defined) == 0 or np.isnan(estimate):
        return Interval(estimate, np.nan, np.nan, np.nan, np.nan, np.nan, undefined)
    # Rounded, so that a level of 0.95 means the 2.5th percentile and not one that differs in the last bit.
    tail = round(50 * (1 - bootstrap.level), 12)
    percents = np.array([tail, 100 - tail])
    if bootstrap.method == "bca":
        percents = _bca_percents(estimate, defined, influence, percents)
    low, high = np.full(2, np.nan) if np.isnan(percents).any() else np.percentile(defined, percents)
    if bootstrap.method == "basic":
        low, high = 2 * estimate - high, 2 * estimate - low
    return Interval(
        estimate,
        float(low),
        float(high),
        standard_error=float(defined.std(ddof=1)) if len(defined) > 1 else np.nan,
        p_value=_p_value(defined),
        largest=float(np.abs(defined).max()),
        undefined=undefined,
    )


def _bca_percents(estimate: float, draws: Floats, influence: Floats, percents: Floats) -> Floats:
    """Adjust percentiles for bias and acceleration (Efron and Tibshirani, equations 14.9 to 14.15)."""
    below = np.count_nonzero(draws < estimate) + np.count_nonzero(draws <= estimate)
    bias = ndtri(below / (2 * len(draws)))
    with np.errstate(invalid="ignore", divide="ignore"):
        acceleration = np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5)
        shifted = bias + ndtri(percents / 100)
        adjusted: Floats = 100 * ndtr(bias + shifted / (1 - acceleration * shifted))
    return adjusted


def _p_value(draws: Floats) -> float:
    # The data count as one more replicate, so that p is never 0 (Davison and Hinkley, 4.11).
    low = 1 + np.count_nonzero(draws <= _ROUNDING)
    high = 1 + np.count_nonzero(draws >= -_ROUNDING)
    return float(min(1.0, 2 * min(low, high) / (len(draws) + 1)))


def adjusted(p_values: pd.Series[float]) -> pd.DataFrame:
    """Adjust p-values for the number of comparisons.

    Parameters
    ----------
    p_values : pandas.Series of float
        One family of comparisons. NaN stays NaN and doesn't count as a comparison.

    Returns
    -------
    pandas.DataFrame
        ``p_bonferroni``, ``p_holm``, ``p_bh`` (Benjamini and Hochberg), with the same index.

    Examples
    --------
    >>> adjusted(pd.Series([0.01, 0.04])).round(3).values.tolist()
    [[0.02, 0.02, 0.02], [0.08, 0.04, 0.04]]
    """
    known = p_values.dropna()
    values: Floats = np.asarray(known, dtype=np.float64)
    columns = {
        "p_bonferroni": np.minimum(1, values * len(values)),
        "p_holm": _holm(values),
        "p_bh": false_discovery_control(values) if len(values) else values,
    }
    return pd.DataFrame(columns, index=known.index).reindex(p_values.index)


def _holm(values: Floats) -> Floats:
    # statsmodels has it too, but runs a full garbage collection at every call, which here costs more than the
    # bootstrap itself.
    order = np.argsort(values)
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    holm = np.empty_like(values)
    holm[order] = np.minimum(1, stepped)
    return holm

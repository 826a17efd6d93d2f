"""What a reader has to know about a number before using it, in words."""

from __future__ import annotations

import math

from statsmodels.stats.proportion import proportion_confint

from wmbxl.stats.intervals import Interval

# With fewer problems, or fewer right or wrong answers, intervals cover less than they say;
# benchmarks/coverage.py measures it.
FEW = 10


def about_sizes(n_inside: int, n_outside: int) -> list[str]:
    """Say what a view's size means for a comparison with everything."""
    if n_inside == 0:
        return ["no problem with a verdict is in this view, so there is nothing to compare"]
    if n_outside == 0:
        return ["every problem with a verdict is in this view, so there is nothing outside to compare"]
    lines = about_small(n_inside)
    if n_outside < FEW:
        lines.append(
            f"only {n_outside} problem(s) lie outside the view: the interval covers less than it says"
        )
    return lines


def about_small(n: int) -> list[str]:
    """Say that a set has too few problems to resample, or none."""
    if n == 0:
        return ["no problem with a verdict is here"]
    return [f"only {n} problem(s) are here: the interval covers less than it says"] if n < FEW else []


def about_extremes(correct: int, n: int) -> list[str]:
    """Say that nearly all answers are right, or nearly all wrong, so that resamples hardly differ."""
    if n == 0:
        return ["no verdict is here"]
    side, count = ("wrong", n - correct) if 2 * correct >= n else ("right", correct)
    if count >= FEW:
        return []
    amount = f"no verdict is {side}" if count == 0 else f"only {count} verdict(s) are {side}"
    return [f"{amount}: resamples hardly differ and the interval covers less than it says"]


def about_accuracy(correct: int, n: int, level: float) -> list[str]:
    """Give the exact interval where resamples hardly differ."""
    lines = about_extremes(correct, n)
    if n and lines:
        low, high = proportion_confint(correct, n, alpha=1 - level, method="beta")
        lines.append(f"the exact (Clopper-Pearson) interval is {100 * low:.2f} to {100 * high:.2f} %")
    return lines


def about_replicates(interval: Interval, replicates: int) -> list[str]:
    """Say how many replicates were of no use, and that an interval of some kind doesn't exist."""
    lines = []
    if 0 < interval.undefined < replicates:
        lines.append(
            f"{interval.undefined} of {replicates} resamples drew no verdict to count and were left out"
        )
    if math.isnan(interval.low) and not math.isnan(interval.standard_error):
        lines.append("this kind of interval does not exist here; use the percentile interval")
    return lines


def about_missing(missing: int, n: int) -> list[str]:
    """Say how many verdicts are missing."""
    return [f"{missing} of {n} verdicts are missing and left out"] if missing else []


def about_undecided(undecided: int) -> list[str]:
    """Say how many problems an incomplete audit left open."""
    return [f"{undecided} problem(s) are undecided by the audit and on neither side"] if undecided else []

"""What a reader has to know about a number before using it, in words."""

from __future__ import annotations

import math

from statsmodels.stats.proportion import proportion_confint

from wmbxl.stats.intervals import Interval

# With fewer problems, or with fewer right or wrong answers, intervals cover less than they say;
# benchmarks/intervals.py measures it.
FEW_PROBLEMS = 10
FEW_ANSWERS = 5
_WEAK = "the interval covers less than it says"


def about_sizes(n_inside: int, n_outside: int) -> list[str]:
    """Say what a view's size means for a comparison with everything."""
    if n_inside == 0:
        return ["no problem with a verdict is in this view, so there is nothing to compare"]
    if n_outside == 0:
        return ["every problem with a verdict is in this view, so there is nothing outside to compare"]
    sides = (("in", n_inside), ("outside", n_outside))
    return [f"only {n} problem(s) {where} the view: {_WEAK}" for where, n in sides if n < FEW_PROBLEMS]


def about_answers(correct: int, n: int, where: str = "") -> list[str]:
    """Say that nearly all answers are right, or nearly all wrong, so that resamples hardly differ."""
    if n == 0:
        return []
    side, count = ("wrong", n - correct) if 2 * correct >= n else ("right", correct)
    if count >= FEW_ANSWERS:
        return []
    amount = "none" if count == 0 else f"only {count}"
    return [f"{amount} of {n} verdicts{where} {'are' if count > 1 else 'is'} {side}: {_WEAK}"]


def about_accuracy(correct: int, n: int, level: float) -> list[str]:
    """Give the exact interval where resamples hardly differ."""
    if n == 0:
        return ["no verdict is here, so there is no accuracy"]
    lines = about_answers(correct, n)
    if lines:
        low, high = proportion_confint(correct, n, alpha=1 - level, method="beta")
        lines.append(f"the exact (Clopper-Pearson) interval is {100 * low:.2f} to {100 * high:.2f} %")
    return lines


def about_common(n: int) -> list[str]:
    """Say that two models share few problems, or none."""
    if n == 0:
        return ["the two models have no problem in common here"]
    return [f"only {n} problem(s) in common: {_WEAK}"] if n < FEW_PROBLEMS else []


def about_agreement(agreed: int, n: int) -> list[str]:
    """Say that raters share few items, or disagree (or agree) on so few that resamples hardly differ."""
    if n == 0:
        return ["no item is rated by both, so there is no agreement to measure"]
    if n < FEW_PROBLEMS:
        return [f"only {n} item(s) in common: {_WEAK}"]
    side, count = ("disagreement", n - agreed) if 2 * agreed >= n else ("agreement", agreed)
    return [] if count >= FEW_ANSWERS else [f"only {count} {side}(s) on {n} items: {_WEAK}"]


def about_replicates(interval: Interval, replicates: int) -> list[str]:
    """Say how many replicates were of no use, and that an interval of some kind doesn't exist."""
    lines = []
    if interval.undefined and not math.isnan(interval.estimate):
        lines.append(
            f"{interval.undefined} of {replicates} resamples drew no verdicts, or only equal ones, and were left out"
        )
    if math.isnan(interval.low) and not math.isnan(interval.standard_error):
        lines.append("this kind of interval does not exist here; use the percentile interval")
    return lines


def about_missing(missing: int, n: int) -> list[str]:
    """Say how many verdicts are missing."""
    return [f"{missing} of {n} verdicts are missing and left out"] if missing else []


def about_clusters(shared: int) -> list[str]:
    """Say that two sides that are resampled on their own have clusters in common."""
    if not shared:
        return []
    return [f"{shared} cluster(s) have problems on both sides, so the sides are not independent: {_WEAK}"]


def about_undecided(undecided: int) -> list[str]:
    """Say how many problems an incomplete audit left open."""
    return [f"{undecided} problem(s) are undecided by the audit and on neither side"] if undecided else []

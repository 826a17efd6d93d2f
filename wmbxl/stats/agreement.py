r"""Agreement of raters on the same items: raw, and in excess of chance.

Raw agreement, Cohen's and Fleiss' kappa and Krippendorff's alpha are all functions of sums over items: of a table of
confusions, of counts per category, of coincidences. So their intervals come from the bootstrap of accuracies: items
(or clusters of them) are drawn, sums are taken, and the same function turns the sums of all resamples to coefficients.

References
----------
Cohen, J. (1968). Weighted kappa. *Psychological Bulletin* 70(4), 213–220.
Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. *Psychological Bulletin* 76(5), 378–382.
Krippendorff, K. (2019). *Content Analysis*, 4th edition, chapter 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmbxl.errors import UsageError
from wmbxl.stats import remarks
from wmbxl.stats.compare import sentence
from wmbxl.stats.intervals import Interval, intervals
from wmbxl.stats.resample import Bootstrap, Floats, cluster_sums, replicate

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal"]

_ABSENT = -1


@dataclass(frozen=True)
class Ratings:
    """What raters said of items.

    Attributes
    ----------
    raters : tuple of str, length R
        Names of the raters.
    categories : tuple, length K
        What a rater can say; in ascending order, if order has a meaning.
    codes : ndarray of int, shape (N, R)
        Index into `categories`, or -1 where a rater said nothing of an item.
    clusters : tuple of str or None
        Items with the same label are resampled together; None resamples items one by one.
    """

    raters: tuple[str, ...]
    categories: tuple[Any, ...]
    codes: NDArray[np.int64]
    clusters: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, keep: NDArray[np.bool_]) -> Ratings:
        """Keep the items that a bool array of shape (N,) marks."""
        clusters = None if self.clusters is None else tuple(np.array(self.clusters, dtype=object)[keep])
        return replace(self, codes=self.codes[keep], clusters=clusters)

    def counts(self) -> NDArray[np.int64]:
        """Count how many raters chose each category, as an array of shape (N, K)."""
        return (self.codes[:, :, None] == np.arange(len(self.categories))).sum(axis=1)


def ratings_from_frame(
    frame: pd.DataFrame, categories: Sequence[Any] | None = None, clusters: Sequence[str] | None = None
) -> Ratings:
    """Take ratings from a table with a row for each item and a column for each rater.

    Parameters
    ----------
    frame : pandas.DataFrame, shape (N, R)
        Missing values are items that a rater did not rate.
    categories : sequence, optional
        What a rater can say, in ascending order; by default the values found, sorted.
    clusters : sequence of str, length N, optional
        Items with the same label are resampled together.

    Raises
    ------
    UsageError
        There are fewer than two raters, or a value is none of `categories`.

    Examples
    --------
    >>> ratings = ratings_from_frame(pd.DataFrame({"ann": [1, 2, None], "bob": [1, 5, 3]}), [1, 2, 3, 4, 5])
    >>> ratings.codes.tolist()
    [[0, 0], [1, 4], [-1, 2]]
    """
    if frame.shape[1] < 2:
        raise UsageError(f"agreement needs two raters, found {frame.shape[1]}: {', '.join(map(str, frame.columns))}")
    found = pd.unique(frame.to_numpy(dtype=object)[frame.notna().to_numpy()])
    known = tuple(sorted(found) if categories is None else categories)
    strange = sorted({str(value) for value in found if value not in known})
    if strange:
        raise UsageError(f"expected ratings from {', '.join(map(str, known))}, found {', '.join(strange)}")
    codes = np.column_stack([pd.Categorical(frame[name], categories=list(known)).codes for name in frame.columns])
    return Ratings(
        tuple(str(name) for name in frame.columns),
        known,
        codes.astype(np.int64),
        None if clusters is None else tuple(clusters),
    )


def pair_agreement(ratings: Ratings, bootstrap: Bootstrap, weights: Weights = "none") -> pd.DataFrame:
    """Raw agreement and Cohen's kappa of every two raters, on the items that both rated.

    Parameters
    ----------
    ratings : Ratings
        The ratings.
    bootstrap : Bootstrap
        The protocol.
    weights : {"none", "linear", "quadratic"}
        How much a disagreement counts: all alike, by the distance of the categories, or by its square.

    Returns
    -------
    pandas.DataFrame
        ``rater_a, rater_b, n, agree, ci_low_agree, ci_high_agree, kappa, ci_low_kappa, ci_high_kappa, note``, with
        `agree` in percent. Kappa is NaN where both raters use one and the same category only.

    Examples
    --------
    >>> frame = pd.DataFrame({"ann": [1, 1, 0, 0], "bob": [1, 1, 0, 1]})
    >>> pair_agreement(ratings_from_frame(frame), Bootstrap(replicates=100))[["n", "agree", "kappa"]]
       n  agree  kappa
    0  4   75.0    0.5
    """
    rows = [
        {"rater_a": ratings.raters[a], "rater_b": ratings.raters[b], **_pair_cells(ratings, a, b, bootstrap, weights)}
        for a, b in combinations(range(len(ratings.raters)), 2)
    ]
    return pd.DataFrame(rows)


def _pair_cells(ratings: Ratings, a: int, b: int, bootstrap: Bootstrap, weights: Weights) -> dict[str, Any]:
    categories = len(ratings.categories)
    both = ratings.take((ratings.codes[:, [a, b]] != _ABSENT).all(axis=1))
    cell = both.codes[:, a] * categories + both.codes[:, b]
    confusions = (cell[:, None] == np.arange(categories**2)).astype(np.float64)
    found = _intervals(both, confusions, _Cohen(_disagreement(categories, weights)), bootstrap)
    agreed = int((both.codes[:, a] == both.codes[:, b]).sum())
    return {
        "n": len(both),
        **_cells(dict(zip(("agree", "kappa"), found, strict=True))),
        "note": sentence(_notes(agreed, len(both), found, bootstrap)),
    }


def group_agreement(ratings: Ratings, bootstrap: Bootstrap, level: Level = "nominal") -> dict[str, Any]:
    """Raw agreement, Fleiss' kappa and Krippendorff's alpha of all raters together.

    Parameters
    ----------
    ratings : Ratings
        The ratings.
    bootstrap : Bootstrap
        The protocol.
    level : {"nominal", "ordinal"}
        For alpha, whether the order of the categories has a meaning.

    Returns
    -------
    dict
        ``raters, n, n_complete, agree, ci_low_agree, ci_high_agree, fleiss, ci_low_fleiss, ci_high_fleiss, alpha,
        ci_low_alpha, ci_high_alpha, note``. `agree` is the percentage of pairs of raters that agree. It and alpha are
        over the `n` items with at least two ratings; Fleiss' kappa is over the `n_complete` that all raters rated.

    Examples
    --------
    >>> frame = pd.DataFrame({"ann": [1, 1, 0, 0], "bob": [1, 1, 0, 1], "cyd": [1, 1, 0, None]})
    >>> found = group_agreement(ratings_from_frame(frame), Bootstrap(replicates=100))
    >>> found["n"], found["n_complete"], found["agree"], found["fleiss"], round(found["alpha"], 3)
    (4, 3, 90.0, 1.0, 0.643)
    """
    raters, categories = len(ratings.raters), len(ratings.categories)
    rated = (ratings.codes != _ABSENT).sum(axis=1)
    several, complete = ratings.take(rated >= 2), ratings.take(rated == raters)
    [agree, alpha] = _intervals(
        several, _coincidences(several), _Krippendorff(categories, _common_multiple(raters), level), bootstrap
    )
    [fleiss] = _intervals(complete, _agreeing(complete), _Fleiss(raters), bootstrap)
    lines = [] if len(complete) else ["no item is rated by all, so there is no Fleiss' kappa"]
    measured = [agree, alpha, *([fleiss] if len(complete) else [])]
    unanimous = int((several.counts().max(axis=1, initial=0) == (several.codes != _ABSENT).sum(axis=1)).sum())
    return {
        "raters": raters,
        "n": len(several),
        "n_complete": len(complete),
        **_cells({"agree": agree, "fleiss": fleiss, "alpha": alpha}),
        "note": sentence(lines if len(several) else [], _notes(unanimous, len(several), measured, bootstrap)),
    }


def _intervals(
    ratings: Ratings, totals: Floats, statistic: Callable[[Floats], Floats], bootstrap: Bootstrap
) -> list[Interval]:
    return intervals(replicate(cluster_sums(totals, ratings.clusters), statistic, bootstrap), bootstrap)


def _cells(found: dict[str, Interval]) -> dict[str, float]:
    return {
        key: value
        for name, interval in found.items()
        for key, value in (
            (name, interval.estimate),
            (f"ci_low_{name}", interval.low),
            (f"ci_high_{name}", interval.high),
        )
    }


def _notes(agreed: int, n: int, found: Sequence[Interval], bootstrap: Bootstrap) -> list[str]:
    lines = remarks.about_agreement(agreed, n)
    if n and any(math.isnan(interval.estimate) for interval in found):
        lines.append("only one category is used, so chance would agree as well: there is no coefficient")
    about = [line for interval in found for line in remarks.about_replicates(interval, bootstrap.replicates)]
    return [*lines, *dict.fromkeys(about)]


def _disagreement(categories: int, weights: Weights) -> Floats:
    """Weigh how far two categories are apart, as an array of shape (K, K)."""
    distance = np.abs(np.subtract.outer(np.arange(categories), np.arange(categories))).astype(np.float64)
    return {"none": np.sign(distance), "linear": distance, "quadratic": distance**2}[weights]


@dataclass(frozen=True)
class _Cohen:
    """From confusions, shape (rows, K²), to raw agreement in percent and kappa."""

    disagreement: Floats

    def __call__(self, sums: Floats) -> Floats:
        table = sums.reshape(len(sums), *self.disagreement.shape)
        n = table.sum(axis=(1, 2))
        by_chance = table.sum(axis=2)[:, :, None] * table.sum(axis=1)[:, None, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = (self.disagreement * table).sum(axis=(1, 2)) / n
            expected = (self.disagreement * by_chance).sum(axis=(1, 2)) / n**2
            agree = np.trace(table, axis1=1, axis2=2) / n * 100
            kappa = _in_excess_of_chance(observed, expected)
        return np.column_stack([agree, kappa])


def _agreeing(ratings: Ratings) -> Floats:
    """Return each item's counts of categories and its agreeing pairs of raters, shape (N, K + 1)."""
    counts = ratings.counts()
    return np.column_stack([counts, (counts * (counts - 1)).sum(axis=1)]).astype(np.float64)


@dataclass(frozen=True)
class _Fleiss:
    """From sums of `_agreeing` to Fleiss' kappa."""

    raters: int

    def __call__(self, sums: Floats) -> Floats:
        counts, agreeing = sums[:, :-1], sums[:, -1]
        ratings = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = 1 - agreeing / (ratings * (self.raters - 1))
            expected = 1 - ((counts / ratings[:, None]) ** 2).sum(axis=1)
            return _in_excess_of_chance(observed, expected)[:, None]


def _coincidences(ratings: Ratings) -> Floats:
    """Return what each item adds to the coincidences of categories, and to its agreeing and all pairs of raters.

    Shape (N, K² + 2). Krippendorff divides an item's pairs by its number of ratings less one; here all are multiplied
    by a common multiple of those, so that they are whole numbers.
    """
    counts = ratings.counts()
    rated = counts.sum(axis=1)
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(len(ratings.categories), dtype=np.int64))
    scale = _common_multiple(len(ratings.raters)) // np.maximum(rated - 1, 1)
    agreeing = np.trace(pairs, axis1=1, axis2=2)
    flat = (pairs * scale[:, None, None]).reshape(len(ratings), len(ratings.categories) ** 2)
    return np.column_stack([flat, agreeing, rated * (rated - 1)]).astype(np.float64)


def _common_multiple(raters: int) -> int:
    return math.lcm(*range(1, raters))


@dataclass(frozen=True)
class _Krippendorff:
    """From sums of `_coincidences` to raw agreement in percent and Krippendorff's alpha."""

    categories: int
    scale: int
    level: Level

    def __call__(self, sums: Floats) -> Floats:
        coincidences = sums[:, :-2].reshape(len(sums), self.categories, self.categories) / self.scale
        values = coincidences.sum(axis=2)
        n = values.sum(axis=1)
        distance = self._distance(values)
        by_chance = values[:, :, None] * values[:, None, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = (coincidences * distance).sum(axis=(1, 2)) / n
            expected = (by_chance * distance).sum(axis=(1, 2)) / (n * (n - 1))
            agree = sums[:, -2] / sums[:, -1] * 100
            return np.column_stack([agree, _in_excess_of_chance(observed, expected)])

    def _distance(self, values: Floats) -> Floats:
        """Square the distances of categories: of ordered ones, by how many values stand between them."""
        if self.level == "nominal":
            return 1 - np.eye(self.categories)[None]
        middle = np.cumsum(values, axis=1) - values / 2
        distance: Floats = (middle[:, :, None] - middle[:, None, :]) ** 2
        return distance


def _in_excess_of_chance(observed: Floats, expected: Floats) -> Floats:
    return 1 - observed / np.where(expected > 0, expected, np.nan)

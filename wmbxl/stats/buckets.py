"""Accuracy by how often a problem was found, and the rank correlation of the two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy.stats

from wmbxl.stats import remarks
from wmbxl.stats.compare import accuracy, sentence
from wmbxl.stats.intervals import intervals
from wmbxl.stats.resample import Bootstrap, Floats, cluster_sums, replicate
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View

# First count of each bucket: 0, 1-2, 3-5, 6-10, 11 and more.
STARTS = (0, 1, 3, 6, 11)


def bucket_views(hits: pd.Series[int], starts: Sequence[int] = STARTS) -> list[View]:
    """Sort problems into buckets by their hits.

    Parameters
    ----------
    hits : pandas.Series of int
        ``hits_total`` by problem id.
    starts : sequence of int
        First count of each bucket, rising.

    Returns
    -------
    list of View
        One per bucket, empty ones included.

    Examples
    --------
    >>> [(view.name, view.ids) for view in bucket_views(pd.Series({"a": 0, "b": 2, "c": 40}))]
    [('0', ('a',)), ('1-2', ('b',)), ('3-5', ()), ('6-10', ()), ('>=11', ('c',))]
    """
    views = []
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        if following is None:
            name, inside = f">={start}", hits >= start
        else:
            name = str(start) if following == start + 1 else f"{start}-{following - 1}"
            inside = (hits >= start) & (hits < following)
        views.append(View(name, tuple(hits.index[inside]), f"hits_total {name}"))
    return views


def accuracy_by_bucket(verdicts: Verdicts, hits: pd.Series[int], bootstrap: Bootstrap) -> pd.DataFrame:
    """Take every model's accuracy in each bucket of hits.

    Parameters
    ----------
    verdicts, bootstrap
        As for `wmbxl.stats.compare.accuracy`.
    hits : pandas.Series of int
        ``hits_total`` by problem id.

    Returns
    -------
    pandas.DataFrame
        ``bucket, model, n, acc, ci_low, ci_high, note``.
    """
    return accuracy(verdicts, bucket_views(hits), bootstrap).rename(columns={"view": "bucket"})


def rank_correlation(verdicts: Verdicts, hits: pd.Series[int], bootstrap: Bootstrap) -> pd.DataFrame:
    """Correlate hits with being right (Spearman's rho, ties at their middle rank).

    Under resampling, ranks follow from how often each count of hits was drawn with a right and with a wrong
    answer, so a replicate needs a table of counts and no sorting.

    Parameters
    ----------
    verdicts, hits, bootstrap
        As for `accuracy_by_bucket`. Problems without hits on record are left out.

    Returns
    -------
    pandas.DataFrame
        ``model, n, rho, ci_low, ci_high, p, note``. `rho` is NaN if all hits, or all verdicts, are the same. `p` is
        that of `scipy.stats.spearmanr`.
    """
    part = verdicts.take(verdicts.contains(hits.index))
    rows = []
    for k, model in enumerate(part.models):
        seen = part.take(part.observed[:, k])
        counts = hits.reindex(list(seen.ids)).to_numpy()
        right = seen.correct[:, k]
        _, level = np.unique(counts, return_inverse=True)
        drawn = np.eye(level.max(initial=-1) + 1)[level]
        totals = cluster_sums(np.concatenate([drawn * seen.correct[:, [k]], drawn], axis=1), seen.clusters)
        [found] = intervals(replicate(totals, spearman_from_counts, bootstrap), bootstrap)
        lines = ["all hits or all verdicts are the same, so there is no correlation"]
        note = sentence(
            lines if np.isnan(found.estimate) else [],
            remarks.about_missing(len(part) - len(seen), len(part)),
            remarks.about_answers(int(right.sum()), len(seen)),
            remarks.about_replicates(found, bootstrap.replicates),
        )
        # Resamples say how sure rho is, not how likely it is by chance: few wrong answers are alike in all of them.
        p_value = np.nan if np.isnan(found.estimate) else float(scipy.stats.spearmanr(counts, right).pvalue)
        rows.append((model, len(seen), found.estimate, found.low, found.high, p_value, note))
    return pd.DataFrame(rows, columns=["model", "n", "rho", "ci_low", "ci_high", "p", "note"])


def spearman_from_counts(counts: Floats) -> Floats:
    """Compute Spearman's rho between an ordered level and a right or wrong answer.

    Parameters
    ----------
    counts : ndarray, shape (rows, 2 * K)
        For each of K rising levels the number of right answers, then for each the number of answers.

    Returns
    -------
    ndarray, shape (rows, 1)

    Examples
    --------
    >>> spearman_from_counts(np.array([[1.0, 0.0, 1.0, 1.0]])).tolist()
    [[-1.0]]
    """
    right, drawn = np.split(counts, 2, axis=1)
    middle_rank = np.cumsum(drawn, axis=1) - (drawn - 1) / 2
    total = drawn.sum(axis=1)
    centred = middle_rank - (total[:, None] + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        share = right.sum(axis=1) / total
        covariance = (centred * right).sum(axis=1) / total
        variance = (centred**2 * drawn).sum(axis=1) / total
        rho: Floats = covariance / np.sqrt(variance * share * (1 - share))
    return rho[:, None]

"""Corpora against each other: which documents they share, estimated from small sketches of the scan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

Array = np.ndarray[Any, Any]

COLUMNS = ("corpus", "other", "share", "ci_low", "ci_high", "sampled")


def containment(sketches: Mapping[str, Array], size: int, level: float = 0.95) -> pd.DataFrame:
    """Estimate which share of each corpus's distinct documents is also in each other corpus.

    A sketch holds the `size` smallest xxh64 of a corpus's distinct documents (all of them, if it has fewer). Below
    the smaller of two sketches' limits both are complete, so the documents there are a random sample of each
    corpus, drawn alike: one that both have is drawn in both.

    Parameters
    ----------
    sketches : mapping of str to uint64 array
        Corpus to its sketch, ascending.
    size : int
        Most hashes that a sketch holds.
    level : float
        Of the Wilson interval.

    Returns
    -------
    pandas.DataFrame
        For each ordered pair: ``share`` of `corpus` that is in `other`, its interval, and how many documents of
        `corpus` the estimate rests on. The standard error is ``sqrt(share * (1 - share) / sampled)``; a corpus that
        is much smaller than the other is sampled by few documents. Null where none was sampled.

    References
    ----------
    .. [1] Beyer et al., "On synopses for distinct-value estimation under multiset operations", SIGMOD 2007.

    Examples
    --------
    >>> small, large = np.array([1, 5, 9], np.uint64), np.array([1, 2, 5, 8], np.uint64)
    >>> containment({"small": small, "large": large}, size=100)[["corpus", "other", "share", "sampled"]].round(3)
      corpus  other  share  sampled
    0  small  large  0.667        3
    1  large  small  0.500        4
    """
    rows = []
    for corpus, own in sketches.items():
        for other, theirs in sketches.items():
            if corpus == other:
                continue
            limit = min(_limit(own, size), _limit(theirs, size))
            sampled = own[own <= limit]
            shared = len(np.intersect1d(sampled, theirs))
            low, high = (
                proportion_confint(shared, len(sampled), 1 - level, "wilson") if len(sampled) else (np.nan, np.nan)
            )
            share = shared / len(sampled) if len(sampled) else np.nan
            rows.append((corpus, other, share, low, high, len(sampled)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _limit(sketch: Array, size: int) -> np.uint64:
    """Return the largest hash up to which a sketch holds every document."""
    return sketch[-1] if len(sketch) >= size else np.uint64(0xFFFFFFFFFFFFFFFF)

"""How far raters agree, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from wmbxl.construct.screening.judgements import LEVELS, Judgement
from wmbxl.stats.agreement import group_agreement, pair_agreement, ratings_from_frame
from wmbxl.stats.resample import Bootstrap

DECISIONS = ("reject", "revise", "accept")
PROTOCOL = Bootstrap(replicates=2000)

What = Literal["decision", "level"]


@dataclass(frozen=True)
class Agreement:
    """Agreement of raters on decisions or on levels.

    Attributes
    ----------
    what : {"decision", "level"}
    pairs : pandas.DataFrame
        Of every two raters, from `wmbxl.stats.agreement.pair_agreement`. Kappa of levels has quadratic weights.
    group : dict
        Of all together, from `wmbxl.stats.agreement.group_agreement`.
    """

    what: What
    pairs: pd.DataFrame
    group: dict[str, Any]


def agreement(current: Mapping[str, Mapping[str, Judgement]]) -> list[Agreement]:
    """Measure agreement on the problems that two or more experts judged.

    Parameters
    ----------
    current : mapping
        The latest judgements, by problem and rater.

    Returns
    -------
    list of Agreement
        On decisions, then on levels; empty if no problem has two judgements.
    """
    shared = {problem: by_rater for problem, by_rater in current.items() if len(by_rater) > 1}
    if not shared:
        return []
    return [_measured(shared, "decision", DECISIONS), _measured(shared, "level", sorted(LEVELS))]


def _measured(shared: Mapping[str, Mapping[str, Judgement]], what: What, categories: Any) -> Agreement:
    frame = pd.DataFrame(
        {problem: {rater: getattr(each, what) for rater, each in by.items()} for problem, by in shared.items()}
    ).T
    ratings = ratings_from_frame(frame[sorted(frame.columns)], categories)
    pairs = pair_agreement(ratings, PROTOCOL, "none" if what == "decision" else "quadratic")
    return Agreement(what, pairs[pairs["n"] > 0], group_agreement(ratings, PROTOCOL, "ordinal"))

"""The funnel: how many items came into each stage, how many went on, and why the others did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from wmbxl.construct.records import Drop

# Each stage with what it counts.
STAGES = {
    "sources": "papers",
    "relevance": "papers",
    "equations": "displays and statements",
    "extraction": "equations",
    "checks": "extractions",
    "tasks": "formats",
    "solvability": "problems",
    "rubric": "problems",
    "repeats": "problems",
    "screening": "problems",
}
ENTERED, LEFT = "entered", "left"


def funnel(entered: Counter[str], drops: Iterable[Drop]) -> pd.DataFrame:
    """Return the table of a funnel.

    Parameters
    ----------
    entered : Counter
        Items by stage.
    drops : iterable of Drop

    Returns
    -------
    pandas.DataFrame
        ``stage, unit, outcome, items``: for each stage the items that entered, those dropped by reason (most first),
        and those left.

    Examples
    --------
    >>> drop = Drop(stage="sources", item="1", reason="pdf_only")
    >>> funnel(Counter(sources=3), [drop]).head(3)["items"].tolist()
    [3, 1, 2]
    """
    reasons: dict[str, Counter[str]] = {stage: Counter() for stage in STAGES}
    for drop in drops:
        reasons[drop.stage][drop.reason] += 1
    rows = []
    for stage, unit in STAGES.items():
        dropped = sorted(reasons[stage].items(), key=lambda item: (-item[1], item[0]))
        outcomes = [(ENTERED, entered[stage]), *dropped, (LEFT, entered[stage] - sum(reasons[stage].values()))]
        rows += [(stage, unit, outcome, items) for outcome, items in outcomes]
    return pd.DataFrame(rows, columns=["stage", "unit", "outcome", "items"])


@dataclass(frozen=True)
class Stage:
    """A stage of a funnel.

    Attributes
    ----------
    name, unit : str
    entered, left : int
        Items.
    dropped : dict of str to int
        By reason, most first.
    """

    name: str
    unit: str
    entered: int
    left: int
    dropped: Mapping[str, int]


def stages(table: pd.DataFrame) -> list[Stage]:
    """Return the stages of a funnel's table that anything entered."""
    found = []
    for stage, unit in STAGES.items():
        rows = table[table["stage"] == stage]
        outcomes: dict[str, int] = dict(zip(rows["outcome"], rows["items"].tolist(), strict=True))
        entered, left = outcomes.pop(ENTERED), outcomes.pop(LEFT)
        if entered:
            found.append(Stage(stage, unit, entered, left, outcomes))
    return found

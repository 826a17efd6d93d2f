"""Verdicts: whether a response is right, and which step said so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["correct", "incorrect", "undecided"]
Step = Literal["extract", "exact", "canonical", "symbolic", "judge"]


@dataclass(frozen=True)
class Verdict:
    """What a chain of checks says of a response.

    Attributes
    ----------
    outcome : {"correct", "incorrect", "undecided"}
        Undecided is no verdict on the response: no step could tell.
    step : {"extract", "exact", "canonical", "symbolic", "judge"}
        The step that decided, or the last one that tried. ``"extract"`` decides where the response states no answer.
    reason : str
        Why, in a few words.
    stated : tuple of str
        The answers that were found in the response, as it writes them, in order.
    expected : tuple of str
        The answers of the key, in order.
    """

    outcome: Outcome
    step: Step
    reason: str
    stated: tuple[str, ...]
    expected: tuple[str, ...]

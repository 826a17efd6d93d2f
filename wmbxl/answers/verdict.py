"""Verdicts: whether a response is right, and which step said so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Outcome = Literal["correct", "incorrect", "undecided"]
Step = Literal["extract", "exact", "canonical", "symbolic", "judge"]
Relation = Literal["equivalent", "different", "undecided"]


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


@dataclass(frozen=True)
class Equivalence:
    """How two LaTeX expressions relate.

    Attributes
    ----------
    relation : {"equivalent", "different", "undecided"}
        ``"different"`` is proved: the two have different values for some values of their symbols, taken as free.
    step : {"exact", "canonical", "symbolic"}
        The step that decided, or the last one that tried.
    reason : str
        Why, in a few words.
    foreign : tuple of str
        Symbols of the first expression that the second lacks. A text may define them by the second's, so
        that expressions which are different as they stand can still mean the same there.
    """

    relation: Relation
    step: Step
    reason: str
    foreign: tuple[str, ...] = ()


class Judge(Protocol):
    """Who is asked when no other step could decide; the problem's text is for the judge to know."""

    def __call__(self, response: str, answer: str) -> Verdict:
        """Say whether `response`, a model's whole text, gives `answer`, the key; the verdict's step is ``"judge"``."""
        ...

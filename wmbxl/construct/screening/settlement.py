"""From judgements to what is released: the rule, and the record of who accepted what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from wmbxl.construct.records import Drop, Problem, Review
from wmbxl.construct.screening.judgements import Judgement

STAGE = "screening"

Status = Literal["accepted", "rejected", "revise", "disputed", "open"]


def status(judgements: Mapping[str, Judgement]) -> Status:
    """Say what the experts' latest judgements of one problem come to.

    Parameters
    ----------
    judgements : mapping of str to Judgement
        By rater.

    Returns
    -------
    {"accepted", "rejected", "revise", "disputed", "open"}
        Accepted only if nobody objects; disputed if some accept and some don't; open if nobody has judged.
    """
    decisions = [judgement.decision for judgement in judgements.values()]
    objections = [decision for decision in decisions if decision != "accept"]
    if not objections:
        return "accepted" if decisions else "open"
    if len(objections) < len(decisions):
        return "disputed"
    return "rejected" if "reject" in objections else "revise"


def settle(
    problems: Sequence[Problem],
    current: Mapping[str, Mapping[str, Judgement]],
    release_unscreened: bool = False,
) -> tuple[list[Problem], list[Drop]]:
    """Keep the problems that may be released, with their reviews and who accepted them.

    Parameters
    ----------
    problems : sequence of Problem
        With their reviews of the first tier.
    current : mapping
        The latest judgements, by problem and rater.
    release_unscreened : bool
        Let pass also problems that are still open and that the first tier accepted; their `accepted_by` is
        ``"config"``. What an expert objects to is never released.

    Returns
    -------
    released : list of Problem
    dropped : list of Drop
        Reasons ``not_screened``, ``rejected``, ``revise`` and ``disputed``.
    """
    released, dropped = [], []
    for problem in problems:
        judgements = current.get(problem.problem_id, {})
        found = status(judgements)
        passes = release_unscreened and all(review.decision == "accept" for review in problem.reviews)
        if found == "accepted" or (found == "open" and passes):
            by = "expert" if found == "accepted" else "config"
            reviews = (*problem.reviews, *(_as_review(each) for each in judgements.values()))
            released.append(problem.model_copy(update={"accepted_by": by, "reviews": reviews}))
        else:
            said = "; ".join(f"{each.rater}: {each.decision}, {each.level}" for each in judgements.values())
            reason = "not_screened" if found == "open" else found
            dropped.append(Drop(stage=STAGE, item=problem.problem_id, reason=reason, detail=said))
    return released, dropped


def _as_review(judgement: Judgement) -> Review:
    return Review.model_validate(judgement.model_dump(exclude={"time", "shown_sha256"}))

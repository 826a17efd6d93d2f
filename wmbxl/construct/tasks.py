"""From an extraction to problems: one for each format that its equation allows."""

from __future__ import annotations

from collections.abc import Sequence

import xxhash

from wmbxl.construct import distractors, prompts
from wmbxl.construct.formula import Unsuited
from wmbxl.construct.masks import Masked, Share, mask
from wmbxl.construct.records import Drop, Extraction, Paper, Problem, ProblemType

STAGE = "tasks"
SHARES: dict[ProblemType, Share] = {
    "MCQ": 100,
    "fill_blank_25": 25,
    "fill_blank_50": 50,
    "fill_blank_75": 75,
    "fill_blank_100": 100,
}


def make_problems(
    extraction: Extraction,
    paper: Paper,
    types: Sequence[ProblemType],
    seed: int,
    proposals: Sequence[str] = (),
) -> tuple[list[Problem], list[Drop]]:
    """Make the problems of one equation.

    Parameters
    ----------
    extraction : Extraction
    paper : Paper
        Where it comes from.
    types : sequence of str
        Formats to make; a lemma gives ``"proof"`` only, an equation all others.
    seed : int
        Of the whole benchmark. What is drawn depends on it, the equation and the format alone, so order and number of
        workers don't matter.
    proposals : sequence of str
        Distractors that a model proposes.

    Returns
    -------
    made : list of Problem
    dropped : list of Drop
        For each format that the equation doesn't allow, with the reason.
    """
    made, dropped = [], []
    for type in types:
        if (type == "proof") != (extraction.kind == "lemma"):
            continue
        item = f"{extraction.equation_id}-{type}"
        try:
            made.append(_problem(item, extraction, paper, type, _seed(seed, item), proposals))
        except Unsuited as error:
            dropped.append(Drop(stage=STAGE, item=item, reason=error.reason, detail=str(error)))
    return made, dropped


def _seed(seed: int, item: str) -> int:
    return xxhash.xxh64_intdigest(item.encode(), seed)


def _problem(
    item: str, extraction: Extraction, paper: Paper, type: ProblemType, seed: int, proposals: Sequence[str]
) -> Problem:
    masked = Masked(extraction.equation, ()) if type == "proof" else mask(extraction.equation, SHARES[type], seed)
    chosen = distractors.choose(masked.answers[0], seed, proposals) if type == "MCQ" else None
    equation = extraction.equation if type == "proof" else f"$${masked.equation}$$"
    question = prompts.question(type, len(masked.answers))
    options = chosen.options if chosen else None
    return Problem(
        problem_id=item,
        paper_id=paper.paper_id,
        paper_title=paper.title,
        type=type,
        background=extraction.background,
        question_text=question,
        equation=equation,
        options=options,
        correct_answer=chosen.answer if chosen else masked.key if masked.answers else "",
        prompt=prompts.prompt(type, extraction.background, question, equation, options),
        text=prompts.surface(extraction.background, question, equation),
        source_license=paper.license,
        equation_id=extraction.equation_id,
        kind=extraction.kind,
        span=extraction.span,
    )

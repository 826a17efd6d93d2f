r"""Whether a problem can be solved, and only in one way: leaks, repeats, several right answers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from wmbxl.answers import equivalent
from wmbxl.answers.exact import boxed, normalise
from wmbxl.construct.formula import Unsuited, parse, symbols
from wmbxl.construct.masks import MASK
from wmbxl.construct.records import Drop, Problem

STAGE = "solvability"
SHINGLE = 5  # tokens
NEAR = 0.8  # Jaccard similarity from which two problems are near-duplicates

_TOKENS = re.compile(r"\\[a-zA-Z]+|\w+|[^\w\s{}$]")


def check(problems: Sequence[Problem]) -> tuple[list[Problem], list[Drop]]:
    """Keep the problems that can be solved in one way, and say why the others are dropped.

    Parameters
    ----------
    problems : sequence of Problem
        The whole set, since repeats are looked for in it.

    Returns
    -------
    kept : list of Problem
        In the order given.
    dropped : list of Drop
        Reasons ``answer_in_background``, ``several_answers``, ``duplicate`` and ``near_duplicate``.
    """
    drops = {problem.problem_id: drop for problem in problems if (drop := _alone(problem))}
    sound = [problem for problem in problems if problem.problem_id not in drops]
    for drop in repeats(sound):
        drops[drop.item] = drop
    return [each for each in problems if each.problem_id not in drops], list(drops.values())


def _alone(problem: Problem) -> Drop | None:
    """Look at a problem by itself."""
    for reason, find in (("answer_in_background", leak), ("several_answers", other_answer)):
        if detail := find(problem):
            return Drop(stage=STAGE, item=problem.problem_id, reason=reason, detail=detail)
    return None


def leak(problem: Problem) -> str:
    r"""Say where the background or question gives an answer away; empty if it doesn't.

    A blank for a single symbol is no leak if the background names the symbol: it has to.

    Examples
    --------
    >>> from wmbxl.construct.records import SourceSpan
    >>> span = SourceSpan(file="a.tex", start=0, end=0, text="")
    >>> problem = Problem(
    ...     problem_id="1", paper_id="1", type="fill_blank_100", background=r"The gain is $g = \frac{a}{b}$.",
    ...     question_text="?", equation="$$g = [MASK]$$", correct_answer=r"\boxed{\dfrac{a}{b}}", prompt="", text="",
    ...     equation_id="1", kind="equation", span=span,
    ... )
    >>> leak(problem)
    'it holds \\dfrac{a}{b}'
    """
    told = normalise(f"{problem.background}\n{problem.question_text}")
    for answer in _answers(problem):
        if _is_composite(answer) and normalise(answer) in told:
            return f"it holds {answer}"
    return ""


def other_answer(problem: Problem) -> str:
    """Say which other answer is as right as the key; empty if none is found."""
    if problem.options:
        key = problem.options[problem.correct_answer]
        for letter, option in problem.options.items():
            if letter != problem.correct_answer and equivalent(key, option).relation != "different":
                return f"option {letter} is not proved to differ from {problem.correct_answer}"
        return ""
    answers = boxed(problem.correct_answer)
    parts = problem.equation.strip("$").split(MASK)
    if any(not part.strip() for part in parts[1:-1]):
        return "two blanks touch"
    for first, second in combinations(range(len(answers)), 2):
        exchanged = [*answers]
        exchanged[first], exchanged[second] = answers[second], answers[first]
        if exchanged != answers and _same(_filled(parts, answers), _filled(parts, exchanged)):
            return f"answers {first + 1} and {second + 1} can be exchanged"
    return ""


def _same(one: str, other: str) -> bool:
    return equivalent(one, other).relation == "equivalent"


def _filled(parts: Sequence[str], answers: Sequence[str]) -> str:
    return parts[0] + "".join(answer + part for answer, part in zip(answers, parts[1:], strict=True))


def _answers(problem: Problem) -> list[str]:
    return [problem.options[problem.correct_answer]] if problem.options else boxed(problem.correct_answer)


def _is_composite(answer: str) -> bool:
    try:
        return symbols(parse(answer).items) > 1
    except Unsuited:
        return True


# ---------------------------------------------------------------- repeats


def repeats(problems: Sequence[Problem]) -> Iterator[Drop]:
    """Yield a drop for each problem that repeats an earlier one, or nearly.

    Problems of the same equation share their background, so they count only if they blank the same; all others are
    compared by the shingles of their text and answer.
    """
    first: dict[tuple[str, ...], str] = {}
    kept = []
    for problem in problems:
        content = (problem.type, normalise(problem.text), *map(normalise, _answers(problem)))
        earlier = first.setdefault(content, problem.problem_id)
        if earlier == problem.problem_id:
            kept.append(problem)
        else:
            yield Drop(stage=STAGE, item=problem.problem_id, reason="duplicate", detail=f"of {earlier}")
    gone: set[int] = set()
    for one, other, similarity in near(kept):
        if one not in gone and other not in gone:
            gone.add(other)
            detail = f"of {kept[one].problem_id}: {similarity:.0%} of their {SHINGLE}-token shingles are the same"
            yield Drop(stage=STAGE, item=kept[other].problem_id, reason="near_duplicate", detail=detail)


def near(problems: Sequence[Problem]) -> Iterator[tuple[int, int, float]]:
    """Yield the positions of two similar problems of different equations, the earlier first, and their similarity."""
    shingles = [_shingles(problem) for problem in problems]
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    columns = [numbers[shingle] for held in shingles for shingle in sorted(held)]
    rows = np.repeat(np.arange(len(problems)), [len(held) for held in shingles])
    held_by = csr_array((np.ones(len(columns), np.int32), (rows, columns)), shape=(len(problems), max(len(numbers), 1)))
    shared = (held_by @ held_by.T).tocoo()
    for one, other, count in sorted(zip(shared.row.tolist(), shared.col.tolist(), shared.data.tolist(), strict=True)):
        similarity = count / (len(shingles[one]) + len(shingles[other]) - count)
        if one < other and similarity >= NEAR and problems[one].equation_id != problems[other].equation_id:
            yield one, other, similarity


def _shingles(problem: Problem) -> set[str]:
    tokens = _TOKENS.findall(" ".join((problem.type, problem.text.lower(), *_answers(problem))))
    return {" ".join(tokens[i : i + SHINGLE]) for i in range(max(1, len(tokens) - SHINGLE + 1))}

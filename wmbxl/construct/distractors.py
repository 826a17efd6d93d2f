"""Wrong options for multiple choice: each proved to mean something else, none given away by how it looks.

Candidates come from a model, if one is asked, and from `wmbxl.construct.edits`, applied once and twice. Twice, because
if all options differed from one in one place, that one would be the right one. Which rank the right option has by
length and by likeness to the others is drawn by seed, and options are sought that give it, so that neither tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations, islice
from random import Random

from wmbxl.answers import equivalent
from wmbxl.answers.exact import normalise
from wmbxl.construct.edits import Edit, edits
from wmbxl.construct.formula import Unsuited, parse

LETTERS = "ABCD"
MODEL = "model"  # the rule of what a model proposed

POOL = 10  # proved candidates from which three are chosen
TRIED = 60  # candidates that are examined for it
LONGER = 2.0  # candidates are at most so many times as long as the right option, and not shorter by more


@dataclass(frozen=True)
class Options:
    """The options of a multiple-choice problem.

    Attributes
    ----------
    options : dict of str to str
        ``"A"`` to ``"D"``, LaTeX without dollar signs.
    answer : str
        The letter of the right one.
    rules : dict of str to str
        Where each wrong one comes from: the rule of `wmbxl.construct.edits`, or ``"model"``.
    """

    options: dict[str, str]
    answer: str
    rules: dict[str, str]


def choose(answer: str, seed: int, proposals: Sequence[str] = ()) -> Options:
    r"""Find three distractors and shuffle the options.

    Parameters
    ----------
    answer : str
        The right option, in LaTeX without dollar signs.
    seed : int
        The same seed and proposals give the same options.
    proposals : sequence of str
        Distractors that a model proposes; they take part like all others.

    Returns
    -------
    Options

    Raises
    ------
    Unsuited
        The answer can't be read, or fewer than three candidates are proved to differ from it and each other.
    """
    chooser = Random(seed)
    pool = list(islice(_proved(answer, _candidates(answer, proposals, chooser)), POOL))
    ranks = chooser.randrange(len(LETTERS)), chooser.randrange(len(LETTERS))
    sets = [*combinations(pool, len(LETTERS) - 1)]
    chooser.shuffle(sets)
    for three in sorted(sets, key=lambda three: _misfit(answer, three, ranks)):
        if all(_differ(one.latex, other.latex) for one, other in combinations(three, 2)):
            return _shuffled(answer, three, chooser)
    raise Unsuited("few_distractors", f"{len(pool)} candidates are proved to differ from {answer}")


def _candidates(answer: str, proposals: Sequence[str], chooser: Random) -> Iterator[Edit]:
    """Yield what a model proposes, then edits and edits of edits in turn, in random order."""
    yield from (Edit(MODEL, proposal) for proposal in proposals)
    further: list[Iterator[Edit]] = []
    for edit in _spread(edits(answer), chooser):
        yield edit
        second = _spread(edits(edit.latex), chooser)
        further.append(iter([Edit(f"{edit.rule}+{each.rule}", each.latex) for each in second]))
        yield from islice(further[-1], 1)
    for _ in range(TRIED):
        for twice in further:
            yield from islice(twice, 1)


def _spread(found: Sequence[Edit], chooser: Random) -> list[Edit]:
    """Order edits at random, but such that no rule comes a second time before all have come once."""
    shuffled = chooser.sample(found, len(found))
    turns: dict[str, int] = {}
    order = {}
    for edit in shuffled:
        order[edit] = turns[edit.rule] = turns.get(edit.rule, 0) + 1
    return sorted(shuffled, key=lambda edit: order[edit])


def _proved(answer: str, candidates: Iterator[Edit]) -> Iterator[Edit]:
    seen = {normalise(answer)}
    for candidate in islice(candidates, TRIED):
        text = normalise(candidate.latex)
        if text not in seen and _alike_in_length(answer, candidate.latex) and _reads(candidate.latex):
            seen.add(text)
            if _differ(answer, candidate.latex):
                yield candidate


def _differ(one: str, other: str) -> bool:
    """Whether two formulas are proved to differ; what can't be decided may be the same."""
    return equivalent(one, other).relation == "different"


def _alike_in_length(answer: str, candidate: str) -> bool:
    lengths = sorted((_length(answer), _length(candidate)))
    return lengths[1] <= LONGER * lengths[0]


def _reads(latex: str) -> bool:
    try:
        return bool(parse(latex).items)
    except Unsuited:
        return False


def _length(latex: str) -> int:
    return len(normalise(latex))


def _misfit(answer: str, three: Sequence[Edit], ranks: tuple[int, int]) -> tuple[int, int]:
    """Say how far the right option is from the ranks that it should have, and how many rules come twice."""
    options = [answer, *(edit.latex for edit in three)]
    lengths = [float(_length(option)) for option in options]
    likeness = [sum(SequenceMatcher(None, one, other, autojunk=False).ratio() for other in options) for one in options]
    off = [
        max(0, _first(values) - rank, rank - _last(values))
        for values, rank in zip((lengths, likeness), ranks, strict=True)
    ]
    return sum(off), len(three) - len({edit.rule for edit in three})


def _first(values: Sequence[float]) -> int:
    """Return the lowest rank that the first of some values can claim; equal ones share theirs."""
    return sum(value < values[0] for value in values[1:])


def _last(values: Sequence[float]) -> int:
    return sum(value <= values[0] for value in values[1:])


def _shuffled(answer: str, three: Sequence[Edit], chooser: Random) -> Options:
    options = [(answer, ""), *((edit.latex, edit.rule) for edit in three)]
    chooser.shuffle(options)
    lettered = dict(zip(LETTERS, options, strict=True))
    return Options(
        {letter: latex for letter, (latex, _) in lettered.items()},
        next(letter for letter, (_, rule) in lettered.items() if not rule),
        {letter: rule for letter, (_, rule) in lettered.items() if rule},
    )

r"""Fill-in and full-equation tasks: sub-trees of an equation give way to ``[MASK]``, chosen by seed.

A blank is a product or part of one, a sum or part of one, of the right side, or all of it. Blanks are chosen such that
each has an answer of its own: they never touch, two of them are never terms of one sum or factors of one product
(their answers could be exchanged), and none cuts through what a function, a sign or a quotient acts on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from wmbxl.construct.formula import Item, Row, Sum, Unsuited, is_call, parse, right_side, symbols

Share = Literal[25, 50, 75, 100]

MASK = "[MASK]"
NEAR = 1 / 8  # half the way to the next share
ATTEMPTS = 64
LONGEST_RUN = 40  # items of a sum or product of which parts are considered
DIFFERENTIALS = (r"\mathrm{d}", r"\mathrm d")


@dataclass(frozen=True)
class Masked:
    r"""An equation with blanks.

    Attributes
    ----------
    equation : str
        With ``[MASK]``s.
    answers : tuple of str
        What stood there, in order.
    """

    equation: str
    answers: tuple[str, ...]

    @property
    def key(self) -> str:
        r"""The ground truth: one ``\boxed{}`` for each blank."""
        return listed([rf"\boxed{{{answer}}}" for answer in self.answers])

    def unmask(self) -> str:
        """Put the answers back."""
        parts = self.equation.split(MASK)
        return parts[0] + "".join(answer + part for answer, part in zip(self.answers, parts[1:], strict=True))


@dataclass(frozen=True)
class Subtree:
    """A part of the equation that may become a blank.

    Attributes
    ----------
    start, end : int
    symbols : int
        How many symbols and numbers it holds.
    slot : int
        The sum or product that it is an operand of; a slot takes one blank.
    """

    start: int
    end: int
    symbols: int
    slot: int


def mask(latex: str, share: Share, seed: int) -> Masked:
    r"""Replace parts of an equation by blanks.

    Parameters
    ----------
    latex : str
        ``left = right``, without dollar signs; any relation will do.
    share : {25, 50, 75, 100}
        Percent of the right side's symbols that go. At 100 there is one blank, the right side. Below, the blanks
        hold a share that is nearer to this one than to the next, each at least an eighth, and their number is as
        near to one for each quarter as can be.
    seed : int
        The same seed gives the same blanks, whatever else is masked.

    Returns
    -------
    Masked

    Raises
    ------
    Unsuited
        The equation can't be read, has no right side, or no blanks hold such a share of it.

    Examples
    --------
    >>> masked = mask(r"y = \sqrt{P} \mathbf{h}^{H} \mathbf{x} + n", 25, seed=1)
    >>> masked.equation, masked.key
    ('y = \\sqrt{P} [MASK] \\mathbf{x} + n', '\\boxed{\\mathbf{h}^{H}}')
    >>> masked.unmask()
    'y = \\sqrt{P} \\mathbf{h}^{H} \\mathbf{x} + n'
    """
    if MASK in latex:
        raise Unsuited("masked_already", f"it holds {MASK}")
    row = parse(latex)
    right = right_side(row)
    if right is None:
        raise Unsuited("no_right_side", "no relation with something behind it")
    if share < 100:
        return _cut(latex, _choose(right, latex, share, Random(seed)))
    if any(item.name == r"\\" for item in row.items):
        raise Unsuited("several_lines", "the right side may go over several lines")
    return _cut(latex, [Subtree(right.items[0].start, right.items[-1].end, symbols(right.items), 0)])


def listed(parts: Sequence[str]) -> str:
    """Join parts as in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _choose(right: Row, latex: str, share: Share, chooser: Random) -> list[Subtree]:
    """Draw sets of blanks and keep the first whose number is nearest to one for each quarter."""
    total = symbols(right.items)
    candidates = [each for each in subtrees(right, latex) if total * NEAR <= each.symbols < total]
    best: list[Subtree] = []
    off = ATTEMPTS
    for _ in range(ATTEMPTS):
        drawn = _draw(candidates, total * (share / 100 - NEAR), total * (share / 100 + NEAR), latex, chooser)
        if drawn and abs(len(drawn) - share // 25) < off:
            best, off = drawn, abs(len(drawn) - share // 25)
    if not best:
        raise Unsuited("no_such_share", f"no blanks hold about {share} % of its {total} symbols")
    return sorted(best, key=lambda each: each.start)


def _draw(candidates: Sequence[Subtree], low: float, high: float, latex: str, chooser: Random) -> list[Subtree]:
    """Draw blanks until they hold enough; none if they can't."""
    drawn: list[Subtree] = []
    held = 0
    for candidate in chooser.sample(candidates, len(candidates)):
        if held + candidate.symbols <= high and all(_apart(candidate, other, latex) for other in drawn):
            drawn.append(candidate)
            held += candidate.symbols
            if held >= low:
                return drawn
    return []


def _apart(one: Subtree, other: Subtree, latex: str) -> bool:
    first, second = sorted((one, other), key=lambda each: each.start)
    return one.slot != other.slot and first.end <= second.start and bool(latex[first.end : second.start].strip())


def _cut(latex: str, blanks: Sequence[Subtree]) -> Masked:
    kept, position = [], 0
    for blank in blanks:
        kept.append(latex[position : blank.start])
        position = blank.end
    answers = tuple(latex[blank.start : blank.end] for blank in blanks)
    return Masked(MASK.join([*kept, latex[position:]]), answers)


# ---------------------------------------------------------------- what may become a blank


def subtrees(right: Row, latex: str) -> list[Subtree]:
    """Return the parts of a right side that may become a blank, itself included, in the source's order."""
    found: dict[tuple[int, int], Subtree] = {}
    slot = 0
    for each in (each for row in right.walk() for each in row.sums()):
        slot += 1
        runs = [(run, slot) for run in _runs_of_terms(each)]
        for _, term in each.terms():
            slot += 1
            runs += [(run, slot) for run in _runs_of_factors(term)]
        for run, owner in runs:
            if _may_go(run, each, latex):
                place = (run[0].start, run[-1].end)
                found.setdefault(place, Subtree(*place, symbols(run), owner))
    return [found[place] for place in sorted(found)]


def _runs_of_terms(each: Sum) -> Iterator[tuple[Item, ...]]:
    terms = each.terms()[:LONGEST_RUN]
    for first, (sign, term) in enumerate(terms):
        yield term
        if sign is None or sign.name == "+":  # behind a minus, a sum would need parentheses
            for _, end in terms[first + 1 :]:
                yield tuple(item for item in each.items if term[0].start <= item.start < end[-1].end)


def _runs_of_factors(term: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    quotient = any(item.name == "/" for item in term)  # which parts of it belong together is not plain
    for first in range(min(len(term), LONGEST_RUN)):
        for last in range(first, first + 1 if quotient else min(len(term), LONGEST_RUN)):
            yield term[first : last + 1]


def _may_go(run: Sequence[Item], each: Sum, latex: str) -> bool:
    """Whether a run is whole, and holds a symbol to ask for."""
    first = each.items.index(run[0])
    before = each.items[first - 1] if first else None
    behind = each.items[first + len(run)] if first + len(run) < len(each.items) else None
    if any(item.kind == "fence" for item in run) or "times" in (run[0].kind, run[-1].kind):
        return False
    if before and before.kind == "function" and run[0].name == "(":
        return False
    if is_call(before, run[0]) or (behind and is_call(run[-1], behind)):
        return False
    if behind and behind.kind != "sign" and any(item.kind == "function" for item in run):
        return False  # it would cut through what the function acts on
    if run[-1].kind == "function" or latex.startswith(DIFFERENTIALS, run[0].start):
        return False
    # Behind the first two, [ opens an option.
    return _named(run) and not latex[: run[0].start].rstrip().endswith((r"\\", r"\sqrt", *DIFFERENTIALS))


def _named(items: Sequence[Item]) -> bool:
    return any(item.kind == "symbol" or any(_named(row.items) for row in item.rows) for item in items)

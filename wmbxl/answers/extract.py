r"""What a response states: its boxes, or what it announces as its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wmbxl.answers.exact import boxed

# A model says its answer once more at the end; what stands before this many characters is not looked at.
LOOKED_AT = 100_000

_ANNOUNCED = re.compile(r"(?:\banswer\b\**(?:[ \t]+is\b|[ \t]*[:=])|####)[ \t]*:?[ \t]*([^\n]+)", flags=re.IGNORECASE)
_FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$([^$\n]+)\$|\\\[((?:[^\\]|\\[^\[\]])+)\\\]|\\\(((?:[^\\]|\\[^()])+)\\\)")
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_SHORT = 200
_OPENERS, _CLOSERS = "({[", ")}]"


@dataclass(frozen=True)
class Stated:
    """The answers of a response.

    Attributes
    ----------
    parts : tuple of str
        As many as were asked for if the response states so many, otherwise what there is.
    sure : bool
        Whether the response says that this is its answer: in a box, or in words. Otherwise it is its last formula,
        or the whole of a short response, which may be right but can't be held against it.
    """

    parts: tuple[str, ...]
    sure: bool


def stated(response: str, wanted: int) -> Stated:
    r"""Find the answers that a response states last.

    Parameters
    ----------
    response : str
        What the model wrote.
    wanted : int
        How many answers the key has.

    Examples
    --------
    >>> stated(r"\boxed{x}? No: \boxed{a}, \boxed{b} and \boxed{c}", 3).parts
    ('a', 'b', 'c')
    >>> stated(r"The answer is $\frac{1}{2}$.", 1).parts
    ('\\frac{1}{2}',)
    >>> stated("I cannot tell.", 1)
    Stated(parts=(), sure=False)
    """
    tail = response[-LOOKED_AT:]
    if boxes := boxed(tail):
        parts = split(boxes[-1]) if len(boxes) < wanted else boxes[-wanted:]
        return Stated(tuple(parts if len(parts) == wanted else boxes), sure=True)
    announced = [match[1] for match in _ANNOUNCED.finditer(tail)]
    if announced:
        return Stated(_listed(announced[-1], wanted), sure=True)
    formulas = [match[match.lastindex or 0].strip() for match in _FORMULA.finditer(tail)]
    if len(formulas) >= wanted:
        return Stated(tuple(formulas[-wanted:]), sure=False)
    bare = tail.strip()
    prose = len(bare) > _SHORT or re.search(r"[A-Za-z]{2,}\s+[A-Za-z]{2,}|\n", bare)
    return Stated((bare,) if bare and not prose else (), sure=False)


def _listed(line: str, wanted: int) -> tuple[str, ...]:
    formulas = [match[match.lastindex or 0].strip() for match in _FORMULA.finditer(line)]
    if len(formulas) == wanted:
        return tuple(formulas)
    whole = _unwrapped(line)
    parts = split(whole)
    return tuple(parts) if len(parts) == wanted else (whole,)


def _unwrapped(line: str) -> str:
    whole = line.lstrip(" \t*").rstrip(" \t*.")
    for opener, closer in _DELIMITERS:
        if whole.startswith(opener) and whole.endswith(closer) and len(whole) > len(opener + closer):
            return whole[len(opener) : -len(closer)].strip()
    return whole


def split(listed: str) -> list[str]:
    r"""Split a list at the commas, semicolons and "and" that stand in no bracket.

    Examples
    --------
    >>> split(r"f(a, b), \frac{c}{d} \text{ and } e")
    ['f(a, b)', '\\frac{c}{d}', 'e']
    """
    parts, depth, start = [], 0, 0
    for match in re.finditer(r"\\text\{ {0,9}and {0,9}\}|\band\b|\\.|[()\[\]{},;]", listed):
        mark = match[0]
        if not mark.startswith(r"\text") and mark[-1] in _OPENERS + _CLOSERS:
            depth += 1 if mark[-1] in _OPENERS else -1
        elif depth == 0 and (mark in (",", ";", "and") or mark.startswith(r"\text")):
            parts.append(listed[start : match.start()])
            start = match.end()
    parts.append(listed[start:])
    return [part.strip(" $") for part in parts if part.strip(" $")]

r"""Exact-format scoring: a lower bound on accuracy that no judge and no model takes part in.

A multiple-choice answer is the last option letter that the response states. Any other answer is the content of
the response's ``\boxed{}``s after a light normalisation of LaTeX: the key's boxes have to be there in order, up to
the response's last one. Further boxes may stand before and between them; one that stands after them takes the answer
back. Answers that are right in substance but written otherwise count as wrong, so the score is a lower bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CHOICE = "MCQ"

_LETTER = r"\(?(?P<{}>[A-J])\)?"
# A bare capital states nothing ("A channel", "matrix $B$"): it has to be announced, boxed, bold, or alone.
_STATEMENTS = (
    r"\b(?i:answer|option|choice)\b(?i:_+is\b)?_*:?_*(?:\*\*|\$|\\text\{|\\mathbf\{|\\boxed\{){0,9}_*"
    + _LETTER.format("announced")
    + r"(?![A-Za-z'’^]|(?<=I)\s{1,9}[a-z])",  # "the answer is I don't know" states none
    r"\\boxed\{_*(?:\\(?:text|mathrm|mathbf|textbf)\{_*)?" + _LETTER.format("boxed") + r"_*[.)]?_*\}",
    r"\*\*_*" + _LETTER.format("bold") + r"_*[.):]?_*\*\*",
    r"^[^\w\n]*" + _LETTER.format("alone") + r"[^\S\n]*[.)*]*[^\S\n]*$",
)
# A gap ("_" above) is a few spaces: with any number of them the search would take ages on pages of white space.
_STATED = re.compile("|".join(_STATEMENTS).replace("_*", r"\s{0,9}").replace("_+", r"\s{1,9}"), flags=re.MULTILINE)
_BRACE = re.compile(r"\\.|[{}]", flags=re.DOTALL)  # an escaped one counts for nothing
# A command ends where its letters end: \le b, \dfrac12.
_END = r"(?![a-zA-Z])"
_SPELLINGS = (
    (rf"\\[dt]frac{_END}", r"\\frac"),
    (rf"\\(?:le|leqslant){_END}", r"\\leq"),
    (rf"\\(?:ge|geqslant){_END}", r"\\geq"),
    (r"\\(?:text|textrm|operatorname)\*?(?=\{)", r"\\mathrm"),
    (r"\\(?:boldsymbol|bm)(?=\{)", r"\\mathbf"),
    (rf"\\(?:left|right|displaystyle|quad|qquad){_END}", ""),
    (r"\\[,;:!> ]|[\s$~]", ""),
    (r"([_^])\{(\w)\}", r"\1\2"),
)


@dataclass(frozen=True)
class ExactScore:
    """How an exact-format comparison went.

    Attributes
    ----------
    correct : bool
        Whether the answers are the key's.
    stated : tuple of str
        What the response states, normalised: the last letter, or all boxes; empty if it states nothing in the
        expected format.
    expected : tuple of str
        What the key states, normalised.
    """

    correct: bool
    stated: tuple[str, ...]
    expected: tuple[str, ...]


def score(response: str, answer: str, type: str) -> ExactScore:
    r"""Compare a response with the key, by its format alone.

    Parameters
    ----------
    response : str
        What the model wrote.
    answer : str
        The key: a letter, or one or more ``\boxed{}``s; a key without a box is compared as one box.
    type : str
        ``"MCQ"`` for multiple choice; anything else is compared by boxes.

    Returns
    -------
    ExactScore
        Correct only if everything expected is stated, in order, and nothing after it.

    Examples
    --------
    >>> score("The answer is (C).", "C", "MCQ").correct
    True
    >>> score(r"First \boxed{x}, so \boxed{\dfrac{a}{2}}", r"\boxed{\frac{a}{2}}", "fill_blank_25").correct
    True
    """
    expected: tuple[str, ...]
    if type == CHOICE:
        expected = (answer.strip().upper(),)
        stated = tuple(letters(response)[-1:])
    else:
        expected = tuple(normalise(content) for content in boxed(answer) or [answer])
        stated = tuple(normalise(content) for content in boxed(response))
    return ExactScore(_ends_with(stated, expected), stated, expected)


def _ends_with(stated: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    """Tell whether `stated` ends with the last of `expected` and holds the others before it, in order."""
    earlier = iter(reversed(stated[:-1]))
    return stated[-1:] == expected[-1:] and all(part in earlier for part in reversed(expected[:-1]))


def letters(response: str) -> list[str]:
    """List the option letters that a response states, in order.

    Examples
    --------
    >>> letters("Option A looks right. A closer look: **B**")
    ['A', 'B']
    >>> letters("A channel matrix; the answer is a matrix.")
    []
    """
    return [letter for letter, _ in statements(response)]


def statements(response: str) -> list[tuple[str, slice]]:
    """List the option letters that a response states, in order, with what states each."""
    return [(match[match.lastgroup or 0], slice(*match.span())) for match in _STATED.finditer(response)]


def boxed(text: str) -> list[str]:
    r"""List what the outermost ``\boxed{}``s hold, in order; one that never closes is no answer.

    Examples
    --------
    >>> boxed(r"\boxed{a} and \boxed{\frac{b}{c}}")
    ['a', '\\frac{b}{c}']
    """
    contents: list[str] = []
    position = 0
    while (start := text.find(r"\boxed{", position)) >= 0:
        opened = start + len(r"\boxed{")
        end = _closing_brace(text, opened)
        if end is None:
            break
        contents.append(text[opened:end])
        position = end
    return contents


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.start()
    return None


def normalise(latex: str) -> str:
    r"""Write an answer without what doesn't change its meaning: spacing, sizes of delimiters, synonyms.

    Examples
    --------
    >>> normalise(r"\left( \dfrac{a}{b} \right) .")
    '(\\frac{a}{b})'
    """
    for pattern, replacement in _SPELLINGS:
        latex = re.sub(pattern, replacement, latex)
    return latex.rstrip(".,;")

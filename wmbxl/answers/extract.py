r"""What a response states: its boxes, or what it announces as its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wmbxl.answers.exact import boxed, statements

# A model says its answer once more at the end; what stands before this many characters is not looked at.
LOOKED_AT = 100_000

_ANNOUNCED = re.compile(r"(?:\banswer\b\**(?:[ \t]+is\b|[ \t]*[:=])|####)[ \t]*:?[ \t]*([^\n]+)", flags=re.IGNORECASE)
_FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$([^$\n]+)\$|\\\[((?:[^\\]|\\[^\[\]])+)\\\]|\\\(((?:[^\\]|\\[^()])+)\\\)")
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_SHORT = 200
# What stands around a formula that is only part of an answer, or no answer.
_MORE = re.compile(r"[-+*/=<>^\\\d]|\b(?:not|no|than|times|or|between|about|can't|isn't)\b", flags=re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|cannot|never|wrong|incorrect|unclear|unsure)\b|n['’]t\b|\?", flags=re.IGNORECASE)
_CHOSEN = re.compile(
    r"\b(?:answer|(?:option|choice)(?=[\s*]{0,3}(?:is\b|:)))[\s*_:]{0,9}(?:is\b)?[\s*_:]{0,9}"
    r"(?:(?:the )?(?:option|choice)\b[\s*_:]{0,9})?([^\n]{0,80})",
    flags=re.IGNORECASE,
)
_MARKUP = re.compile(r"\\(?:text|textbf|textrm|mathbf|mathrm|rm|bf)(?![a-z])|\\[()]|[{}$*]")
_LETTER = r"(?:\(\s?[A-Ja-j]\s?\)|[A-J](?![\w'’^]))"
_OPTIONS = re.compile(
    rf"\s*{_LETTER}(?:[\s,;/&]{{1,3}}(?:\band\b|\bor\b)?\s?{_LETTER})*(?![-/'’^_]|\s*[+=^]|\s*[A-J]\b|(?<=I)\s+[a-z])"
)
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
    closing: bool
        Whether they end the response, and nothing there denies them. Formulas that are neither sure nor closing were
        only found in passing, and count neither for nor against it.
    """

    parts: tuple[str, ...]
    sure: bool
    closing: bool = True


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
    Stated(parts=(), sure=False, closing=True)
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
        end = tail.rstrip().rpartition("\n")[2]
        closing = len(_FORMULA.findall(end)) >= wanted and not _DENIED.search(end)
        return Stated(tuple(formulas[-wanted:]), sure=False, closing=closing)
    bare = tail.strip()
    prose = len(bare) > _SHORT or re.search(r"[A-Za-z]{2,}\s+[A-Za-z]{2,}|\n", bare)
    return Stated((bare,) if bare and not prose else (), sure=False)


def _listed(line: str, wanted: int) -> tuple[str, ...]:
    formulas = [match[match.lastindex or 0].strip() for match in _FORMULA.finditer(line)]
    if len(formulas) == wanted and not _MORE.search(_FORMULA.sub("", line)):
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


def chosen(response: str) -> tuple[str, ...]:
    r"""Find the options that a response chooses: in its last box, else where it last says "answer", else named last.

    Examples
    --------
    >>> chosen("The answer is B. Option D has the wrong sign.")
    ('B',)
    >>> chosen(r"So \boxed{\text{A, C}}.")
    ('A', 'C')
    """
    tail = response[-LOOKED_AT:]
    boxes = [options(content) for content in boxed(tail)]
    announced = [options(match[1], whole=False) for match in _CHOSEN.finditer(tail)]
    for choices in (boxes, announced):
        if found := [choice for choice in choices if choice]:
            return found[-1]
    for content in boxed(tail):  # which are formulas
        tail = tail.replace(f"\\boxed{{{content}}}", "")
    if named := statements(tail):
        letter, place = named[-1]
        return () if _is_taken_back(tail, place) else (letter,)
    begins = re.match(r"\s*\(?([A-J])[).:](?!\w)", tail)
    return (begins[1],) if begins else ()


def _is_taken_back(text: str, place: slice) -> bool:
    """Whether a letter is part of a formula, or its sentence denies it."""
    if re.match(r"\s{0,3}[+=^/]|-\w", text[place.stop :]):
        return True
    before = re.split(r"[.!?;\n]", text[: place.start])[-1]
    after = re.split(r"[.!;\n]", text[place.stop :])[0]  # a question mark here asks, and chooses nothing
    return bool(_DENIED.search(f"{before} {after}"))


def options(text: str, whole: bool = True) -> tuple[str, ...]:
    """Read option letters: those that a text begins with, or, if they are the whole, also small or side by side.

    Examples
    --------
    >>> options("B) 5 dB"), options("AC"), options("(c)"), options("A matrix"), options("capacity")
    (('B',), ('A', 'C'), ('C',), (), ())
    """
    bare = _MARKUP.sub("", text).strip().rstrip(".:")
    if whole and (re.fullmatch("[A-Ja-j]", bare) or (re.fullmatch("[A-J]+", bare) and sorted(set(bare)) == list(bare))):
        return tuple(bare.upper())
    match = _OPTIONS.match(bare)
    if match is None or re.match(r"\s+[a-z]+$", bare[match.end() :]):  # A matrix
        return ()
    return tuple(letter.upper() for letter in re.findall(r"\b[A-Ja-j]\b", match[0]))

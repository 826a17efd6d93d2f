r"""The mistakes that people make in formulas, made on purpose: each changes a formula in one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wmbxl.construct.formula import Item, Row, Script, parse

_BOLD = frozenset([r"\mathbf", r"\boldsymbol", r"\bm", r"\pmb"])
_TRANSPOSES = frozenset(["H", "T", "*", r"\dagger", r"\top", r"\ast"])
_FONTS = frozenset([r"\mathsf", r"\mathrm", r"\text", r"\rm"])  # as in ^{\mathsf{H}}
_NORMS = frozenset([r"\|", r"\Vert", r"\lVert", "|", r"\vert", r"\lvert"])
_OPPOSITE = {"+": "-", "-": "+", r"\pm": r"\mp", r"\mp": r"\pm"}

Change = tuple[int, int, str]  # start and end in the source, and what comes in their place


@dataclass(frozen=True)
class Edit:
    """A formula with a mistake.

    Attributes
    ----------
    rule : str
        The kind of the mistake.
    latex : str
    """

    rule: str
    latex: str


def edits(latex: str) -> list[Edit]:
    r"""Make every mistake of every kind, one at a time.

    Parameters
    ----------
    latex : str
        A formula without dollar signs.

    Returns
    -------
    list of Edit
        Without repeats. Some may mean the same as the formula: that is for others to find out.

    Raises
    ------
    Unsuited
        The formula can't be read.

    Examples
    --------
    >>> for edit in edits(r"\mathbf{w}^{H}\mathbf{h}_k - n"):
    ...     print(edit.rule, edit.latex)
    transposed_product \mathbf{h}_k\mathbf{w}^{H} - n
    hermitian \mathbf{w}\mathbf{h}_k - n
    hermitian \mathbf{w}^{H}\mathbf{h}_k^{H} - n
    sign \mathbf{w}^{H}\mathbf{h}_k + n
    index \mathbf{w}^{H}\mathbf{h}_j - n
    missing_term - n
    missing_term \mathbf{w}^{H}\mathbf{h}_k
    missing_factor \mathbf{h}_k - n
    missing_factor \mathbf{w}^{H} - n
    """
    whole = parse(latex)
    rows = [row for row in whole.walk() if row.items]
    indices = _indices(rows)
    found = {latex: ""}
    for rule, changes_of in _RULES.items():
        for row in rows:
            for changes in changes_of(row, latex, indices):
                found.setdefault(_changed(latex, changes), rule)
    return [Edit(rule, text) for text, rule in found.items() if rule and text.strip()]


def _changed(latex: str, changes: Sequence[Change]) -> str:
    """Make changes, and leave no space that tells where something is missing."""
    made, position = "", 0
    for start, end, text in sorted(changes):
        for part in (latex[position:start], text):
            made += _gap(made, part) + part
        position = end
        if not text and (not made or made[-1] in " {(["):
            position += len(latex[end:]) - len(latex[end:].lstrip())
        if not text and latex.startswith(("}", ")", "]", r"\right"), position):
            made = made.rstrip()
    return (made + _gap(made, latex[position:]) + latex[position:]).strip()


def _gap(before: str, after: str) -> str:
    r"""Return a space where a command would swallow the letter behind it, as in ``\alpha`` and ``x``."""
    command = before[before.rfind("\\") + 1 :] if "\\" in before else ""
    return " " if command.isalpha() and after[:1].isalpha() else ""


# ---------------------------------------------------------------- the rules


def _transposed_product(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for term in _terms(row):
        for first, second in pairwise(term):
            if _is_matrix(first, latex) and _is_matrix(second, latex):
                yield [
                    (first.start, first.end, latex[second.start : second.end]),
                    (second.start, second.end, latex[first.start : first.end]),
                ]


def _hermitian(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for item in row.items:
        if item.sup and _is_transpose(item.sup, latex):
            yield [(item.sup.start, item.sup.end, "")]
        elif item.name in _BOLD and not item.sup:
            yield [(item.end, item.end, "^{H}")]


def _sign(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for item in row.items:
        if item.kind == "sign":
            leads = item == row.items[0]
            yield [(item.start, item.end, "" if leads else _OPPOSITE.get(item.name, "+"))]


def _index(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for item in row.items:
        if item.kind == "symbol":
            for index in _letters(item):
                other = next((each for each in indices if each != index.name), None)
                if index.name in indices and other:
                    yield [(index.start, index.base_end, other)]


def _missing_term(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for each in row.sums():
        terms = each.terms()
        if len(terms) > 1:
            for position, (sign, term) in enumerate(terms):
                start = sign.start if sign else term[0].start
                following = terms[position + 1][0] if position == 0 else None
                end = following.end if following and following.name == "+" else term[-1].end
                yield [(start, end, "")]


def _missing_factor(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for term in _terms(row):
        plain = len(term) > 1 and not any(item.kind in ("times", "function") for item in term)
        for position, item in enumerate(term if plain else ()):
            applied = term[position + 1 :][:1] or (item,)
            if not {item.name, applied[0].name} & {"(", "["}:
                yield [(item.start, item.end, "")]


def _wrong_norm(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for item in row.items:
        if item.kind == "group" and item.name in _NORMS:
            if item.sub:
                yield [(item.sub.start, item.sub.end, "_1" if latex[item.sub.start : item.sub.end] != "_1" else "_2")]
            yield [(item.sup.start, item.sup.end, "")] if item.sup else [(item.end, item.end, "^2")]


def _fraction(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for item in row.items:
        if item.name in (r"\frac", r"\dfrac", r"\tfrac") and len(item.rows) == 2 and all(r.items for r in item.rows):
            above, below = ((r.items[0].start, r.items[-1].end) for r in item.rows)
            yield [(*above, latex[slice(*below)]), (*below, latex[slice(*above)])]


def _exponent(row: Row, latex: str, indices: Sequence[str]) -> Iterator[list[Change]]:
    for item in row.items:
        plain = item.sup and item.sup.row.items and all(e.kind in ("number", "sign") for e in item.sup.row.items)
        if item.sup and plain and item.name not in _NORMS:
            yield [(item.sup.start, item.sup.end, "")]


_RULES: dict[str, Callable[[Row, str, Sequence[str]], Iterator[list[Change]]]] = {
    "transposed_product": _transposed_product,
    "hermitian": _hermitian,
    "sign": _sign,
    "index": _index,
    "missing_term": _missing_term,
    "missing_factor": _missing_factor,
    "wrong_norm": _wrong_norm,
    "fraction": _fraction,
    "exponent": _exponent,
}


def _terms(row: Row) -> Iterator[tuple[Item, ...]]:
    for each in row.sums():
        for _, term in each.terms():
            yield term


def _is_matrix(item: Item, latex: str) -> bool:
    return any(bold in latex[item.start : item.end] for bold in _BOLD)


def _is_transpose(script: Script, latex: str) -> bool:
    if len(script.row.items) != 1:
        return False
    [item] = script.row.items
    name = latex[item.start : item.end].removeprefix(item.name).strip("{} ") if item.name in _FONTS else item.name
    return name in _TRANSPOSES


def _indices(rows: Sequence[Row]) -> list[str]:
    """Return the letters that are indices, and two that might be, in a fixed order."""
    used = {index.name for row in rows for item in row.items if item.kind == "symbol" for index in _letters(item)}
    return [*sorted(used), *(letter for letter in "ji" if letter not in used)] if used else []


def _letters(item: Item) -> list[Item]:
    """Return the indices of a symbol; a word is none."""
    held = [each for each in item.sub.row.items if each.kind != "separator"] if item.sub else []
    return held if len(held) <= 3 and all(re.fullmatch("[a-z]", each.name) for each in held) else []

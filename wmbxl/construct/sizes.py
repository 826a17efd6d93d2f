r"""Whether vectors and matrices fit together, where an extraction gives their sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from wmbxl.answers.exact import normalise
from wmbxl.construct.formula import Item, Row, Unsuited, parse
from wmbxl.construct.records import Variable

Size = tuple[str, str]
SCALAR: Size = ("1", "1")

_BY = re.compile(r"\s*(?:x|X|×|\\times|\*|by|,)\s*")
_IN = re.compile(r".*(?:\^|\bof size\b)\s*\{?(.+?)\}?\$?$")
_TRANSPOSED = frozenset(["H", "T", r"\top", r"\dagger", r"\mathrm{H}", r"\mathrm{T}", r"\mathsf{H}", r"\mathsf{T}"])
_KEPT = frozenset(["*", r"\ast", r"\star", r"\prime", r"\circ"])
_DELIMITED = ("(", "[", r"\{", r"\lbrack", r"\lbrace")
_NORMS = ("|", r"\|", r"\Vert", r"\lVert", r"\vert", r"\lvert")
_ADDITIVE = (r"\sum", r"\mathbb")


class _Clash(Exception):
    """Sizes that don't fit."""


def read_size(text: str) -> Size | None:
    r"""Read the size that an extraction gives; None if it gives none that can be read.

    Examples
    --------
    >>> read_size("N x M"), read_size("1"), read_size("N"), read_size(r"\mathbb{C}^{N \times 1}"), read_size("")
    (('N', 'M'), ('1', '1'), ('N', '1'), ('N', '1'), None)
    """
    text = text.strip().strip("$()[]")
    if text.lower() in ("1", "scalar", "real scalar", "complex scalar"):
        return SCALAR
    if match := _IN.fullmatch(text):
        text = match[1]
    parts = [normalise(part) for part in _BY.split(text)]
    if not text or any(not part or " " in part or len(part) > 20 for part in parts) or len(parts) > 2:
        return None
    return (parts[0], parts[1] if len(parts) == 2 else "1")


def clash(latex: str, variables: Sequence[Variable]) -> str:
    r"""Say which sizes don't fit in an equation; empty if all do, as far as the variables give theirs.

    Examples
    --------
    >>> given = [Variable(symbol=s, meaning="-", dimension=d) for s, d in
    ...          ((r"\mathbf{y}", "N"), (r"\mathbf{H}", "N x M"), (r"\mathbf{x}", "M"))]
    >>> clash(r"\mathbf{y} = \mathbf{H}\mathbf{x}", given)
    ''
    >>> clash(r"\mathbf{y} = \mathbf{H}^H\mathbf{x}", given)
    '\\mathbf{H}^H\\mathbf{x}: N columns meet M rows'
    >>> clash(r"\mathbf{y} = \mathbf{H}\mathbf{x} + \mathbf{x}", given)
    '\\mathbf{H}\\mathbf{x} + \\mathbf{x}: N x 1 meets M x 1'
    """
    known = _known(variables)
    if not known:
        return ""
    try:
        _Reader(latex, known).row(parse(latex))
    except _Clash as found:
        return str(found)
    except Unsuited:
        return ""
    return ""


def _known(variables: Sequence[Variable]) -> dict[str, Size]:
    """Return sizes by symbol with its subscript, and without it where all that share it have the same."""
    known: dict[str, Size] = {}
    shared: dict[str, set[Size | None]] = {}
    for variable in variables:
        try:
            item = parse(variable.symbol).items[0]
        except (Unsuited, IndexError):
            continue
        size = read_size(variable.dimension)
        base, full = _names(item, variable.symbol)
        shared.setdefault(base, set()).add(size)
        if size is not None:
            known[full] = size
    known |= {base: size for base, (size, *others) in shared.items() if size is not None and not others}
    return known


def _names(item: Item, latex: str) -> tuple[str, str]:
    """Return a symbol's spelling without scripts and with its subscript."""
    base = normalise(latex[item.start : item.base_end])
    return base, base + (normalise(latex[item.sub.start : item.sub.end]) if item.sub else "")


class _Reader:
    """Finds the size of what it reads; None where it isn't known."""

    def __init__(self, latex: str, known: dict[str, Size]) -> None:
        self._latex, self._known = latex, known

    def row(self, row: Row) -> Size | None:
        """Return the size of the first side; all sides and terms have to agree."""
        sides = []
        for side in row.sums():
            if side.before is not None and side.before.kind == "separator":
                break
            terms = [(items, self.term(items)) for _, items in side.terms()]
            self._agree(terms)
            sides.append((side.items, next((size for _, size in terms if size), None)))
        self._agree(sides)
        return next((size for _, size in sides if size), None)

    def _agree(self, sized: Sequence[tuple[Sequence[Item], Size | None]]) -> None:
        told = [(items, size) for items, size in sized if size]
        for (one, first), (other, second) in pairwise(told):
            if first != second:
                place = self._latex[one[0].start : other[-1].end]
                raise _Clash(f"{place}: {_shown(first)} meets {_shown(second)}")

    def term(self, items: Sequence[Item]) -> Size | None:
        """Return the size of a product."""
        product: Size | None = SCALAR
        begun = items[0]
        for item in items:
            if item.kind == "times" and item.name not in (r"\cdot", "*"):
                return None  # Kronecker, Hadamard, quotient
            if item.kind in ("times", "number"):
                continue
            size = self.item(item)
            if size is None or product is None:
                product = None
                continue
            if SCALAR in (size, product):
                product = size if product == SCALAR else product
            elif product[1] != size[0]:
                place = self._latex[begun.start : item.end]
                raise _Clash(f"{place}: {product[1]} columns meet {size[0]} rows")
            else:
                product = (product[0], size[1])
        return product

    def item(self, item: Item) -> Size | None:
        size = self._plain(item)
        if item.sup is None or size is None or item.name in _ADDITIVE:
            return size
        mark = normalise(self._latex[item.sup.start + 1 : item.sup.end]).strip("{}") or "'"
        if mark in _TRANSPOSED or f"\\{mark}" in _TRANSPOSED:
            return size[1], size[0]
        if mark in _KEPT or mark.startswith("("):
            return size
        if size[0] != size[1]:
            return None
        return size

    def _plain(self, item: Item) -> Size | None:
        if item.name in _ADDITIVE and item.kind in ("function", "symbol"):
            return SCALAR  # a sum or expectation has the size of what follows
        if item.kind == "symbol":
            base, full = _names(item, self._latex)
            return self._known.get(full, self._known.get(base))
        if item.name in _NORMS:
            for row in item.rows:
                self.row(row)
            return SCALAR
        if item.kind == "group" and item.name in _DELIMITED and len(item.rows) == 1:
            return self.row(item.rows[0])
        if item.name in (r"\frac", r"\dfrac", r"\tfrac") and len(item.rows) == 2:
            above, below = self.row(item.rows[0]), self.row(item.rows[1])
            return above if below == SCALAR else None
        return None


def _shown(size: Size) -> str:
    return f"{size[0]} x {size[1]}"

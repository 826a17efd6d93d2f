"""What can be checked of an extraction without a model: its place in the source, its symbols, their sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wmbxl.answers.exact import normalise
from wmbxl.construct import equations, sizes
from wmbxl.construct.formula import Item, Row, Unsuited, parse
from wmbxl.construct.records import Drop, Equation, Extraction
from wmbxl.construct.scanning import rows

STAGE = "checks"

# Symbols whose meaning does not depend on the paper, as `normalise` writes them.
_SPELLED = r"""\pi e j \mathrm{j} \mathrm{e} \jmath \imath \infty \emptyset \mathbf{I} \mathbf{0} \mathbf{1} \mathbb{1}
\mathbb{R} \mathbb{C} \mathbb{N} \mathbb{Z} \mathbb{E} \mathbb{P} \mathbb{B} \mathcal{N} \mathcal{CN} \mathcal{O}
\mathrm{d} \Re \Im \mathfrak{R} \mathfrak{I} \Pr \ldots \cdots \mid '"""
_CONSTANTS = frozenset(_SPELLED.split())
_NAMED = """tr Tr trace diag blkdiag vec rank det log ln exp sinc erf erfc sgn sign mod Var Cov var cov Re Im arg max
min span null card supp dB Pr argmax argmin"""
_OPERATORS = frozenset(_NAMED.split())
_WORD = re.compile(r"\\(?:mathrm|mathsf|mathtt)\{([A-Za-z]+)\}")
_BINDING = r"""\sum \prod \int \iint \oint \bigcup \bigcap \max \min \sup \inf \lim \limsup \liminf \arg \argmax \argmin
\operatorname \mathbb \bigoplus \bigotimes \coprod \mathop"""
_BINDERS = frozenset(_BINDING.split())
_INTEGRALS = (r"\int", r"\iint", r"\oint")
_INLINE = re.compile(r"(?<!\\)\$\$?(.+?)(?<!\\)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)


def check(extraction: Extraction, equation: Equation) -> Drop | None:
    """Return what is wrong with an extraction; None if nothing is found.

    Parameters
    ----------
    extraction : Extraction
    equation : Equation
        What was found in the source.

    Returns
    -------
    Drop or None
        Reasons ``not_in_source``, ``not_parsed``, ``several_statements``, ``no_relation``, ``undefined_symbol``,
        ``sizes_differ``.
    """
    for reason, find in _CHECKS[extraction.kind]:
        if detail := find(extraction, equation):
            named = reason or detail
            return Drop(stage=STAGE, item=extraction.equation_id, reason=named, detail=detail)
    return None


def _not_in_source(extraction: Extraction, equation: Equation) -> str:
    """Look for the equation, or a part of it that is a relation, in the one that was found."""
    wanted, found = normalise(extraction.equation), normalise(equation.latex)
    return "" if wanted and wanted in found else f"the paper has {equation.latex}"


def _formula_missing(extraction: Extraction, equation: Equation) -> str:
    """Look for each formula of the paper's statement in the one that was extracted."""
    told = normalise(f"{extraction.background}\n{extraction.equation}")
    missing = [formula for formula in formulas(equation.latex) if normalise(formula) not in told]
    return f"the paper's statement has {missing[0]}" if missing else ""


def _no_equation(extraction: Extraction, equation: Equation) -> str:
    return equations.fault(extraction.equation)


def _undefined(extraction: Extraction, equation: Equation) -> str:
    texts = [extraction.equation] if extraction.kind == "equation" else formulas(extraction.equation)
    try:
        missing = undefined(texts, [variable.symbol for variable in extraction.variables], _extents(extraction))
    except Unsuited as error:
        return f"not balanced: {error}"
    return f"nothing defines {', '.join(missing)}" if missing else ""


def _extents(extraction: Extraction) -> list[str]:
    """Return what else the variables mention: their sizes and domains."""
    return [text for variable in extraction.variables for text in (variable.dimension, variable.domain) if text]


def _sizes_differ(extraction: Extraction, equation: Equation) -> str:
    return sizes.clash(extraction.equation, extraction.variables)


# The reason None is the finding's own word.
_CHECKS = {
    "equation": (
        ("not_in_source", _not_in_source),
        (None, _no_equation),
        ("undefined_symbol", _undefined),
        ("sizes_differ", _sizes_differ),
    ),
    "lemma": (("not_in_source", _formula_missing), ("undefined_symbol", _undefined)),
}


def formulas(text: str) -> list[str]:
    r"""List the formulas in prose.

    Examples
    --------
    >>> formulas(r"Let $x>0$ and \(y\).")
    ['x>0', 'y']
    """
    return [next(filter(None, match.groups())) for match in _INLINE.finditer(text)]


# ---------------------------------------------------------------- symbols


@dataclass(frozen=True)
class Symbol:
    r"""A symbol in a formula, its spelling made uniform.

    Attributes
    ----------
    base : str
        Without scripts, such as ``\mathbf{h}``.
    sub : str
        Its subscript, empty if it has none.
    indices : tuple of str
        Single letters and digits, if the subscript is made of them; else empty.
    """

    base: str
    sub: str
    indices: tuple[str, ...]


def undefined(formulas: Sequence[str], defined: Sequence[str], mentioned: Iterable[str] = ()) -> list[str]:
    r"""List the symbols of formulas that no definition covers.

    A definition covers its own symbol, with any indices: that of ``h_k`` covers ``h_j``, not ``h_{\text{eff}}``.
    Bound variables, free indices of the left side, and letters in a definition's arguments and indices need none.

    Parameters
    ----------
    formulas, defined : sequence of str
        LaTeX without dollar signs.
    mentioned : iterable of str
        Sizes and domains of the definitions; their letters count as known.

    Raises
    ------
    Unsuited
        A formula can't be read.

    Examples
    --------
    >>> undefined([r"y_k = \sum_{j=1}^K h_{j} x_j + \mathbf{n}"], ["y_k", "h_k", "x_k"])
    ['K', '\\mathbf{n}']
    """
    exact: set[tuple[str, str]] = set()
    indexed: set[str] = set()
    letters: set[str] = set()
    for text in defined:
        found = list(_symbols_of(text))
        for symbol in found[:1]:
            exact.add((symbol.base, symbol.sub))
            if symbol.indices or not symbol.sub:
                indexed.add(symbol.base)
        letters |= {index for symbol in found for index in symbol.indices} | {symbol.base for symbol in found[1:]}
    for text in mentioned:
        letters |= {symbol.base for symbol in _symbols_of(text)}
    missing: list[str] = []
    for formula in formulas:
        row = parse(formula)
        known = letters | set(_bound(row, formula)) | _free(row, formula)
        for symbol in _walk(row, formula):
            shown = symbol.base + (f"_{{{symbol.sub}}}" if symbol.sub and not symbol.indices else "")
            covered = (
                (symbol.base, symbol.sub) in exact
                or (symbol.base in indexed and (symbol.indices or not symbol.sub))
                or symbol.base in known
                or _is_constant(symbol.base)
            )
            if not covered and shown not in missing:
                missing.append(shown)
            if not _is_constant(symbol.base):
                missing += [
                    index
                    for index in symbol.indices
                    if index.isalpha() and index not in known | indexed and index not in missing
                ]
    return missing


def _is_constant(base: str) -> bool:
    word = _WORD.fullmatch(base)
    return base in _CONSTANTS or (word is not None and word[1] in _OPERATORS)


def _symbols_of(text: str) -> Iterator[Symbol]:
    """Yield the symbols of something that need not be LaTeX, such as ``N x M``."""
    try:
        yield from _walk(parse(text), text)
    except Unsuited:
        return


def _walk(row: Row, latex: str) -> Iterator[Symbol]:
    """Yield the symbols of a row and of everything in it but subscripts and marks."""
    for item in row.items:
        if item.kind == "symbol":
            sub = latex[item.sub.start + 1 : item.sub.end] if item.sub else ""
            indices = tuple(_letters(item.sub.row, latex)) if item.sub else ()
            sub = sub[1:-1] if sub.startswith("{") else sub
            yield Symbol(normalise(latex[item.start : item.base_end]), normalise(sub), indices)
        for inner in item.rows:
            yield from _walk(inner, latex)
        if item.sup and (item.kind == "function" or item.sup.asks()):
            yield from _walk(item.sup.row, latex)
        if item.sub and item.name in _BINDERS:
            for line, text in _lines(item.sub.row, latex):
                yield from _walk(line, text)


def _letters(row: Row, latex: str) -> list[str]:
    """Return a subscript's letters and digits if it holds nothing else; a word or a font makes it a label."""
    parts = [normalise(latex[item.start : item.base_end]) for item in row.items if item.kind != "separator"]
    kinds = {item.kind for item in row.items}
    if not kinds <= {"symbol", "number", "separator", "sign"} or any("{" in part for part in parts):
        return []
    return [part for part, item in zip(parts, (i for i in row.items if i.kind != "separator"), strict=True)
            if item.kind in ("symbol", "number")]  # fmt: skip


def _bound(row: Row, latex: str) -> Iterator[str]:
    """Yield the variables that sums, maxima and integrals bind."""
    for number, item in enumerate(row.items):
        if item.sub and item.name in _BINDERS:
            for line, text in _lines(item.sub.row, latex):
                first = next(_walk(line, text), None)
                yield from [first.base, *first.indices] if first else ()
        if item.name in _INTEGRALS:
            yield from _differentials(row.items[number + 1 :], latex)
        for inner in (*item.rows, *(script.row for script in (item.sub, item.sup) if script)):
            yield from _bound(inner, latex)


def _lines(row: Row, latex: str) -> Iterator[tuple[Row, str]]:
    r"""Yield the lines of a ``\substack``, or the row itself."""
    item = row.items[0] if row.items else None
    if item is None or item.name != r"\substack":
        yield row, latex
        return
    for line in rows(latex[item.start : item.end].removeprefix(r"\substack").strip()[1:-1]):
        yield parse(line), line


def _differentials(items: Sequence[Item], latex: str) -> Iterator[str]:
    """Yield ``d`` and what follows it, behind an integral."""
    for item, following in pairwise(items):
        if normalise(latex[item.start : item.base_end]) in ("d", r"\mathrm{d}"):
            yield "d"
            yield normalise(latex[following.start : following.base_end])


def _free(row: Row, latex: str) -> set[str]:
    """Return the indices and arguments of the left side, which say for what the equation holds."""
    left = []
    for item in row.items:
        if item.kind == "relation":
            break
        left.append(item)
    held = {index for symbol in _walk(Row(tuple(left)), latex) for index in symbol.indices}
    for item in left[1:]:
        if item.name == "(":
            held |= {symbol.base for inner in item.rows for symbol in _walk(inner, latex)}
    return held

r"""The structure of an equation in LaTeX: rows of items with scripts, each with its place in the source.

A row holds what stands side by side. Relations and separators cut it into sums, plus and minus cut a sum into terms,
and a term is a product of items. An item is a symbol, a number, a function, a delimited part, a fraction or a root,
with its subscript and superscript. Nothing is rewritten: an item is a span of the source, so cutting it out and
putting it back gives the source again.

pylatexenc reads commands, arguments and environments; what mathematics adds (scripts, delimiters, operators) is read
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from wmbxl.extras import needs

Kind = Literal["symbol", "number", "function", "group", "sign", "times", "relation", "separator", "fence"]


class Unsuited(ValueError):
    """No task can be made of this equation.

    Attributes
    ----------
    reason : str
        A short name that the funnel counts, such as ``"not_parsed"``.
    """

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(detail)


@dataclass(frozen=True)
class Script:
    """A subscript or superscript.

    Attributes
    ----------
    start, end : int
        From the ``_`` or ``^`` to its end.
    row : Row
        What it holds.
    braced : bool
        Whether braces are around it, so that anything may stand there.
    """

    start: int
    end: int
    row: Row
    braced: bool

    def asks(self) -> bool:
        """Whether it is an exponent with a symbol in it, and no mark such as H, (n) or -1."""
        kinds = [item.kind for item in self.row.items if item.kind not in ("number", "sign")]
        return bool(kinds) and not (len(self.row.items) == 1 and self.row.items[0].name in _MARKS)


@dataclass(frozen=True)
class Item:
    """Something with its scripts.

    Attributes
    ----------
    kind : str
        ``"symbol"`` (a letter or command, with its accents and fonts), ``"number"``, ``"function"`` (a named function
        or big operator, which acts on what follows), ``"group"`` (delimiters, fraction, root, environment), ``"sign"``
        (plus or minus), ``"times"`` (a sign of a product or quotient), ``"relation"``, ``"separator"``, or ``"fence"``
        (a delimiter without a partner).
    start, end : int
        Code points of the source, scripts included.
    base_end : int
        Where it would end without scripts.
    name : str
        The character or command that it begins with.
    rows : tuple of Row
        What it encloses.
    sub, sup : Script or None
    """

    kind: Kind
    start: int
    end: int
    base_end: int
    name: str
    rows: tuple[Row, ...] = ()
    sub: Script | None = None
    sup: Script | None = None


@dataclass(frozen=True)
class Row:
    """Items side by side."""

    items: tuple[Item, ...]

    def sums(self) -> Iterator[Sum]:
        """Yield what stands between relations and separators."""
        items: list[Item] = []
        before: Item | None = None
        for item in self.items:
            if item.kind in ("relation", "separator"):
                if items:
                    yield Sum(tuple(items), before)
                before = before if before and not items and item.name == "&" else item
                items = []
            else:
                items.append(item)
        if items:
            yield Sum(tuple(items), before)

    def walk(self) -> Iterator[Row]:
        """Yield this row and those in it that a task may be about: not arguments, subscripts and marks."""
        yield self
        for before, item in with_before(self.items):
            for row in () if is_call(before, item) else item.rows:
                yield from row.walk()
            if item.sup and item.sup.braced and item.sup.asks():
                yield from item.sup.row.walk()


@dataclass(frozen=True)
class Sum:
    """Terms with their signs.

    Attributes
    ----------
    items : tuple of Item
    before : Item or None
        The relation or separator in front of it.
    """

    items: tuple[Item, ...]
    before: Item | None = None

    def terms(self) -> list[tuple[Item | None, tuple[Item, ...]]]:
        """Return each term with the sign in front of it."""
        found: list[tuple[Item | None, tuple[Item, ...]]] = []
        sign: Item | None = None
        term: list[Item] = []
        for item in self.items:
            if item.kind == "sign":
                if term:
                    found.append((sign, tuple(term)))
                sign, term = item, []
            else:
                term.append(item)
        return [*found, (sign, tuple(term))] if term else found


def parse(latex: str) -> Row:
    r"""Read the LaTeX of a formula.

    Parameters
    ----------
    latex : str
        Without dollar signs.

    Raises
    ------
    Unsuited
        It is not balanced, or nests too deeply.

    Examples
    --------
    >>> [(item.kind, item.name) for item in parse(r"y = \mathbf{h}^{H} x").items]
    [('symbol', 'y'), ('relation', '='), ('symbol', '\\mathbf'), ('symbol', 'x')]
    """
    walker = needs("pylatexenc.latexwalker", extra="construct", what="reading equations")
    latex += " "  # for commands that look for an option behind them, such as a line break at the end
    reader = walker.LatexWalker(latex, latex_context=_context(), tolerant_parsing=False)
    try:
        nodes, _, _ = reader.get_latex_nodes(parsing_state=reader.make_parsing_state(in_math_mode=True))
        return _row(_tokens(nodes, latex))
    except (walker.LatexWalkerError, walker.LatexWalkerEndOfStream) as error:
        raise Unsuited("not_parsed", f"not balanced: {str(error).splitlines()[0]}") from error
    except RecursionError:
        raise Unsuited("not_parsed", "nests too deeply") from None


def right_side(row: Row) -> Row | None:
    r"""Return what the equation states of its left side; None if there is no relation with something behind it.

    In a chain it is the last side. A condition behind a comma, a space or words is no part of it.

    Examples
    --------
    >>> row = right_side(parse(r"y_k = a = b x, \quad k = 1, 2"))
    >>> [item.name for item in row.items]
    ['b', 'x']
    """
    stated: Sum | None = None
    for side in islice(row.sums(), 1, None):
        if side.before is None or side.before.kind != "relation":
            break
        stated = side
    return Row(stated.items) if stated else None


def symbols(items: Sequence[Item]) -> int:
    """Count symbols and numbers; a symbol counts once with its subscript, plain exponent and arguments."""
    total = 0
    for before, item in with_before(items):
        total += item.kind in ("symbol", "number")
        rows = () if is_call(before, item) else item.rows
        if item.sup and item.kind != "function" and item.sup.asks():
            rows = (*rows, item.sup.row)
        total += sum(symbols(row.items) for row in rows)
    return total


def with_before(items: Sequence[Item]) -> Iterator[tuple[Item | None, Item]]:
    """Yield each item with the one before it."""
    yield from zip((None, *items), items, strict=False)


def is_call(before: Item | None, item: Item) -> bool:
    """Whether parentheses hold nothing but the arguments of the symbol in front of them, as in ``x(t)``."""
    plain = {"symbol", "number", "separator"}
    held = {each.kind for row in item.rows for each in row.items}
    return before is not None and before.kind == "symbol" and item.name == "(" and held <= plain


# ---------------------------------------------------------------- tokens


def _commands(names: str) -> frozenset[str]:
    return frozenset("\\" + name for name in names.split())


_SIGNS = frozenset("+-−") | _commands("pm mp")
_TIMES = frozenset("*/") | _commands("cdot times otimes odot circ ast star oplus div")
_RELATIONS = frozenset("=<>") | _commands(
    """le leq leqslant ge geq geqslant lt gt neq ne approx simeq sim cong equiv propto triangleq coloneqq eqqcolon doteq
    ll gg in notin ni subset subseteq supset supseteq to rightarrow Rightarrow leftarrow mapsto iff implies
    leftrightarrow Leftrightarrow succ succeq prec preceq perp parallel mid lesssim gtrsim asymp models longrightarrow
    Longrightarrow xrightarrow stackrel overset underset"""
)
_SEPARATORS = frozenset(",;.:&!?") | _commands(
    r"""\ quad qquad colon dots ldots cdots vdots ddots text textrm mbox forall exists land lor wedge vee hline
    intertext"""
)
_SPACES = frozenset(["~", "\\ ", "\\\n"]) | _commands(
    ", : ; ! > displaystyle textstyle limits nolimits notag nonumber hfill hspace vspace label tag phantom"
)
_FUNCTIONS = _commands(
    """sum prod int iint iiint oint coprod bigcup bigcap bigoplus bigotimes lim limsup liminf max min sup inf arg argmax
    argmin log ln lg exp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth det dim ker gcd deg hom Pr
    operatorname mathop partial nabla neg"""
)
_ENCLOSING = _commands("frac dfrac tfrac cfrac sqrt binom dbinom tbinom")
_SIZES = _commands("big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm")
_OPEN = {
    "(": ")", "[": "]", r"\{": r"\}", r"\lbrace": r"\rbrace", r"\lbrack": r"\rbrack", r"\langle": r"\rangle",
    r"\lfloor": r"\rfloor", r"\lceil": r"\rceil", r"\lvert": r"\rvert", r"\lVert": r"\rVert", r"\left": r"\right",
}  # fmt: skip
_MARKS = frozenset("HTc*+(") | _commands("mathrm mathsf text rm dagger top ast star prime circ")  # no exponents
_CLOSE = frozenset(_OPEN.values())
_BARS = frozenset("|") | _commands("| vert Vert")
# The arguments of commands that pylatexenc doesn't know, or not so, in its own notation.
_ARGUMENTS = {
    "{": """bm boldsymbol pmb mathop substack mathring mathds mathscr mathbbm mathcal mathfrak overline underline
    widehat widetilde vec dot ddot bar tilde hat check breve overbrace underbrace boxed phantom mbox textnormal
    hspace vspace label tag overrightarrow""",
    "*{": "operatorname",
    "{{": "dfrac tfrac cfrac binom dbinom tbinom overset underset stackrel",
    "[{": "xrightarrow sqrt",
}


@dataclass(frozen=True)
class _Token:
    """A character, a number, a command with its arguments, a group in braces, or an environment."""

    name: str  # a command's name, or the text itself; "{" for a group
    start: int
    end: int
    rows: tuple[Row, ...] = ()


@lru_cache(maxsize=1)
def _context() -> Any:
    """Return the commands that pylatexenc knows, and some of mathematics that it doesn't."""
    walker = needs("pylatexenc.latexwalker", extra="construct", what="reading equations")
    spec = needs("pylatexenc.macrospec", extra="construct", what="reading equations")
    context = walker.get_default_latex_context_db()
    macros = [spec.std_macro(name, form) for form, names in _ARGUMENTS.items() for name in names.split()]
    context.add_context_category("wmbxl", macros=macros, prepend=True)
    return context


def _tokens(nodes: Sequence[Any], latex: str) -> list[_Token]:
    """Return what stands in a row, without white space and comments."""
    found: list[_Token] = []
    for node in nodes:
        kind = type(node).__name__
        if kind == "LatexCharsNode":
            found += _characters(latex, node.pos, node.pos + node.len)
        elif kind == "LatexGroupNode":
            found.append(_Token("{", node.pos, node.pos + node.len, (_row(_tokens(node.nodelist, latex)),)))
        elif kind == "LatexMacroNode":
            found.append(_command(node, latex))
        elif kind == "LatexEnvironmentNode":
            found.append(_Token(r"\begin", node.pos, node.pos + node.len, (_row(_tokens(node.nodelist, latex)),)))
        elif kind == "LatexSpecialsNode":
            found.append(_Token(node.specials_chars, node.pos, node.pos + node.len))
    return [token for token in found if token.name not in _SPACES]


def _characters(latex: str, start: int, end: int) -> Iterator[_Token]:
    position = start
    while position < end:
        first = position
        position += 1
        if latex[first].isdigit():
            while position < end and (latex[position].isdigit() or latex[position : position + 2].strip(".").isdigit()):
                position += 1
        if not latex[first].isspace():
            yield _Token(latex[first:position], first, position)


def _command(node: Any, latex: str) -> _Token:
    arguments = [each for each in (node.nodeargd.argnlist if node.nodeargd else ()) or () if each is not None]
    # The space behind a command without arguments is counted to it.
    end = max((each.pos + each.len for each in arguments), default=node.pos + 1 + len(node.macroname))
    name = "\\" + node.macroname
    if name not in _ENCLOSING:
        return _Token(name, node.pos, end)
    inside = [each for each in arguments if type(each).__name__ == "LatexGroupNode" and each.delimiters[0] == "{"]
    return _Token(name, node.pos, end, tuple(_row(_tokens(each.nodelist, latex)) for each in inside))


# ---------------------------------------------------------------- rows


def _partners(tokens: Sequence[_Token]) -> dict[int, int]:
    """Return, for each opening delimiter that has one, where its partner is."""
    found: dict[int, int] = {}
    waiting: list[tuple[str, int]] = []
    for position, token in enumerate(tokens):
        if position and tokens[position - 1].name in (r"\left", r"\right", r"\middle"):
            continue  # it is the shape of that
        name = token.name
        if name in _CLOSE or (name in _BARS and any(closer == name for closer, _ in waiting)):
            if any(closer == name for closer, _ in waiting):
                while True:
                    closer, opened = waiting.pop()
                    if closer == name:
                        break
                found[opened] = position
        elif name in _OPEN:
            waiting.append((_OPEN[name], position))
        elif name in _BARS:
            waiting.append((name, position))
    return found


def _row(tokens: Sequence[_Token]) -> Row:
    return Row(tuple(_Reader(tokens).items(0, len(tokens))))


class _Reader:
    """Puts tokens together to items."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._partner = _partners(tokens)

    def items(self, position: int, end: int) -> Iterator[Item]:
        """Yield the items of a stretch of tokens."""
        while position < end:
            base, position = self._base(position, end)
            sub = sup = None
            while position < end and self._tokens[position].name in ("_", "^", "'"):
                script, position, which = self._script(position, end)
                sub, sup = (script, sup) if which == "_" else (sub, script)
            last = max((script.end for script in (sub, sup) if script), default=base.end)
            kind: Kind = base.kind if base.kind != "fence" or not (sub or sup) else "symbol"
            yield replace(base, kind=kind, end=last, sub=sub, sup=sup)

    def _base(self, position: int, end: int) -> tuple[Item, int]:
        token = self._tokens[position]
        if token.name in _SIZES and position + 1 < end:
            item, after = self._base(position + 1, end)
            return replace(item, start=token.start), after
        if position in self._partner and self._partner[position] < end:
            return self._delimited(position)
        kind = _kind_of(token.name)
        after, last = position + 1, token.end
        while token.name.startswith("\\") and kind in ("symbol", "function") and after < end and self._is_group(after):
            last, after = self._tokens[after].end, after + 1  # arguments of a command that pylatexenc doesn't know
        return Item(kind, token.start, last, last, token.name, token.rows), after

    def _is_group(self, position: int) -> bool:
        return self._tokens[position].name == "{"

    def _delimited(self, position: int) -> tuple[Item, int]:
        closing = self._partner[position]
        shaped = self._tokens[position].name == r"\left"
        first, after = position + 1 + shaped, closing + 1 + shaped
        after = min(after, len(self._tokens))
        last = closing
        if first < closing and self._tokens[closing - 1].name in _SIZES:
            last -= 1
        row = Row(tuple(self.items(first, last)))
        name = self._tokens[min(position + shaped, len(self._tokens) - 1)].name
        stop = self._tokens[after - 1].end
        return Item("group", self._tokens[position].start, stop, stop, name, (row,)), after

    def _script(self, position: int, end: int) -> tuple[Script, int, str]:
        mark = self._tokens[position]
        if mark.name == "'":
            while position < end and self._tokens[position].name == "'":
                position += 1
            return Script(mark.start, self._tokens[position - 1].end, Row(()), False), position, "^"
        if position + 1 >= end:
            raise Unsuited("not_parsed", f"a {mark.name} without a script")
        held = self._tokens[position + 1]
        row = (
            held.rows[0]
            if held.name == "{"
            else Row((Item(_kind_of(held.name), held.start, held.end, held.end, held.name),))
        )
        return Script(mark.start, held.end, row, held.name == "{"), position + 2, mark.name


def _kind_of(name: str) -> Kind:
    for kind, names in _KINDS:
        if name in names:
            return kind
    return "number" if name[0].isdigit() else "symbol"


_KINDS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("sign", _SIGNS),
    ("times", _TIMES),
    ("relation", _RELATIONS),
    ("separator", _SEPARATORS),
    ("function", _FUNCTIONS),
    ("group", _ENCLOSING | {"{", r"\begin"}),
    ("fence", frozenset(_OPEN) | _CLOSE | _BARS | {r"\middle", "_", "^"}),
)

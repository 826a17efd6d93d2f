r"""Formulas as terms: what stands in a formula, before anybody says what its symbols stand for.

The grammar is that of wireless papers: bold and calligraphic symbols, subscripts and labels, Hermitian and transpose,
norms, traces, expectations, sums over named ranges. General readers of LaTeX take ``\mathbf{H}^H`` for a power.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from wmbxl.answers.latex import NotUnderstood, Token, Tokens
from wmbxl.answers.units import UNITS


@dataclass(frozen=True)
class Term:
    """An operation on terms, or a symbol with its indices.

    Attributes
    ----------
    op : str
        The operation; `wmbxl.answers.interpret` gives each its meaning.
    args : tuple of Term
        What it is applied to; indices of a symbol.
    name : str
        Of a symbol, function, unit, dummy or label; digits of a number.
    """

    op: str
    args: tuple[Term, ...] = ()
    name: str = ""

    def walk(self) -> Iterator[Term]:
        """Yield the term and all that stand in it."""
        yield self
        for arg in self.args:
            yield from arg.walk()


# Operations whose name is a dummy.
BINDERS = ("sum", "prod", "int", "max", "min", "sup", "inf")
NOTHING = Term("nothing")
ONE = Term("num", name="1")
TWO = Term("num", name="2")
_RELATIONS = ("=", "<=", ">=", "<", ">", "!=", "in", "->", "sim", "approx")
_OPENERS = {"(": ")", "[": "]", "{": "}"}
_BARS = ("|", "||")
_BIG = ("sum", "prod", "int")
_EXTREMA = ("max", "min", "sup", "inf")
_FUNCTIONS = frozenset(
    "log ln lg exp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh det tr diag vec Re Im arg sinc erf erfc "
    "sgn".split()
)
_NESTED_CALLS = 5  # each has two readings
# Letters that are functions even of a sum: a(b+c) is a product, f(b+c) is not.
_CALLED = frozenset(
    ["f", "g", "F", "Q", "J", "u", "\\Gamma", "\\delta", "\\psi", "\\Psi", "mathbb:1", "cal:Q", "cal:CN"]
)
# Operators that are only names where they stand as a script.
_LABELS = frozenset("max min sup inf det arg tr lim vec diag rank sin cos log".split())
_ADJOINTS = {"H": "herm", "T": "trans", "*": "conj", "\\dagger": "dagger"}


def parse(tokens: Sequence[Token], words: Iterable[str] = ()) -> Term:
    r"""Read tokens as a term.

    Parameters
    ----------
    tokens : sequence of Token
        The formula.
    words : iterable of str
        Words that are one symbol, also where they are spelled in italics.

    Raises
    ------
    NotUnderstood
        It is not a formula of this grammar.

    Examples
    --------
    >>> from wmbxl.answers.latex import tokenise
    >>> parse(tokenise("a_k b")) == parse(tokenise("{a}_{k}{b}"))
    True
    """
    try:
        reader = _Reader(_spelled(tuple(tokens), frozenset(words)))
        term = reader.everything()
    except RecursionError as error:
        raise NotUnderstood("too deeply nested") from error
    return term


def words_of(tokens: Sequence[Token]) -> set[str]:
    """Name the words of several letters in tokens."""
    found = {token.text for token in tokens if token.kind == "word"}
    return found.union(*(words_of(arg) for token in tokens for arg in token.args))


def _spelled(tokens: Tokens, words: frozenset[str]) -> Tokens:
    """Join italic letters that spell a known word."""
    joined: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        for word in words:
            run = tokens[place : place + len(word)]
            if "".join(one.text for one in run if one.kind == "letter" and one.font == "") == word:
                joined.append(Token("word", word, "roman"))
                place += len(word)
                break
        else:
            joined.append(replace(token, args=tuple(_spelled(arg, words) for arg in token.args)))
            place += 1
    return tuple(joined)


class _Reader:
    """Recursive descent over tokens."""

    def __init__(self, tokens: Tokens, calls: int = 0) -> None:
        self._tokens = tokens
        self._place = 0
        self._bars: list[str] = []  # delimiters |…| that are open
        self._integrals = 0  # in which a d ends the integrand
        self._calls = calls  # that are open

    def everything(self) -> Term:
        """Read all tokens: a list, relation, interval, set or sum."""
        while self._tokens and self._tokens[-1].text in {".", ",", ";"}:
            self._tokens = self._tokens[:-1]
        items = self._list(("",))
        if not self._over():
            raise NotUnderstood(f"{self._tokens[self._place].text!r} here")
        return items[0] if len(items) == 1 else Term("tuple", items)

    # Where the reader is

    def _over(self) -> bool:
        return self._place >= len(self._tokens)

    def _peek(self, ahead: int = 0) -> Token:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else Token("end")

    def _next(self) -> Token:
        token = self._peek()
        self._place += 1
        return token

    def _at(self, *texts: str) -> bool:
        return self._peek().kind == "mark" and self._peek().text in texts

    def _take(self, *texts: str) -> str:
        """Take a mark if it is the next; say which."""
        return self._next().text if self._at(*texts) else ""

    def _inside(self, tokens: Sequence[Token]) -> Term:
        """Read tokens of an argument by themselves."""
        return _Reader(tuple(tokens), self._calls).everything()

    # Lists, relations, sums, products

    def _list(self, ends: Sequence[str]) -> tuple[Term, ...]:
        items = [self._relation()]
        while self._take(",", ";"):
            if self._over() or self._at(*ends):
                break
            items.append(self._relation())
        return tuple(items)

    def _relation(self) -> Term:
        sides, marks = [self._sum()], []
        while mark := self._take(*_RELATIONS):
            marks.append(mark)
            sides.append(self._sum())
        return sides[0] if not marks else Term("chain", tuple(sides), " ".join(marks))

    def _sum(self) -> Term:
        parts = [self._signed()]
        while self._at("+", "-", "cup", "setminus"):
            if self._at("cup", "setminus"):
                parts = [Term(self._next().text, (_plus(parts), self._product()))]
            else:
                parts.append(self._signed())
        return _plus(parts)

    def _signed(self) -> Term:
        sign = self._take("+", "-")
        term = self._product() if not self._at("+", "-") else self._signed()
        return Term("neg", (term,)) if sign == "-" else term

    def _product(self, implicit_only: bool = False) -> Term:
        factors = [self._factor()]
        while True:
            if self._starts_factor() and not (implicit_only and self._peek().kind == "command"):
                following = self._factor()
                if _is_number(following) and factors[-1].op == "num":
                    raise NotUnderstood("numbers side by side")  # 2\frac{1}{2} is no product
                factors.append(_in_unit(factors[-1], following))
            elif implicit_only:
                break
            elif mark := self._take("cdot", "times", "*", "otimes", "odot", "circ"):
                right = self._factor()
                if not (mark in ("cdot", "otimes", "odot") or _may_multiply(mark, factors[-1], right)):
                    raise NotUnderstood("a convolution, composition or cross product")
                if mark in ("otimes", "odot"):
                    factors = [Term({"otimes": "kron", "odot": "hadamard"}[mark], (_times(factors), right))]
                else:
                    factors.append(right)
            elif self._take("/"):
                below = [self._factor()]
                while self._starts_factor():
                    below.append(self._factor())
                factors = [Term("slash", (_times(factors), *below))]
            else:
                break
        return _times(factors)

    def _starts_factor(self) -> bool:
        token = self._peek()
        if token.kind in ("end", "_", "^") or self._ends_integral():
            return False
        if token.kind != "mark":
            return token.text not in ("&", "\\")
        if token.text in _BARS:
            return token.text not in self._bars
        return token.text in (*_OPENERS, "lfloor", "lceil")

    def _ends_integral(self) -> bool:
        token, variable = self._peek(), self._peek(1)
        return (
            self._integrals > 0
            and token.kind == "letter"
            and token.text == "d"
            and variable.kind in ("letter", "accent")
        )

    # Factors

    def _factor(self) -> Term:
        term = self._scripted(self._atom())
        while mark := self._take("!", "%"):
            term = Term("factorial", (term,)) if mark == "!" else Term("mul", (term, Term("unit", name="%")))
        return term

    def _atom(self) -> Term:
        token = self._next()
        if token.kind == "number":
            if token.font == "bold":
                return Term("constant", name=token.text)
            return Term("num", name=token.text)
        if token.kind in ("letter", "word", "accent"):
            return self._symbol(token)
        if token.kind == "group":
            return self._inside(token.args[0])
        if token.kind == "matrix":
            return Term("matrix", tuple(self._inside(cell) for cell in token.args), str(token.rows))
        if token.kind == "command":
            return self._command(token)
        if token.kind == "mark" and token.text in _OPENERS:
            self._place -= 1
            return self._bracket()
        if token.kind == "mark" and token.text in _BARS:
            return self._between_bars(token.text)
        if token.kind == "mark" and token.text in ("lfloor", "lceil"):
            inner = self._sum()
            if not self._take("r" + token.text[1:]):
                raise NotUnderstood("a delimiter that does not close")
            return Term(token.text[1:], (inner,))
        if token.kind == "mark" and token.text == "...":
            return Term("sym", (), "...")
        raise NotUnderstood(f"{token.text or token.kind!r} here")

    def _bracket(self) -> Term:
        opener = self._next().text
        bars, self._bars = self._bars, []
        items = self._list((")", "]", "}")) if not self._at(")", "]", "}") else ()
        self._bars = bars
        closer = self._take(")", "]", "}")
        if not closer:
            raise NotUnderstood("a bracket that does not close")
        if opener + closer == "[]" and len(items) > 1 and self._peek().kind == "^":
            return Term("matrix", items, "1")
        if len(items) == 2 and "{" not in opener and "}" not in closer and opener + closer != "()":
            return Term("interval", items, opener + closer)
        if opener == "{" and (len(items) != 1 or (self._over() and self._place == len(self._tokens))):
            return Term("set" if len(items) != 1 else "braced", items)
        if _OPENERS[opener] != closer:
            raise NotUnderstood("brackets that do not match")
        return items[0] if len(items) == 1 and items[0].op != "chain" else Term("tuple", items)

    def _between_bars(self, bar: str) -> Term:
        self._bars.append(bar)
        inner = self._sum()
        if not self._take(bar):
            raise NotUnderstood("a bar that does not close")
        self._bars.remove(bar)
        if bar == "|":
            return Term("abs", (inner,))
        kind = ""
        if self._peek().kind == "_":
            kind = "".join(token.text for token in self._next().args[0])
        if kind not in ("", "F", "1", "2", "\\infty"):
            raise NotUnderstood("a norm of this kind")
        return Term("norm", (inner,), kind)

    def _symbol(self, token: Token) -> Term:
        if token.kind == "letter" and token.text == "E" and token.font in ("mathbb", "roman", "sans"):
            return self._expectation()
        if token.kind == "letter" and token.text == "P" and token.font == "mathbb":
            return self._probability()
        term = _constant(token, self._peek())
        if term is not None:
            return term
        if token.text in ("\\partial", "\\nabla"):
            raise NotUnderstood("a derivative")
        name, args = _named(token)
        while self._at("'"):
            name += self._next().text
        while self._peek().kind in ("_", "^"):
            script = self._peek().args[0]
            if self._peek().kind == "_":
                args = (*args, *_indices(script))
            elif token.font == "mathbb" and len(sizes := split_at(script, {"times"})) > 1:
                args = (*args, Term("upper", tuple(self._inside(size) for size in sizes)))  # which don't commute
            elif (label := _label(script)) is not None:
                args = (*args, Term("upper", label))
            else:
                break
            self._next()
        symbol = Term("sym", args, name)
        if self._at("(", "[") or (self._peek().kind == "^" and self._adjoint_then_call()):
            return self._call(symbol)
        return symbol

    def _adjoint_then_call(self) -> bool:
        following = self._peek(1)
        script = self._peek().args[0]
        inverse = [token.text for token in script] == ["-", "1"]
        return (inverse or _adjoint(script) is not None) and following.kind == "mark" and following.text == "("

    def _call(self, symbol: Term) -> Term:
        """Read a symbol with a bracket after it: a function of what is in it, or a product with it."""
        if self._calls == _NESTED_CALLS:
            raise NotUnderstood("deeply nested calls")
        before = self._next().args[0] if self._peek().kind == "^" else None
        inverse = not is_bold(symbol) and before is not None and [token.text for token in before] == ["-", "1"]
        self._calls += 1
        inner = self._bracket()
        self._calls -= 1
        after = self._next().args[0] if self._peek().kind == "^" else None
        if inner.op == "chain":
            raise NotUnderstood("a relation as an argument")
        args = _listed(inner)
        head = replace(symbol, args=(*symbol.args, Term("label", (), "inverse"))) if inverse else symbol
        call = _raised(_raised(Term("call", (head, *args)), None if inverse else before), after)
        if len(args) != 1:
            return call
        simple = symbol.name in _CALLED or inner.op in ("sym", "num", "either")
        usual = "call" if simple and not (before and is_bold(inner)) else "product"
        return Term("either", (call, Term("mul", (_raised(symbol, before), _raised(inner, after)))), usual)

    def _expectation(self) -> Term:
        over = ""
        if self._peek().kind == "_":
            over = " ".join(term.name for term in self._inside(self._next().args[0]).walk() if term.op == "sym")
        body = _unbraced(self._argument())
        if body.op in ("tuple", "chain", "set"):
            raise NotUnderstood("an expectation of a list")
        return Term("expectation", (body,), over)

    def _probability(self) -> Term:
        event = _unbraced(self._argument())
        inner = event.args[0] if event.op == "tuple" and len(event.args) == 1 else event
        if inner.op != "chain" or inner.name not in ("<", ">", "<=", ">="):
            raise NotUnderstood("a probability of this kind")
        less, more = inner.args if inner.name in ("<", "<=") else inner.args[::-1]
        difference = Term("add", (more, Term("neg", (less,))))
        if inner.name in ("<", ">"):
            return Term("call", (Term("sym", (), "P<"), difference))
        complement = Term("add", (less, Term("neg", (more,))))
        return Term("add", (ONE, Term("neg", (Term("call", (Term("sym", (), "P<"), complement)),))))

    # Commands

    def _command(self, token: Token) -> Term:
        name = token.text
        if name == "frac":
            if (
                _is_differential(token.args[0])
                and _is_differential(token.args[1][:1])
                and len(token.args[1]) > 1
                and (token.args[1][1].kind in ("letter", "accent", "word"))
            ):
                raise NotUnderstood("a derivative")
            return Term("frac", (self._inside(token.args[0]), self._inside(token.args[1])))
        if name == "sqrt":
            root = self._inside(token.args[0]) if token.args[0] else TWO
            return Term("root", (self._inside(token.args[1]), root))
        if name == "binom":
            return Term("binom", (self._inside(token.args[0]), self._inside(token.args[1])))
        if name in _BIG:
            return self._big(name)
        if name == "Pr":
            return self._probability()
        if name in _EXTREMA:
            return self._extremum(name)
        if name in _FUNCTIONS:
            return self._function(name)
        raise NotUnderstood(f"\\{name}")

    def _scripts(self) -> tuple[Tokens, Tokens]:
        scripts: dict[str, Tokens] = {"_": (), "^": ()}
        while self._peek().kind in scripts:
            token = self._next()
            scripts[token.kind] = token.args[0]
        return scripts["_"], scripts["^"]

    def _function(self, name: str) -> Term:
        below, above = self._scripts()
        if below and name != "log":
            raise NotUnderstood(f"a subscript of {name}")
        argument = _unbraced(self._argument())
        term = Term("log", (argument, self._inside(below))) if below else Term("function", _listed(argument), name)
        if not above:
            return term
        power = self._inside(above)
        if power.op != "num":
            raise NotUnderstood(f"a superscript of {name}")
        return Term("pow", (term, power))

    def _opens(self) -> bool:
        return self._at(*_OPENERS)

    def _argument(self) -> Term:
        """Read a bracket, or the factors up to the next operator or function."""
        if self._opens():
            return self._bracket()
        if self._at("-"):
            raise NotUnderstood("a sign after a function")
        if self._peek().kind == "command" and self._peek().text in (*_FUNCTIONS, *_BIG):
            return self._factor()
        return self._product(implicit_only=True)

    def _big(self, name: str) -> Term:
        below, above = self._scripts()
        if name == "int":
            return self._integral(below, above)
        return self._over_ranges(name, below, self._inside(above) if above else NOTHING)

    def _over_ranges(self, name: str, below: Tokens, upper: Term) -> Term:
        ranges = _ranges(below, upper)
        body = self._product()
        for dummy, bounds in reversed(ranges):
            body = Term(name, (body, *bounds), dummy)
        return body

    def _integral(self, below: Tokens, above: Tokens) -> Term:
        self._integrals += 1
        body = self._sum()
        self._integrals -= 1
        if not (self._peek().kind == "letter" and self._peek().text == "d"):
            raise NotUnderstood("an integral without its variable")
        self._next()
        variable = self._scripted(self._symbol(self._next()))
        if variable.op != "sym" or not below or not above:
            raise NotUnderstood("an integral without bounds")
        return Term("int", (body, self._inside(below), self._inside(above)), key(variable))

    def _extremum(self, name: str) -> Term:
        below, above = self._scripts()
        if above:
            raise NotUnderstood(f"a superscript of {name}")
        if not below:
            items = _unbraced(self._argument())
            return Term("function", _listed(items), name)
        return self._over_ranges(name, below, NOTHING)

    # Scripts

    def _scripted(self, term: Term) -> Term:
        while self._peek().kind in ("_", "^"):
            token = self._next()
            if token.kind == "^":
                term = _raise(term, token.args[0])
            elif term.op in ("num", "interval", "tuple", "set", "chain"):
                raise NotUnderstood("a subscript of this")
            else:
                term = Term("entry", (term, *_indices(token.args[0])))
        return term


def _plus(parts: Sequence[Term]) -> Term:
    return parts[0] if len(parts) == 1 else Term("add", tuple(parts))


def _times(factors: Sequence[Term]) -> Term:
    return factors[0] if len(factors) == 1 else Term("mul", tuple(factors))


def _listed(term: Term) -> tuple[Term, ...]:
    return term.args if term.op in ("tuple", "interval", "set") else (term,)


def _unbraced(term: Term) -> Term:
    return term.args[0] if term.op == "braced" else term


def _in_unit(before: Term, term: Term) -> Term:
    """Take a symbol for a unit if it is one and follows a number or another unit."""
    if term.op == "sym" and not term.args and before.op in ("num", "unit", "pow", "frac"):
        unit = term.name.removeprefix("word:").removeprefix("roman:")
        if unit in UNITS and term.name != unit:
            return Term("unit", name=unit)
    return term


def _constant(token: Token, following: Token) -> Term | None:
    if token.kind != "letter" or token.font not in ("", "roman", "sans"):
        return None
    labelled = following.kind == "^" and _label(following.args[0]) is not None
    if token.text == "\\pi" and following.kind != "_" and not labelled:
        return Term("constant", name="pi")
    if token.text in ("e", "\\mathrm{e}") and following.kind == "^" and not labelled:
        return Term("constant", name="e")
    if token.text == "\\imaginary" or (token.text in ("i", "j") and token.font in ("roman", "sans")):
        return Term("constant", name="i")
    return Term("constant", name="infinity") if token.text == "\\infty" else None


def _named(token: Token) -> tuple[str, tuple[Term, ...]]:
    """Name a symbol, with its font and accents, and the indices that stand under an accent."""
    if token.kind == "accent":
        inner = token.args[0]
        if not inner or inner[0].kind not in ("letter", "word", "accent") or any(t.kind != "_" for t in inner[1:]):
            raise NotUnderstood("an accent over a formula")
        name, args = _named(inner[0])
        return f"{token.text}:{name}", (*args, *(index for t in inner[1:] for index in _indices(t.args[0])))
    if token.kind == "word":
        return f"{'word' if token.font == 'roman' else token.font}:{token.text}", ()
    return (f"{token.font}:{token.text}" if token.font else token.text), ()


def starred(symbol: Term) -> Term:
    r"""Return the symbol with a star, as in ``x^\\star``."""
    return replace(symbol, args=(*symbol.args, Term("upper", (Term("label", (), "\\star"),))))


def _is_number(term: Term) -> bool:
    return all(part.op in ("num", "frac", "slash") for part in term.walk())


def _is_differential(tokens: Tokens) -> bool:
    return bool(tokens) and tokens[0].kind == "letter" and tokens[0].text == "d" and tokens[0].font in ("", "roman")


def _may_multiply(mark: str, left: Term, right: Term) -> bool:
    """Tell whether a mark that has other meanings too stands for a product."""
    if mark == "times":
        return not (is_bold(left) and is_bold(right))
    return mark == "*" and (left.op == "num" or right.op == "num")


def key(symbol: Term) -> str:
    """Name a dummy, which may have indices of its own."""
    return symbol.name + "".join(f"_{arg.name}" for arg in symbol.args)


def _indices(tokens: Tokens) -> tuple[Term, ...]:
    """Read a subscript: what stands between commas, and letters side by side, are indices of their own."""
    found: list[Term] = []
    for part in split_at(tokens, {","}):
        if all(token.kind in ("letter", "number", "word") or token.text in _LABELS for token in part):
            for token in part:
                if token.kind == "number":
                    found.append(Term("num", name=token.text))
                elif token.kind == "letter" and token.font != "roman":
                    found.append(Term("sym", (), token.text if token.font in ("", "bold") else _named(token)[0]))
                else:  # a word is its letters, as if it were in italics, but none of them is a dummy
                    found += [Term("letter", (), letter) for letter in token.text if not letter.isspace()]
        elif len(part) == 1 and part[0].kind == "mark":
            found.append(Term("label", (), part[0].text))
        else:
            found.append(_Reader(part).everything())
    return tuple(found)


def split_at(tokens: Tokens, marks: set[str]) -> list[Tokens]:
    """Split tokens at marks that stand in no bracket."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in _OPENERS) - (token.text in _OPENERS.values()) if token.kind == "mark" else 0
        if depth == 0 and token.text in marks:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts if part]


def _label(tokens: Tokens) -> tuple[Term, ...] | None:
    r"""Read a superscript that is a name or an index, as in ``x^{(k)}``, ``x^\star`` or ``x^{\mathrm{opt}}``."""
    if len(tokens) == 1:
        token = tokens[0]
        if token.kind == "word" or (token.kind == "command" and token.text in _LABELS):
            return _indices(tokens)
        if (token.text, token.kind) in (("\\star", "letter"), ("'", "mark"), ("+", "mark"), ("-", "mark")):
            return (Term("label", (), token.text),)
        if token.kind == "letter" and token.font == "roman":
            return _indices(tokens)
    if len(tokens) > 2 and (tokens[0].text, tokens[-1].text) in (("(", ")"), ("[", "]"), ("{", "}")):
        inside = tokens[1:-1]
        if not any(token.text in _OPENERS.values() for token in inside):
            return _indices(inside)
    if tokens and all(token.text == "'" for token in tokens):
        return (Term("label", (), "'" * len(tokens)),)
    return None


def _adjoint(tokens: Tokens) -> list[str] | None:
    """Read a superscript made of H, T, * and dagger only, or of one after a minus sign; "inverse" comes first."""
    names = [token.text for token in tokens]
    inverse = names[:1] == ["-"] and len(names) == 2
    names = names[1:] if inverse else names
    if not names or not all(name in _ADJOINTS for name in names) or (inverse and names[0] == "*"):
        return None
    return ["inverse"] * inverse + [_ADJOINTS[name] for name in names]


def _raised(term: Term, script: Tokens | None) -> Term:
    return term if script is None else _raise(term, script)


def _raise(term: Term, script: Tokens) -> Term:
    adjoint = _adjoint(script)
    # T is a number where it stands over one: (1+r)^T.
    transposable = term.op in ("sym", "call", "entry", "matrix") or any(is_bold(part) for part in term.walk())
    if adjoint is not None and (transposable or "trans" not in adjoint):
        for name in adjoint:
            term = Term("pow", (term, Term("neg", (ONE,)))) if name == "inverse" else Term(name, (term,))
        return term
    if len(script) == 1 and script[0].text == "circ":
        return Term("mul", (term, Term("unit", name="degree")))
    if _label(script) is not None and script[0].text != "(" and term.op != "constant":
        raise NotUnderstood("a label on a formula")
    return Term("pow", (term, _Reader(script).everything()))


def is_bold(term: Term) -> bool:
    """Tell whether a symbol is one that does not commute: bold or calligraphic."""
    parts = term.name.split(":")
    return term.op == "sym" and ("bold" in parts or ("cal" in parts and len(parts[-1]) == 1))


def _ranges(below: Tokens, upper: Term) -> list[tuple[str, tuple[Term, ...]]]:
    """Read what stands under a sum: each dummy with its lower bound or set, its upper bound, and conditions."""
    if len(below) == 1 and below[0].text == "substack":
        below = below[0].args[0]
    dummies: list[tuple[str, list[Term]]] = []
    for part in split_at(below, {",", "\\", ":", ";"}):
        term = _Reader(part).everything()
        first = term.args[0] if term.op == "chain" else term
        if first.op != "sym" or is_bold(first):
            raise NotUnderstood("a range of this kind")
        known = [bounds for dummy, bounds in dummies if dummy == key(first)]
        if term.op == "sym":
            dummies.append((key(first), [NOTHING, NOTHING]))
        elif term.name == "=" and len(term.args) == 2:
            dummies.append((key(first), [term.args[1], upper]))
        elif term.name == "in":
            dummies.append((key(first), [_domain(term.args[1]), NOTHING]))
        elif known:
            known[0].append(term)
        elif dummies and not any(part.op == "sym" and key(part) == dummies[-1][0] for part in term.walk()):
            raise NotUnderstood("a condition on no dummy")
        elif dummies:
            dummies[-1][1].append(term)
        else:
            dummies.append((key(first), [NOTHING, NOTHING, term]))
    if not dummies:
        raise NotUnderstood("a sum without a range")
    return [(dummy, tuple(bounds)) for dummy, bounds in dummies]


def _domain(term: Term) -> Term:
    if term.op == "setminus":
        removed = term.args[1]
        return Term("domain", (term.args[0], *(removed.args if removed.op in ("set", "braced") else (removed,))))
    if term.op in ("set", "braced"):
        if any(part.name == "..." for part in term.walk()):
            raise NotUnderstood("a set with dots")
        return Term("set", term.args)
    return Term("domain", (term,))


def label_names(term: Term) -> set[str]:
    """Name the symbols, functions and worded labels of a term that are free, without single-letter indices."""
    found: set[str] = set()
    _collect(term, frozenset(), found)
    return found


def _collect(term: Term, bound: frozenset[str], found: set[str]) -> None:
    if term.op in BINDERS:
        bound |= {term.name}
    if term.op == "sym":
        if key(term) in bound:
            return
        flat = [arg.name for index in term.args for arg in (index.args if index.op == "upper" else (index,))]
        letters = sorted(name for name in flat if re.fullmatch("[A-Za-z]", name))
        found.add(term.name + (f"_{''.join(letters)}" if len(letters) > 1 else ""))
        return
    if term.op == "unit":
        found.add("unit")
    for arg in term.args[:1] if term.op == "either" else term.args:
        _collect(arg, bound, found)

"""Whether two terms mean the same: relations, sets and intervals part by part, formulas by interpretation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wmbxl.answers.interpret import Budget, Interpretation
from wmbxl.answers.latex import Token, canonical
from wmbxl.answers.readings import Reading, Roles, readings_of
from wmbxl.answers.shapes import Shapes, assignments
from wmbxl.answers.terms import NOTHING, Term, label_names, parse, split_at, words_of
from wmbxl.answers.units import UNITS
from wmbxl.answers.values import Undefined, Value, difference
from wmbxl.answers.verdict import Relation

TRIALS = 10
DEFINED = 3  # trials that have to be defined for an equality
SAME, APART = 1e-9, 1e-4  # relative differences: below one, equal; above the other, different
ROUNDING = 0.02
READINGS = 96
VALUES = 50_000  # computed for two formulas: about a second
DIGITS = 9  # a number with more is compared as text too


@dataclass(frozen=True)
class Found:
    """What the symbolic step finds: see `wmbxl.answers.verdict.Equivalence`."""

    relation: Relation
    reason: str
    foreign: tuple[str, ...] = ()


def relate(first: Sequence[Token], second: Sequence[Token]) -> Found:
    r"""Compare two formulas.

    Raises
    ------
    NotUnderstood
        One of them is not a formula, or has no meaning here.

    Examples
    --------
    >>> from wmbxl.answers.latex import tokenise
    >>> relate(tokenise(r"\|\mathbf{h}\|^2"), tokenise(r"\mathbf{h}^H\mathbf{h}")).relation
    'equivalent'
    """
    words = {word for word in words_of(first) | words_of(second) if len(word) > 1 and word.isalpha()}
    one, other = parse(first, words), parse(second, words)
    relation = _relate(one, other)
    foreign = tuple(sorted(_names(one, other) - label_names(other) - {"bold:I"}))
    if relation == "different" and _units(one) != _units(other):
        return Found("undecided", "units that differ", foreign)
    if (
        relation == "equivalent"
        and _sizes(first) != _sizes(second)
        and sorted(map(str, _sizes(first))) == sorted(map(str, _sizes(second)))
    ):
        return Found("undecided", "the same product, but other sizes if it stands for these", foreign)
    reasons = {"equivalent": "the same value for all symbols", "different": "different values for some symbols"}
    return Found(relation, reasons.get(relation, "neither shown to be the same nor to differ"), foreign)


def _units(term: Term) -> set[str]:
    """Name the base units in a term."""
    return {UNITS[part.name][1] for part in term.walk() if part.op == "unit"}


def _sizes(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    r"""Split what may be the size of a matrix, such as ``M \times N``."""
    return split_at(canonical(tokens), {"times"})


def _names(one: Term, other: Term) -> set[str]:
    """Name the symbols of a term, but not what it gives a value to where the other gives only the value."""
    if one.op == "chain" and other.op != "chain" and _names_something(one):
        return label_names(Term("tuple", one.args[1:]))
    return label_names(one)


def _names_something(chain: Term) -> bool:
    named = chain.args[0]
    while named.op in ("herm", "trans", "conj", "dagger"):
        named = named.args[0]
    return named.op in ("sym", "call", "either", "entry") and set(chain.name.split()) in ({"="}, {"in"})


def _relate(one: Term, other: Term) -> Relation:
    one, other = _bare(one, other)
    if one == other:
        return "equivalent"
    kinds = {one.op, other.op}
    if kinds == {"chain"}:
        return _relations(one, other)
    if "chain" in kinds:
        chain, plain = (one, other) if one.op == "chain" else (other, one)
        return _member(chain, plain)
    if kinds == {"set"}:
        return _sets(one.args, other.args)
    if kinds == {"tuple"}:
        return _lists(one.args, other.args) if len(one.args) == len(other.args) else "different"
    if kinds == {"interval"}:
        ends = _lists(one.args, other.args)
        return "different" if ends == "equivalent" and one.name != other.name else ends
    if kinds & {"set", "tuple", "interval"}:
        return "undecided"
    return _formulas(one, other)


def _bare(one: Term, other: Term) -> tuple[Term, Term]:
    """Take braces around single elements for a set if the other is one too, and away otherwise."""
    if "set" in (one.op, other.op):
        return tuple(Term("set", term.args) if term.op == "braced" else term for term in (one, other))  # type: ignore[return-value]
    return tuple(term.args[0] if term.op == "braced" else term for term in (one, other))  # type: ignore[return-value]


def _lists(ones: Sequence[Term], others: Sequence[Term]) -> Relation:
    found = [_relate(one, other) for one, other in zip(ones, others, strict=True)]
    if "different" in found:
        return "different"
    return "equivalent" if all(relation == "equivalent" for relation in found) else "undecided"


def _sets(ones: Sequence[Term], others: Sequence[Term]) -> Relation:
    table = [[_relate(one, other) for other in others] for one in ones]
    columns = list(zip(*table, strict=True))
    lines = [*table, *columns]
    if any(all(relation == "different" for relation in line) for line in lines):
        return "different"
    return "equivalent" if all("equivalent" in line for line in lines) else "undecided"


def _member(chain: Term, plain: Term) -> Relation:
    """Compare an equation with a formula that may be one of its sides, as x = 5 with 5."""
    marks = set(chain.name.split())
    if marks == {"in"} and len(chain.args) == 2:
        return _relate(chain.args[1], plain)
    if marks != {"="}:
        return "undecided"
    if marks == {"="} and len(chain.args) == 2 and not _names_something(chain):
        chain = Term("chain", chain.args[::-1], chain.name)  # 5 = x
    named = _names_something(chain)
    found = [_relate(side, plain) for side in chain.args[named:]]
    if all(relation == "equivalent" for relation in found):
        return "equivalent"
    if "equivalent" in found:  # 5 = 7, and 2x = 10, say more than one thing
        return "equivalent" if named and "different" not in found else "undecided"
    return "different" if named and all(relation == "different" for relation in found) else "undecided"


def _relations(one: Term, other: Term) -> Relation:
    if len(one.args) != 2 or len(other.args) != 2:
        return (
            _lists(one.args, other.args) if one.name == other.name and len(one.args) == len(other.args) else "undecided"
        )
    one, other = _upwards(one), _upwards(other)
    pairs = [_relate(*sides) for sides in zip(one.args, other.args, strict=True)]
    strict = {one.name, other.name} == {"<", "<="}
    if one.name != other.name and not strict:
        return "undecided"
    same = all(relation == "equivalent" for relation in pairs)
    if not same and one.name == "=":
        same = all(_relate(*sides) == "equivalent" for sides in zip(one.args, other.args[::-1], strict=True))
    if not same and one.name in ("=", "<", "<="):
        same = _formulas(_gap(one), _gap(other)) == "equivalent"
    if not same and one.name == "=":
        same = _formulas(_gap(one), Term("neg", (_gap(other),))) == "equivalent"
    if same:
        return "different" if strict else "equivalent"
    if one.name != "=" and _formulas(_gap(one), Term("neg", (_gap(other),))) == "equivalent":
        return "different"  # the other way round
    return "different" if sorted(pairs) == ["different", "equivalent"] and not strict else "undecided"


def _upwards(chain: Term) -> Term:
    """Turn a relation such that the larger side is on the right."""
    if chain.name in (">", ">="):
        return Term("chain", chain.args[::-1], chain.name.replace(">", "<"))
    return chain


def _gap(chain: Term) -> Term:
    return Term("add", (chain.args[1], Term("neg", (chain.args[0],))))


def _formulas(one: Term, other: Term) -> Relation:
    comparison = _Comparison(one, other)
    if comparison.agree():
        return "equivalent" if _long_numbers(one) == _long_numbers(other) else "undecided"
    if not _comparable(one, other) or comparison.rounded():
        return "undecided"
    return "different" if comparison.differ() else "undecided"


class _Comparison:
    """Two formulas under many interpretations."""

    def __init__(self, one: Term, other: Term) -> None:
        self._terms = one, other
        self._shapes = assignments(self._terms)
        self._roles = Roles.of(self._terms)
        self._usual, self._possible = readings_of(self._terms)
        self._budget = Budget(VALUES)

    def agree(self) -> bool:
        """Tell whether they have the same value wherever both have one, under each usual reading."""
        return all(self._agree(reading) for reading in self._usual)

    def differ(self) -> bool:
        """Tell whether no reading makes them the same."""
        return len(self._possible) * len(self._shapes) <= READINGS and all(
            any(self._apart(shapes, reading, trial) > APART for trial in range(TRIALS))
            for shapes in self._shapes
            for reading in self._possible
        )

    def rounded(self) -> bool:
        """Tell whether one is a decimal number close to the other, so that a text may have rounded it."""
        parts = [part for term in self._terms for part in term.walk()]
        decimals = any(part.op == "num" and "." in part.name for part in parts)
        constant = not any(part.op in ("sym", "unit") for part in parts)
        return decimals and constant and self._apart(self._shapes[0], self._usual[0], trial=0) < ROUNDING

    def _agree(self, reading: Reading) -> bool:
        equal = 0
        lacking = set()  # which of them has no value where the other has one
        for trial in range(TRIALS):
            first, second = self._values(self._shapes[0], reading, trial)
            if first is None or second is None:
                lacking |= {first is None} if first is not second else set()
            elif difference(first, second) < SAME:
                equal += 1
            else:
                return False
        return equal >= DEFINED and len(lacking) < 2

    def _apart(self, shapes: Shapes, reading: Reading, trial: int) -> float:
        """Tell how far apart their values are; 0 if one has none."""
        first, second = self._values(shapes, reading, trial)
        return 0.0 if first is None or second is None else difference(first, second)

    def _values(self, shapes: Shapes, reading: Reading, trial: int) -> list[Value | None]:
        interpretation = Interpretation(shapes, self._roles, reading, trial, self._budget)
        values: list[Value | None] = []
        for term in self._terms:
            try:
                values.append(interpretation.value(term))
            except Undefined:
                values.append(None)
        return values


def _long_numbers(term: Term) -> Counter[str]:
    digits = (part.name for part in term.walk() if part.op == "num")
    return Counter(name for name in digits if len(re.sub(r"^[0.]+|\.", "", name)) > DIGITS)


def _comparable(one: Term, other: Term) -> bool:
    """Tell whether a difference in value is one in meaning: both sum over the same, and nothing is approximated."""
    return _approximated(one) == _approximated(other) == set() and _open_ranges(one) == _open_ranges(other)


def _approximated(term: Term) -> set[str]:
    """Name what is in a term that is approximated, or that only the text tells: what dots stand for, P(X < x)."""
    parts = list(term.walk())
    names = {part.name for part in parts} & {"infinity", "...", "P<"}
    return names | {part.op for part in parts} & {"int", "max", "min", "sup", "inf"}


def _open_ranges(term: Term) -> set[Term]:
    """List the ranges of sums that only the text tells."""
    sums = [part for part in term.walk() if part.op in ("sum", "prod")]
    return {part.args[1] for part in sums if part.args[2] == NOTHING and part.args[1].op != "set"}

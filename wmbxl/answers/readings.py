"""How notation is read that papers use in several ways, and what the symbols of a formula are used for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from wmbxl.answers.terms import BINDERS, Term, starred


@dataclass(frozen=True)
class Reading:
    r"""How notation is read that papers use in several ways.

    Attributes
    ----------
    dagger : {"herm", "pinv"}
        ``A^\dagger``, the Hermitian transpose or the pseudoinverse.
    slash : {"first", "all"}
        ``a/bc``, where the first or all of the factors after the slash divide.
    norm : {"frobenius", "spectral"}
        ``\|A\|`` of a matrix.
    log : float, optional
        The base of ``\log``; None for one that is not told.
    calls : {"usual", "product", "call"}
        ``a(b)``: what is usual for such letters, or always one of the two.
    scalars : {"complex", "real", "positive"}
        What scalars are that stand in an absolute value: complex, and positive otherwise; or all real; or all positive;
        or all whole, so that ``(-1)^{2n}`` is 1. A scalar with a conjugate is always complex.
    star : {"conj", "optimum"}
        ``x^*``, the conjugate, or the optimum, which ``x^\star`` is always.
    random : str, optional
        The one symbol that an expectation is over; None for all.
    """

    dagger: Literal["herm", "pinv"] = "herm"
    slash: Literal["first", "all"] = "first"
    norm: Literal["frobenius", "spectral"] = "frobenius"
    log: float | None = None
    calls: Literal["usual", "product", "call"] = "usual"
    scalars: Literal["complex", "real", "positive", "whole"] = "complex"
    star: Literal["conj", "optimum"] = "conj"
    random: str | None = None


@dataclass(frozen=True)
class Roles:
    """What the symbols of all terms that are compared are used for.

    Attributes
    ----------
    conjugated, absolute, signed : frozenset of str
        Names under a conjugate, in an absolute value, and where the sign is asked for, as in a maximum.
    indices, limits : frozenset of str
        Names that stand as indices, and in bounds of sums.
    sums : bool
        Whether indices run, so that they have to be whole numbers.
    """

    conjugated: frozenset[str]
    absolute: frozenset[str]
    signed: frozenset[str]
    indices: frozenset[str]
    limits: frozenset[str]
    sums: bool

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Roles:
        """Collect the roles in some terms."""
        conjugated: set[str] = set()
        absolute: set[str] = set()
        signed: set[str] = set()
        indices: set[str] = set()
        limits: set[str] = set()
        sums = False
        for part in (part for term in terms for part in term.walk()):
            if part.op in ("conj", "herm", "dagger"):
                conjugated |= symbols_of(part.args[0])
            elif part.op == "abs" or (part.op == "function" and part.name in ("Re", "Im", "arg")):
                absolute |= symbols_of(part.args[0])
            elif part.op == "function" and part.name in ("max", "min", "sgn"):
                signed |= set().union(*map(symbols_of, part.args))
            elif part.op == "call":
                indices |= {"i", "j"} & {arg.name for arg in part.args[1:] if arg.op == "sym"}
            elif part.op in ("sym", "entry"):
                inside = part.args if part.op == "sym" else part.args[1:]
                indices |= {one.name for arg in inside for one in arg.walk() if one.op == "sym"}
            elif part.op in BINDERS and part.op != "int":
                sums = True
                limits |= {one.name for arg in part.args[1:3] for one in arg.walk() if one.op == "sym"}
                indices |= {part.name, *(one.name for arg in part.args[3:] for one in arg.walk() if one.op == "sym")}
        return cls(
            frozenset(conjugated), frozenset(absolute), frozenset(signed), frozenset(indices), frozenset(limits), sums
        )


def symbols_of(term: Term) -> set[str]:
    """Name the symbols of a term, without their indices."""
    if term.op == "sym":
        return {term.name}
    args = term.args[:1] if term.op == "either" else term.args
    return set().union(*(symbols_of(arg) for arg in args))


def readings_of(terms: Sequence[Term]) -> tuple[list[Reading], list[Reading]]:
    """List the readings under which terms must agree to be the same, and all that are possible.

    Where notation has a usual reading, the terms have to agree under it; where it has none, under each.
    """
    parts = [part for term in terms for part in term.walk()]
    ops = {part.op for part in parts}
    open_axes: dict[str, Sequence[Any]] = {
        "dagger": ("herm", "pinv") if "dagger" in ops else ("herm",),
        "slash": ("first", "all") if any(part.op == "slash" and len(part.args) > 2 for part in parts) else ("first",),
        "norm": ("frobenius", "spectral") if any(p.op == "norm" and not p.name for p in parts) else ("frobenius",),
    }
    logs = {part.name for part in parts if part.op == "function"} & {"log"}
    expected = sorted({name for p in parts if p.op == "expectation" and not p.name for name in symbols_of(p.args[0])})
    other_axes: dict[str, Sequence[Any]] = {
        "log": (None, math.e, 2, 10) if logs else (None,),
        "calls": ("usual", "product", "call") if "either" in ops else ("usual",),
        "scalars": ("complex", "real", "positive", "whole"),
        "star": ("conj", "optimum")
        if any(starred(part.args[0]) in parts for part in parts if part.op == "conj")
        else ("conj",),
        "random": (None, *expected) if len(expected) > 1 else (None,),
    }
    usual = [Reading(**dict(zip(open_axes, chosen, strict=True))) for chosen in product(*open_axes.values())]
    axes = open_axes | other_axes
    return usual, [Reading(**dict(zip(axes, chosen, strict=True))) for chosen in product(*axes.values())]

r"""What a term is worth when its symbols stand for random numbers, vectors and matrices.

Two formulas that mean the same have the same value under every interpretation. Two formulas of analytic functions that
have the same value at a few random points are the same but for an event of probability zero; this is how randomised
identity testing works (Schwartz 1980; Gulwani and Necula 2003). One interpretation under which they differ proves that
they are not the same.
"""

from __future__ import annotations

import cmath
import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from wmbxl.answers.latex import NotUnderstood
from wmbxl.answers.readings import Reading, Roles, symbols_of
from wmbxl.answers.shapes import Shapes, is_identity, size_in, size_of_identity
from wmbxl.answers.terms import NOTHING, Term, key, starred
from wmbxl.answers.units import UNITS
from wmbxl.answers.values import (
    Identity,
    Matrix,
    Undefined,
    Value,
    add,
    conjugate,
    diagonal,
    inverse,
    is_finite,
    matrix,
    multiply,
    number,
    real,
    scale,
    sized,
    square_root,
    transpose,
)

_SAMPLES = ((0, 0.2), (1, 0.3), (2, 0.5))  # of random quantities, and how likely each is
_CELLS = 100_000
_LOST = 1e-8


class Budget:
    """How many values may be computed for one comparison: nested sums multiply.

    A count ends at the same point on every machine, which a time limit does not.
    """

    def __init__(self, values: int) -> None:
        self._left = values

    def spend(self) -> None:
        """Count one value."""
        self._left -= 1
        if self._left < 0:
            raise NotUnderstood("too many values to compute")


class Interpretation:
    """Values for all symbols, drawn at random by their names.

    Parameters
    ----------
    shapes : Shapes
        What is a scalar, a vector, a matrix.
    roles : Roles
        What the symbols are used for.
    reading : Reading
        How ambiguous notation is read.
    trial : int
        Which draw this is.
    budget : Budget
        How much may be computed.
    """

    def __init__(self, shapes: Shapes, roles: Roles, reading: Reading, trial: int, budget: Budget) -> None:
        self._shapes = shapes
        self._roles = roles
        self._reading = reading
        self._trial = trial
        self._free: dict[str, int] = _Sizes(trial)
        self._budget = budget

    def value(self, term: Term) -> Value:
        """Compute what a term is worth.

        Raises
        ------
        Undefined
            It has no value here.
        NotUnderstood
            It holds what has no meaning, such as a list.
        """
        try:
            found = self._value(term, {}, {})
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise Undefined(str(error)) from error
        if not is_finite(found):
            raise Undefined("not finite")
        return found

    def _value(self, term: Term, env: Mapping[str, complex], sample: Mapping[str, int]) -> Value:
        self._budget.spend()
        method: Callable[..., Value] | None = getattr(self, f"_{term.op}", None)
        if method is None:
            raise NotUnderstood(f"a {term.op} here")
        found = method(term, env, sample)
        return complex(found) if isinstance(found, float | int) else found

    def _values(self, terms: Sequence[Term], env: Any, sample: Any) -> list[Value]:
        return [self._value(term, env, sample) for term in terms]

    def _scalar(self, term: Term, env: Any, sample: Any) -> complex:
        return number(self._value(term, env, sample))

    # Symbols

    def _num(self, term: Term, env: Any, sample: Any) -> Value:
        return float(term.name)

    def _constant(self, term: Term, env: Any, sample: Any) -> Value:
        if term.name == "1":
            return np.ones((self._size(("ones",)), 1), dtype=complex)
        known: dict[str, Value] = {"pi": math.pi, "e": math.e, "i": 1j, "0": Identity(0), "infinity": math.inf}
        if term.name not in known:
            raise NotUnderstood(f"a bold {term.name}")
        return known[term.name]

    def _unit(self, term: Term, env: Any, sample: Any) -> Value:
        size, base = UNITS[term.name]
        return size if base == "one" else size * self._draw("unit " + base).uniform(0.5, 2)

    def _letter(self, term: Term, env: Any, sample: Any) -> Value:
        return self._scalar_symbol(term.name, term.name, sample)

    def _sym(self, term: Term, env: Mapping[str, complex], sample: Mapping[str, int]) -> Value:
        if key(term) in env:
            return env[key(term)]
        if is_identity(term):
            if not term.args:
                return Identity(1)
            return np.eye(self._size(size_of_identity(term)), dtype=complex)
        if term.name in ("i", "j") and not term.args and term.name not in self._roles.indices:
            return 1j
        if len(term.args) == 1 and key(Term("sym", (), term.name)) in env:
            raise NotUnderstood("an index on a dummy")
        name = term.name + "".join(f"|{self._index(arg, env, sample)}" for arg in term.args)
        shape = self._shapes.of(term)
        if isinstance(shape, tuple):
            if term.name in sample:
                name += f"#{sample[term.name]}"
            return self._matrix_of(name, shape)
        return self._scalar_symbol(term.name, name, sample)

    def _scalar_symbol(self, base: str, name: str, sample: Mapping[str, int]) -> complex:
        roles = self._roles
        if "|" not in name and roles.sums and base in roles.limits:
            return self._draw(name).randint(4, 7)
        if "|" not in name and roles.sums and base in roles.indices:
            return self._draw(name).randint(1, 3)
        if base in sample:
            name += f"#{sample[base]}"
        draw = self._draw(name)
        size = math.exp(draw.uniform(-1, 1))
        if base in roles.conjugated or (base in roles.absolute and self._reading.scalars == "complex"):
            return cmath.rect(size, draw.uniform(-math.pi, math.pi))
        if self._reading.scalars == "whole":
            return draw.randint(1, 9)
        signed = self._reading.scalars == "real" or base in roles.signed
        return size * draw.choice((-1, 1)) if signed else size

    def _index(self, term: Term, env: Any, sample: Any) -> str:
        if term.op == "label":
            return term.name
        if term.op == "upper":
            return "^" + ",".join(self._index(arg, env, sample) for arg in term.args)
        value = self._value(term, env, {})
        return f"{self._feature(0, value):.6g}"

    def _draw(self, name: str) -> random.Random:
        return random.Random(f"{self._trial} {name}")

    def _size(self, size: tuple[str, ...]) -> int:
        return size_in(self._shapes, size, self._free)

    def _matrix_of(self, name: str, shape: tuple[Any, Any]) -> Matrix:
        draw = np.random.default_rng([self._trial, *name.encode()])
        size = (self._size(shape[0]), self._size(shape[1]))
        return draw.normal(size=size) + 1j * draw.normal(size=size)

    def _call(self, term: Term, env: Any, sample: Any) -> Value:
        head, *args = term.args
        at = sum(self._feature(place, value) for place, value in enumerate(self._values(args, env, sample)))
        base = self._sym(head, env, sample)
        # A smooth function of its arguments, positive wherever they are real.
        draw = self._draw(f"function {head.name} {[self._index(arg, env, sample) for arg in head.args]}")
        return scale(base, 1.5 + cmath.cos(at * draw.uniform(0.5, 2) + draw.uniform(0, 6)) ** 2)

    def _either(self, term: Term, env: Any, sample: Any) -> Value:
        call, product = term.args
        reading = term.name if self._reading.calls == "usual" else self._reading.calls
        return self._value(call if reading == "call" else product, env, sample)

    def _feature(self, place: int, value: Value) -> complex:
        flat = np.ravel(value.factor if isinstance(value, Identity) else value)
        weights = np.random.default_rng([place, flat.size]).uniform(0.5, 1.5, flat.size)
        return complex(flat @ weights)

    # Arithmetic

    def _add(self, term: Term, env: Any, sample: Any) -> Value:
        values = self._values(term.args, env, sample)
        sizes = [float(np.max(np.abs(value))) for value in values if not isinstance(value, Identity)]
        if any(0 < size < _LOST * max(sizes) for size in sizes):
            raise NotUnderstood("a sum in which rounding swallows a part")
        return reduce(add, values)

    def _neg(self, term: Term, env: Any, sample: Any) -> Value:
        return scale(self._value(term.args[0], env, sample), -1)

    def _mul(self, term: Term, env: Any, sample: Any) -> Value:
        if len(term.args) == 2 and term.args[1] == Term("unit", name="dBm"):
            return 10 ** ((self._scalar(term.args[0], env, sample) - 30) / 10) * self._scalar(_WATT, env, sample)
        return reduce(multiply, self._values(term.args, env, sample))

    def _frac(self, term: Term, env: Any, sample: Any) -> Value:
        return scale(self._value(term.args[0], env, sample), 1 / self._scalar(term.args[1], env, sample))

    def _slash(self, term: Term, env: Any, sample: Any) -> Value:
        above, first, *rest = self._values(term.args, env, sample)
        if self._reading.slash == "all":
            return scale(above, 1 / number(reduce(multiply, rest, first)))
        return reduce(multiply, rest, scale(above, 1 / number(first)))

    def _pow(self, term: Term, env: Any, sample: Any) -> Value:
        base = self._value(term.args[0], env, sample)
        power = self._scalar(term.args[1], env, sample)
        if isinstance(base, Identity):
            return Identity(base.factor**power)
        if isinstance(base, complex):
            return base**power
        if power in (0.5, -0.5):
            return square_root(base) if power.real > 0 else inverse(square_root(base))
        if power != int(power.real) or abs(power) > 64:
            raise NotUnderstood("a power of a matrix")
        return np.linalg.matrix_power(inverse(base) if power.real < 0 else base, abs(int(power.real)))

    def _root(self, term: Term, env: Any, sample: Any) -> Value:
        return self._scalar(term.args[0], env, sample) ** (1 / self._scalar(term.args[1], env, sample))

    def _factorial(self, term: Term, env: Any, sample: Any) -> Value:
        return math.gamma(real(self._scalar(term.args[0], env, sample)) + 1)

    def _binom(self, term: Term, env: Any, sample: Any) -> Value:
        above, below = (real(self._scalar(arg, env, sample)) for arg in term.args)
        return math.gamma(above + 1) / (math.gamma(below + 1) * math.gamma(above - below + 1))

    def _floor(self, term: Term, env: Any, sample: Any) -> Value:
        return math.floor(real(self._scalar(term.args[0], env, sample)) + 1e-9)

    def _ceil(self, term: Term, env: Any, sample: Any) -> Value:
        return math.ceil(real(self._scalar(term.args[0], env, sample)) - 1e-9)

    # Matrices

    def _herm(self, term: Term, env: Any, sample: Any) -> Value:
        return conjugate(transpose(self._value(term.args[0], env, sample)))

    def _trans(self, term: Term, env: Any, sample: Any) -> Value:
        return transpose(self._value(term.args[0], env, sample))

    def _conj(self, term: Term, env: Any, sample: Any) -> Value:
        if self._reading.star == "optimum" and term.args[0].op == "sym":
            return self._sym(starred(term.args[0]), env, sample)
        return conjugate(self._value(term.args[0], env, sample))

    def _dagger(self, term: Term, env: Any, sample: Any) -> Value:
        value = self._value(term.args[0], env, sample)
        if self._reading.dagger == "herm" or isinstance(value, Identity):
            return conjugate(transpose(value))
        return np.linalg.pinv(value) if isinstance(value, np.ndarray) else 1 / value

    def _abs(self, term: Term, env: Any, sample: Any) -> Value:
        value = self._value(term.args[0], env, sample)
        return np.linalg.det(value) if isinstance(value, np.ndarray) else abs(number(value))

    def _norm(self, term: Term, env: Any, sample: Any) -> Value:
        value = self._value(term.args[0], env, sample)
        if not isinstance(value, np.ndarray):
            return abs(number(value))
        order: Any = {"1": 1, "\\infty": np.inf, "2": 2, "F": None}.get(term.name)
        if min(value.shape) == 1:
            return float(np.linalg.norm(value.ravel(), order))
        if term.name == "" and self._reading.norm == "spectral":
            order = 2
        return float(np.linalg.norm(value, order))

    def _kron(self, term: Term, env: Any, sample: Any) -> Value:
        left, right = (matrix(value) for value in self._values(term.args, env, sample))
        if left.size * right.size > _CELLS:
            raise NotUnderstood("a matrix as large as this")
        return sized(np.kron(left, right))

    def _hadamard(self, term: Term, env: Any, sample: Any) -> Value:
        left, right = (matrix(value) for value in self._values(term.args, env, sample))
        return sized(left * right)

    def _matrix(self, term: Term, env: Any, sample: Any) -> Value:
        cells = [self._scalar(arg, env, sample) for arg in term.args]
        return sized(np.array(cells, dtype=complex).reshape(int(term.name), -1))

    def _entry(self, term: Term, env: Any, sample: Any) -> Value:
        value = self._value(term.args[0], env, sample)
        names = [self._index(arg, env, sample) for arg in term.args[1:]]
        if isinstance(value, Identity) or not isinstance(value, np.ndarray) or len(names) > 2:
            raise NotUnderstood("an index of this")
        # Any linear form by which a matrix and its transpose go with swapped indices will do.
        left = self._form(names[0], value.shape[0])
        right = self._form(names[-1], value.shape[1]) if min(value.shape) > 1 else np.ones(value.shape[1])
        return complex(left @ value @ right)

    def _form(self, name: str, size: int) -> npt.NDArray[np.float64]:
        return np.random.default_rng([self._trial, size, *name.encode()]).normal(size=size)

    def _function(self, term: Term, env: Any, sample: Any) -> Value:
        values = self._values(term.args, env, sample)
        first = values[0]
        if term.name in ("tr", "det"):
            if not isinstance(first, np.ndarray):
                return number(first)
            return np.trace(first) if term.name == "tr" else np.linalg.det(first)
        if term.name in ("Re", "Im"):
            factor = 1 if term.name == "Re" else -1j
            return add(scale(first, factor / 2), conjugate(scale(first, factor / 2)))
        if term.name == "diag":
            return diagonal(
                matrix(first) if len(values) == 1 else matrix(np.array([number(value) for value in values]))
            )
        if term.name == "vec":
            return matrix(first).reshape(-1, 1, order="F")
        if term.name in ("max", "min"):
            return (max if term.name == "max" else min)(real(value) for value in values)
        if len(values) != 1 or term.name not in _FUNCTIONS:
            raise NotUnderstood(f"{term.name} of this")
        at = number(first)
        if term.name in ("log", "ln", "lg") and _is_determinant(term.args[0]):
            at = abs(at)
        return _FUNCTIONS[term.name](at) / (self._log_base if term.name == "log" else 1)

    @cached_property
    def _log_base(self) -> float:
        base = self._reading.log
        return self._draw("base of the logarithm").uniform(0.5, 2) if base is None else math.log(base)

    def _log(self, term: Term, env: Any, sample: Any) -> Value:
        value, base = (self._scalar(arg, env, sample) for arg in term.args)
        return cmath.log(abs(value) if _is_determinant(term.args[0]) else value) / cmath.log(base)

    # Binders

    def _sum(self, term: Term, env: Any, sample: Any) -> Value:
        parts = [self._value(term.args[0], {**env, term.name: at}, sample) for at in self._range(term, env, sample)]
        return reduce(add, parts) if parts else 0.0

    def _prod(self, term: Term, env: Any, sample: Any) -> Value:
        parts = [self._value(term.args[0], {**env, term.name: at}, sample) for at in self._range(term, env, sample)]
        return reduce(multiply, parts) if parts else 1.0

    def _extremum(self, term: Term, env: Any, sample: Any) -> Value:
        values = [
            real(self._scalar(term.args[0], {**env, term.name: at}, sample)) for at in self._range(term, env, sample)
        ]
        return (max if term.op in ("max", "sup") else min)(values)

    _max = _min = _sup = _inf = _extremum

    def _range(self, term: Term, env: Any, sample: Any) -> list[complex]:
        lower, upper, *conditions = term.args[1:]
        values: list[complex]
        if lower.op == "domain":
            without = [self._scalar(arg, env, sample) for arg in lower.args[1:] if arg.name != term.name]
            inside = self._draw("set " + str(lower.args[0])).sample(range(1, 7), 4)
            values = [at for at in sorted(inside) if at not in without]
        elif lower.op == "set":
            values = [self._scalar(arg, env, sample) for arg in lower.args]
        elif upper == NOTHING:
            values = [1, 2, 3, 4, 5]
        else:
            first = real(self._scalar(lower, env, sample)) if lower != NOTHING else 1
            last = real(self._scalar(upper, env, sample))
            if first != int(first) or (math.isfinite(last) and last != int(last)):
                raise NotUnderstood("a sum between numbers that are not whole")
            last = min(last, first + 8 + self._trial % 3) if math.isinf(last) else last  # unlike any number
            if last - first > 200:
                raise NotUnderstood("a long sum")
            values = [first + step for step in range(int(last - first) + 1)]
        return [at for at in values if all(self._holds(one, {**env, term.name: at}, sample) for one in conditions)]

    def _holds(self, condition: Term, env: Any, sample: Any) -> bool:
        sides = [real(self._scalar(arg, env, sample)) for arg in condition.args]
        tests = {"!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}
        tests |= {">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
        if len(sides) != 2 or condition.name not in tests:
            raise NotUnderstood("a condition of this kind")
        return tests[condition.name](*sides)

    def _int(self, term: Term, env: Any, sample: Any) -> Value:
        body, lower, upper = term.args
        low, high = (real(self._scalar(arg, env, sample)) for arg in (lower, upper))
        return reduce(
            add,
            [
                scale(self._value(body, {**env, term.name: at}, sample), weight)
                for at, weight in zip(*_nodes(low, high), strict=True)
            ],
        )

    def _expectation(self, term: Term, env: Any, sample: Any) -> Value:
        over = set(term.name.split()) or ({self._reading.random} if self._reading.random else symbols_of(term.args[0]))
        parts = [
            scale(self._value(term.args[0], env, {**sample, **dict.fromkeys(over, at)}), weight)
            for at, weight in _SAMPLES
        ]
        return reduce(add, parts)


class _Sizes(dict[str, int]):
    """Sizes of what is free: any two differ for most trials."""

    def __init__(self, trial: int) -> None:
        super().__init__()
        self._trial = trial

    def __missing__(self, name: str) -> int:
        self[name] = random.Random(f"{self._trial} size {name}").choice((2, 3, 4, 5))
        return self[name]


_WATT = Term("unit", name="W")
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_QUADRATURE = ((_NODES + 1) / 2, _WEIGHTS / 2)  # on (0, 1)


def _is_determinant(term: Term) -> bool:
    """Tell whether a term is a determinant, which is positive wherever a paper takes its logarithm."""
    return (term.op == "function" and term.name == "det") or term.op == "abs"


def _nodes(low: float, high: float) -> tuple[list[float], list[float]]:
    """Place the nodes of a quadrature between two bounds, which may be infinite, and weigh them."""
    at, weights = _QUADRATURE
    if math.isfinite(low) and math.isfinite(high):
        at, weights = low + (high - low) * at, (high - low) * weights
    elif math.isinf(low) and math.isinf(high):
        angle = math.pi * (at - 0.5)
        at, weights = np.tan(angle), math.pi * weights / np.cos(angle) ** 2
    else:
        away, weights = at / (1 - at), weights / (1 - at) ** 2
        at = low + away if math.isfinite(low) else high - away
    return at.tolist(), weights.tolist()


def _sinc(x: complex) -> complex:
    return cmath.sin(cmath.pi * x) / (cmath.pi * x) if x else 1


_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    name: getattr(cmath, name) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log")
} | {
    "ln": cmath.log,
    "lg": cmath.log10,
    "arcsin": cmath.asin,
    "arccos": cmath.acos,
    "arctan": cmath.atan,
    "cot": lambda x: 1 / cmath.tan(x),
    "sec": lambda x: 1 / cmath.cos(x),
    "csc": lambda x: 1 / cmath.sin(x),
    "arg": cmath.phase,
    "sinc": _sinc,
    "erf": lambda x: math.erf(real(x)),
    "erfc": lambda x: math.erfc(real(x)),
    "sgn": lambda x: math.copysign(1, real(x)),
}

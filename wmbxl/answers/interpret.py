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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import linalg

from wmbxl.answers.latex import NotUnderstood
from wmbxl.answers.shapes import Shapes, is_identity, size_in, size_of_identity
from wmbxl.answers.terms import NOTHING, Term, is_bold, key
from wmbxl.answers.units import UNITS

Matrix = npt.NDArray[np.complex128]
BINDERS = ("sum", "prod", "int", "max", "min", "sup", "inf")
# How many values are computed for one term: nested sums multiply.
STEPS = 20_000
_SAMPLES = ((0, 0.2), (1, 0.3), (2, 0.5))  # of random quantities, and how likely each is
_CONDITION = 1e9


class Undefined(Exception):
    """The term has no value here, such as 1/0."""


@dataclass(frozen=True)
class Identity:
    """A multiple of the identity matrix of whatever size the neighbours have."""

    factor: complex


Value = complex | Matrix | Identity


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
        What scalars are that stand in an absolute value: complex, and positive otherwise; or all real; or all positive.
        A scalar with a conjugate is always complex.
    random : str, optional
        The one symbol that an expectation is over; None for all.
    """

    dagger: Literal["herm", "pinv"] = "herm"
    slash: Literal["first", "all"] = "first"
    norm: Literal["frobenius", "spectral"] = "frobenius"
    log: float | None = None
    calls: Literal["usual", "product", "call"] = "usual"
    scalars: Literal["complex", "real", "positive"] = "complex"
    random: str | None = None


@dataclass(frozen=True)
class Roles:
    """What the symbols of all terms that are compared are used for.

    Attributes
    ----------
    conjugated, absolute : frozenset of str
        Names under a conjugate, and in an absolute value.
    indices, limits : frozenset of str
        Names that stand as indices, and in bounds of sums.
    sums : bool
        Whether indices run, so that they have to be whole numbers.
    """

    conjugated: frozenset[str]
    absolute: frozenset[str]
    indices: frozenset[str]
    limits: frozenset[str]
    sums: bool

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Roles:
        """Collect the roles in some terms."""
        conjugated: set[str] = set()
        absolute: set[str] = set()
        indices: set[str] = set()
        limits: set[str] = set()
        sums = False
        for part in (part for term in terms for part in term.walk()):
            if part.op in ("conj", "herm", "dagger"):
                conjugated |= _symbols(part.args[0])
            elif part.op == "abs" or (part.op == "function" and part.name in ("Re", "Im", "arg")):
                absolute |= _symbols(part.args[0])
            elif part.op in ("sym", "entry"):
                inside = part.args if part.op == "sym" else part.args[1:]
                indices |= {one.name for arg in inside for one in arg.walk() if one.op == "sym"}
            elif part.op in BINDERS and part.op != "int":
                sums = True
                limits |= {one.name for arg in part.args[1:3] for one in arg.walk() if one.op == "sym"}
                indices |= {part.name, *(one.name for arg in part.args[3:] for one in arg.walk() if one.op == "sym")}
        return cls(*map(frozenset, (conjugated, absolute, indices, limits)), sums)


def _symbols(term: Term) -> set[str]:
    """Name the symbols of a term, without their indices."""
    if term.op == "sym":
        return {term.name}
    return set().union(*(_symbols(arg) for arg in term.args))


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
    """

    def __init__(self, shapes: Shapes, roles: Roles, reading: Reading, trial: int) -> None:
        self._shapes = shapes
        self._roles = roles
        self._reading = reading
        self._trial = trial
        self._free: dict[str, int] = _Sizes(trial)
        self._steps = 0

    def value(self, term: Term) -> Value:
        """Compute what a term is worth.

        Raises
        ------
        Undefined
            It has no value here.
        NotUnderstood
            It holds what has no meaning, such as a list.
        """
        self._steps = 0
        try:
            found = self._value(term, {}, {})
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise Undefined(str(error)) from error
        if not np.all(np.isfinite(found.factor if isinstance(found, Identity) else found)):
            raise Undefined("not finite")
        return found

    def _value(self, term: Term, env: Mapping[str, complex], sample: Mapping[str, int]) -> Value:
        self._steps += 1
        if self._steps > STEPS:
            raise NotUnderstood("too many values to compute")
        method: Callable[..., Value] | None = getattr(self, f"_{term.op}", None)
        if method is None:
            raise NotUnderstood(f"a {term.op} here")
        return method(term, env, sample)

    def _values(self, terms: Sequence[Term], env: Any, sample: Any) -> list[Value]:
        return [self._value(term, env, sample) for term in terms]

    def _scalar(self, term: Term, env: Any, sample: Any) -> complex:
        return _number(self._value(term, env, sample))

    # Symbols

    def _num(self, term: Term, env: Any, sample: Any) -> Value:
        return float(term.name)

    def _constant(self, term: Term, env: Any, sample: Any) -> Value:
        if term.name == "1":
            return np.ones((self._size(("ones",)), 1), dtype=complex)
        known = {"pi": math.pi, "e": math.e, "i": 1j, "0": Identity(0), "infinity": math.inf}
        if term.name not in known:
            raise NotUnderstood(f"a bold {term.name}")
        return known[term.name]

    def _unit(self, term: Term, env: Any, sample: Any) -> Value:
        scale, base = UNITS[term.name]
        return scale * self._draw("unit " + base).uniform(0.5, 2)

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
        return size * draw.choice((-1, 1)) if self._reading.scalars == "real" else size

    def _index(self, term: Term, env: Any, sample: Any) -> str:
        if term.op == "label":
            return term.name
        if term.op == "upper":
            return "^" + ",".join(self._index(arg, env, sample) for arg in term.args)
        value = self._value(term, env, {})
        if not isinstance(value, complex | float | int):
            return f"{np.sum(value.factor if isinstance(value, Identity) else value):.6g}"
        return f"{complex(value):.6g}"

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
        calls = self._reading.calls
        if term.name != "list" and (calls == "product" or (calls == "usual" and term.name == "product")):
            return self._mul(Term("mul", term.args), env, sample)
        at = sum(self._feature(place, value) for place, value in enumerate(self._values(args, env, sample)))
        base = self._value(head, {}, sample) if is_bold(head) else self._sym(head, env, sample)
        # A smooth function of its arguments, positive wherever they are real.
        draw = self._draw(f"function {head.name} {self._indices_of(head, env, sample)}")
        return base * (1.5 + cmath.cos(at * draw.uniform(0.5, 2) + draw.uniform(0, 6)) ** 2)  # type: ignore[operator]

    def _indices_of(self, head: Term, env: Any, sample: Any) -> str:
        return "".join(self._index(arg, env, sample) for arg in head.args)

    def _feature(self, place: int, value: Value) -> complex:
        flat = np.ravel(value.factor if isinstance(value, Identity) else value)
        weights = np.random.default_rng([place, flat.size]).uniform(0.5, 1.5, flat.size)
        return complex(flat @ weights)

    # Arithmetic

    def _add(self, term: Term, env: Any, sample: Any) -> Value:
        return reduce(_sum, self._values(term.args, env, sample))

    def _neg(self, term: Term, env: Any, sample: Any) -> Value:
        return _scaled(self._value(term.args[0], env, sample), -1)

    def _mul(self, term: Term, env: Any, sample: Any) -> Value:
        if len(term.args) == 2 and term.args[1] == Term("unit", name="dBm"):
            return 10 ** ((self._scalar(term.args[0], env, sample) - 30) / 10) * self._scalar(_WATT, env, sample)
        return reduce(_product, self._values(term.args, env, sample))

    def _frac(self, term: Term, env: Any, sample: Any) -> Value:
        return _scaled(self._value(term.args[0], env, sample), 1 / self._scalar(term.args[1], env, sample))

    def _slash(self, term: Term, env: Any, sample: Any) -> Value:
        above, first, *rest = self._values(term.args, env, sample)
        if self._reading.slash == "all":
            return _scaled(above, 1 / _number(reduce(_product, rest, first)))
        return reduce(_product, rest, _scaled(above, 1 / _number(first)))

    def _pow(self, term: Term, env: Any, sample: Any) -> Value:
        base = self._value(term.args[0], env, sample)
        power = self._scalar(term.args[1], env, sample)
        if isinstance(base, Identity):
            return Identity(base.factor**power)
        if not isinstance(base, np.ndarray):
            return complex(base) ** power
        if power in (0.5, -0.5):
            root: Matrix = linalg.sqrtm(base)
            return root if power > 0 else _inverse(root)
        if power != int(power.real) or abs(power) > 64:
            raise NotUnderstood("a power of a matrix")
        return np.linalg.matrix_power(_inverse(base) if power.real < 0 else base, abs(int(power.real)))

    def _root(self, term: Term, env: Any, sample: Any) -> Value:
        return complex(self._scalar(term.args[0], env, sample)) ** (1 / self._scalar(term.args[1], env, sample))

    def _factorial(self, term: Term, env: Any, sample: Any) -> Value:
        return math.gamma(_real(self._scalar(term.args[0], env, sample)) + 1)

    def _binom(self, term: Term, env: Any, sample: Any) -> Value:
        above, below = (_real(self._scalar(arg, env, sample)) for arg in term.args)
        return math.gamma(above + 1) / (math.gamma(below + 1) * math.gamma(above - below + 1))

    def _floor(self, term: Term, env: Any, sample: Any) -> Value:
        return math.floor(_real(self._scalar(term.args[0], env, sample)) + 1e-9)

    def _ceil(self, term: Term, env: Any, sample: Any) -> Value:
        return math.ceil(_real(self._scalar(term.args[0], env, sample)) - 1e-9)

    # Matrices

    def _herm(self, term: Term, env: Any, sample: Any) -> Value:
        return _conjugate(_transpose(self._value(term.args[0], env, sample)))

    def _trans(self, term: Term, env: Any, sample: Any) -> Value:
        return _transpose(self._value(term.args[0], env, sample))

    def _conj(self, term: Term, env: Any, sample: Any) -> Value:
        return _conjugate(self._value(term.args[0], env, sample))

    def _dagger(self, term: Term, env: Any, sample: Any) -> Value:
        value = self._value(term.args[0], env, sample)
        if self._reading.dagger == "herm" or isinstance(value, Identity):
            return _conjugate(_transpose(value))
        return np.linalg.pinv(value) if isinstance(value, np.ndarray) else 1 / value

    def _abs(self, term: Term, env: Any, sample: Any) -> Value:
        value = self._value(term.args[0], env, sample)
        return complex(np.linalg.det(value)) if isinstance(value, np.ndarray) else abs(_number(value))

    def _norm(self, term: Term, env: Any, sample: Any) -> Value:
        value = self._value(term.args[0], env, sample)
        if not isinstance(value, np.ndarray):
            return abs(_number(value))
        order: Any = {"1": 1, "\\infty": np.inf, "2": 2, "F": None}.get(term.name)
        if min(value.shape) == 1:
            return float(np.linalg.norm(value.ravel(), order))
        if term.name == "" and self._reading.norm == "spectral":
            order = 2
        return float(np.linalg.norm(value, order))

    def _kron(self, term: Term, env: Any, sample: Any) -> Value:
        return _sized(np.kron(*(_array(value) for value in self._values(term.args, env, sample))))

    def _hadamard(self, term: Term, env: Any, sample: Any) -> Value:
        return _sized(np.multiply(*(_array(value) for value in self._values(term.args, env, sample))))

    def _matrix(self, term: Term, env: Any, sample: Any) -> Value:
        cells = [self._scalar(arg, env, sample) for arg in term.args]
        return _sized(np.array(cells, dtype=complex).reshape(int(term.name), -1))

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
                return _number(first)
            return complex(np.trace(first)) if term.name == "tr" else complex(np.linalg.det(first))
        if term.name in ("Re", "Im"):
            part = np.real if term.name == "Re" else np.imag
            return part(first) + 0j if isinstance(first, np.ndarray) else complex(part(_number(first)))
        if term.name == "diag":
            return _diagonal(values)
        if term.name == "vec":
            return _array(first).reshape(-1, 1, order="F")
        if term.name in ("max", "min"):
            return float((max if term.name == "max" else min)(_real(_number(value)) for value in values))
        if len(values) != 1 or term.name not in _FUNCTIONS:
            raise NotUnderstood(f"{term.name} of this")
        return _FUNCTIONS[term.name](_number(first)) / (self._log_base if term.name == "log" else 1)

    @cached_property
    def _log_base(self) -> float:
        base = self._reading.log
        return self._draw("base of the logarithm").uniform(0.5, 2) if base is None else math.log(base)

    def _log(self, term: Term, env: Any, sample: Any) -> Value:
        value, base = (self._scalar(arg, env, sample) for arg in term.args)
        return cmath.log(value) / cmath.log(base)

    # Binders

    def _sum(self, term: Term, env: Any, sample: Any) -> Value:
        parts = [self._value(term.args[0], {**env, term.name: at}, sample) for at in self._range(term, env, sample)]
        return reduce(_sum, parts) if parts else 0.0

    def _prod(self, term: Term, env: Any, sample: Any) -> Value:
        parts = [self._value(term.args[0], {**env, term.name: at}, sample) for at in self._range(term, env, sample)]
        return reduce(_product, parts) if parts else 1.0

    def _extremum(self, term: Term, env: Any, sample: Any) -> Value:
        values = [
            _real(self._scalar(term.args[0], {**env, term.name: at}, sample)) for at in self._range(term, env, sample)
        ]
        return float((max if term.op in ("max", "sup") else min)(values))

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
            first = _real(self._scalar(lower, env, sample)) if lower != NOTHING else 1
            last = _real(self._scalar(upper, env, sample))
            if first != int(first) or (math.isfinite(last) and last != int(last)):
                raise NotUnderstood("a sum between numbers that are not whole")
            last = min(last, first + 8) if math.isinf(last) else last
            if last - first > 200:
                raise NotUnderstood("a long sum")
            values = [first + step for step in range(int(last - first) + 1)]
        return [at for at in values if all(self._holds(one, {**env, term.name: at}, sample) for one in conditions)]

    def _holds(self, condition: Term, env: Any, sample: Any) -> bool:
        sides = [_real(self._scalar(arg, env, sample)) for arg in condition.args]
        tests = {"!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}
        tests |= {">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
        if len(sides) != 2 or condition.name not in tests:
            raise NotUnderstood("a condition of this kind")
        return tests[condition.name](*sides)

    def _int(self, term: Term, env: Any, sample: Any) -> Value:
        body, lower, upper = term.args
        low, high = (_real(self._scalar(arg, env, sample)) for arg in (lower, upper))
        nodes, weights = _QUADRATURE
        if math.isfinite(low) and math.isfinite(high):
            points, scale = low + (high - low) * nodes, (high - low) * weights
        elif math.isfinite(low):
            points, scale = low + nodes / (1 - nodes), weights / (1 - nodes) ** 2
        elif math.isinf(low) and math.isinf(high):
            points, scale = np.tan(np.pi * (nodes - 0.5)), np.pi * weights / np.cos(np.pi * (nodes - 0.5)) ** 2
        else:
            points, scale = high - nodes / (1 - nodes), weights / (1 - nodes) ** 2
        parts = [
            _scaled(self._value(body, {**env, term.name: float(at)}, sample), float(weight))
            for at, weight in zip(points, scale, strict=True)
        ]
        return reduce(_sum, parts)

    def _expectation(self, term: Term, env: Any, sample: Any) -> Value:
        over = set(term.name.split()) or ({self._reading.random} if self._reading.random else _symbols(term.args[0]))
        parts = [
            _scaled(self._value(term.args[0], env, {**sample, **dict.fromkeys(over, at)}), weight)
            for at, weight in _SAMPLES
        ]
        return reduce(_sum, parts)


class _Sizes(dict[str, int]):
    """Sizes of what is free: any two differ for most trials."""

    def __init__(self, trial: int) -> None:
        super().__init__()
        self._trial = trial

    def __missing__(self, name: str) -> int:
        self[name] = random.Random(f"{self._trial} size {name}").choice((2, 3, 4, 5))
        return self[name]


_WATT = Term("unit", name="W")
_HALF, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_QUADRATURE = ((_HALF + 1) / 2, _WEIGHTS / 2)


def _sinc(x: complex) -> complex:
    return cmath.sin(cmath.pi * x) / (cmath.pi * x) if x else 1


_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    **{name: getattr(cmath, name) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log")},
    **{"arcsin": cmath.asin, "arccos": cmath.acos, "arctan": cmath.atan, "ln": cmath.log, "lg": cmath.log10},
    **{"cot": lambda x: 1 / cmath.tan(x), "sec": lambda x: 1 / cmath.cos(x), "csc": lambda x: 1 / cmath.sin(x)},
    **{"arg": lambda x: cmath.phase(x), "sinc": _sinc},
    **{"erf": lambda x: math.erf(_real(x)), "erfc": lambda x: math.erfc(_real(x))},
    **{"sgn": lambda x: math.copysign(1, _real(x))},
}


def difference(first: Value, second: Value) -> float:
    """Tell how far two values are apart, relative to the larger; infinite if they are of different shape."""
    if isinstance(first, Identity) or isinstance(second, Identity):
        if isinstance(first, Identity) and isinstance(second, Identity):
            return difference(first.factor, second.factor)
        other = second if isinstance(first, Identity) else first
        multiple = first if isinstance(first, Identity) else second
        if not isinstance(other, np.ndarray):
            return 0.0 if multiple == Identity(0) and other == 0 else math.inf
        if other.shape[0] != other.shape[1] and multiple != Identity(0):
            return math.inf
        factor = multiple.factor  # type: ignore[union-attr]
        return difference(other, factor * np.eye(*other.shape, dtype=complex))
    left, right = np.asarray(first), np.asarray(second)
    if left.shape != right.shape:
        return math.inf
    size = max(float(np.max(np.abs(left))), float(np.max(np.abs(right))))
    return float(np.max(np.abs(left - right))) / size if size else 0.0


def _number(value: Value) -> complex:
    if isinstance(value, Identity | np.ndarray):
        raise NotUnderstood("a matrix where a number is wanted")
    return value


def _real(value: complex) -> float:
    if abs(complex(value).imag) > 1e-9 * abs(value):
        raise NotUnderstood("a complex number where a real one is wanted")
    return complex(value).real


def _array(value: Value) -> Matrix:
    if isinstance(value, Identity):
        raise NotUnderstood("an identity of unknown size")
    return np.atleast_2d(np.asarray(value, dtype=complex))


def _sized(matrix: Matrix) -> Value:
    return complex(matrix[0, 0]) if matrix.shape == (1, 1) else matrix


def _scaled(value: Value, factor: complex) -> Value:
    return Identity(value.factor * factor) if isinstance(value, Identity) else value * factor


def _sum(first: Value, second: Value) -> Value:
    if isinstance(first, Identity) and isinstance(second, Identity):
        return Identity(first.factor + second.factor)
    if isinstance(first, Identity):
        first, second = second, first
    if isinstance(second, Identity):
        if not isinstance(first, np.ndarray):
            if second.factor == 0:
                return first
            raise NotUnderstood("a number and a matrix added")
        return first + second.factor * np.eye(*first.shape, dtype=complex)
    if isinstance(first, np.ndarray) != isinstance(second, np.ndarray):
        matrix, number = (first, second) if isinstance(first, np.ndarray) else (second, first)
        if number != 0:
            raise NotUnderstood("a number and a matrix added")
        return matrix
    return first + second


def _product(first: Value, second: Value) -> Value:
    if isinstance(first, Identity) and isinstance(second, Identity):
        return Identity(first.factor * second.factor)
    if isinstance(first, Identity):
        return _scaled(second, first.factor) if isinstance(second, np.ndarray) else Identity(first.factor * second)
    if isinstance(second, Identity):
        return _scaled(first, second.factor) if isinstance(first, np.ndarray) else Identity(first * second.factor)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return _sized(first @ second)
    return first * second


def _transpose(value: Value) -> Value:
    return value.T if isinstance(value, np.ndarray) else value


def _conjugate(value: Value) -> Value:
    if isinstance(value, Identity):
        return Identity(complex(value.factor).conjugate())
    return value.conj() if isinstance(value, np.ndarray) else complex(value).conjugate()


def _inverse(matrix: Matrix) -> Matrix:
    if np.linalg.cond(matrix) > _CONDITION:
        raise Undefined("a singular matrix")
    return np.linalg.inv(matrix)


def _diagonal(values: Sequence[Value]) -> Value:
    if len(values) > 1:
        return np.diag([_number(value) for value in values]).astype(complex)
    matrix = _array(values[0])
    if 1 in matrix.shape:
        return np.diag(matrix.ravel())
    return np.diag(matrix).reshape(-1, 1)


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
    expected = sorted({name for p in parts if p.op == "expectation" and not p.name for name in _symbols(p.args[0])})
    other_axes: dict[str, Sequence[Any]] = {
        "log": (None, math.e, 2, 10) if logs else (None,),
        "calls": ("usual", "product", "call") if any(p.op == "call" and p.name != "list" for p in parts) else ("usual",),
        "scalars": ("complex", "real", "positive"),
        "random": (None, *expected) if len(expected) > 1 else (None,),
    }
    usual = [Reading(**dict(zip(open_axes, chosen, strict=True))) for chosen in product(*open_axes.values())]
    axes = open_axes | other_axes
    return usual, [Reading(**dict(zip(axes, chosen, strict=True))) for chosen in product(*axes.values())]

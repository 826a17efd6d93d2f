"""What terms can be worth: numbers, matrices, and identity matrices of a size that the neighbours decide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wmbxl.answers.latex import NotUnderstood

Matrix = npt.NDArray[np.complexfloating[Any, Any]]
_CONDITION = 1e9
# A value as small as this beside 0 may be what rounding left of 0: that is neither the same nor far apart.
_RESIDUE, _UNCLEAR = 1e-12, 1e-6


class Undefined(Exception):
    """There is no value here, as for 1/0."""


@dataclass(frozen=True)
class Identity:
    """A multiple of the identity matrix, or zero, of whatever size the neighbours have."""

    factor: complex

    def like(self, matrix: Matrix) -> Matrix:
        """Take the size of a matrix."""
        rows, columns = matrix.shape
        if rows != columns and self.factor != 0:
            raise NotUnderstood("an identity that is not square")
        return (self.factor * np.eye(rows, columns)).astype(np.complex128)


Value = complex | Matrix | Identity


def is_finite(value: Value) -> bool:
    """Tell whether all numbers of a value are finite."""
    return bool(np.all(np.isfinite(value.factor if isinstance(value, Identity) else value)))


def difference(first: Value, second: Value) -> float:
    """Tell how far two values are apart, relative to the larger; infinity if they are of different shape."""
    if isinstance(first, Identity) and isinstance(second, Identity):
        return difference(first.factor, second.factor)
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):  # of which 0 is one too
        first, second = (Identity(0) if isinstance(one, complex) and one == 0 else one for one in (first, second))
    first, second = _matched(first, second)
    if isinstance(first, Identity) or isinstance(second, Identity):
        return 0.0 if first in (0, Identity(0)) and second in (0, Identity(0)) else math.inf
    left, right = np.asarray(first), np.asarray(second)
    if left.shape != right.shape:
        return math.inf
    sizes = float(np.max(np.abs(left))), float(np.max(np.abs(right)))
    size = max(sizes)
    if min(sizes) == 0 and 0 < size < _RESIDUE:
        return _UNCLEAR
    return float(np.max(np.abs(left - right))) / size if size else 0.0


def add(first: Value, second: Value) -> Value:
    """Add; a number and a matrix only if the number is zero."""
    if isinstance(first, Identity) and isinstance(second, Identity):
        return Identity(first.factor + second.factor)
    first, second = _matched(first, second)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first + second
    if isinstance(first, complex) and isinstance(second, complex):
        return first + second
    for one, other in ((first, second), (second, first)):
        if isinstance(one, complex) and one == 0:
            return other
    raise NotUnderstood("a number and a matrix added")


def multiply(first: Value, second: Value) -> Value:
    """Multiply, in this order."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return sized(first @ second)
    if isinstance(first, Identity):
        first, second = second, first  # it commutes
    if isinstance(second, Identity):
        return scale(first, second.factor) if not isinstance(first, complex) else Identity(first * second.factor)
    return scale(first, second) if isinstance(second, complex) else scale(second, number(first))


def scale(value: Value, factor: complex) -> Value:
    """Multiply by a number."""
    return Identity(value.factor * factor) if isinstance(value, Identity) else value * factor


def transpose(value: Value) -> Value:
    """Transpose; a number stays."""
    return value.T if isinstance(value, np.ndarray) else value


def conjugate(value: Value) -> Value:
    """Take the complex conjugate, element by element."""
    return Identity(value.factor.conjugate()) if isinstance(value, Identity) else value.conjugate()


def inverse(matrix: Matrix) -> Matrix:
    """Invert; a matrix that is nearly singular has no inverse."""
    if np.linalg.cond(matrix) > _CONDITION:
        raise Undefined("a singular matrix")
    return np.linalg.inv(matrix)


def square_root(matrix: Matrix) -> Matrix:
    """Take the principal square root of a matrix with distinct eigenvalues."""
    values, vectors = np.linalg.eig(matrix)
    return vectors * np.sqrt(values.astype(complex)) @ inverse(vectors)


def diagonal(matrix: Matrix) -> Matrix:
    """Make a diagonal matrix of a vector, and a vector of a matrix's diagonal."""
    return np.diag(matrix.ravel()) if 1 in matrix.shape else np.diag(matrix).reshape(-1, 1)


def number(value: Value) -> complex:
    """Take a value for a number, if it is one."""
    if isinstance(value, Identity | np.ndarray):
        raise NotUnderstood("a matrix where a number is wanted")
    return value


def real(value: Value) -> float:
    """Take a value for a real number, if it is one."""
    found = number(value)
    if abs(found.imag) > 1e-9 * abs(found):
        raise NotUnderstood("a complex number where a real one is wanted")
    return found.real


def matrix(value: Value) -> Matrix:
    """Take a value for a matrix; a number is one of size 1."""
    if isinstance(value, Identity):
        raise NotUnderstood("an identity of unknown size")
    return np.atleast_2d(np.asarray(value, dtype=np.complex128))


def sized(found: Matrix) -> Value:
    """Take a matrix of size 1 for a number."""
    return complex(found[0, 0]) if found.shape == (1, 1) else found


def _matched(first: Value, second: Value) -> tuple[Value, Value]:
    """Give an identity the size of the matrix beside it."""
    if isinstance(first, Identity) and isinstance(second, np.ndarray):
        return first.like(second), second
    if isinstance(second, Identity) and isinstance(first, np.ndarray):
        return first, second.like(first)
    return first, second

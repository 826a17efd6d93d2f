"""The kernels as plain Python: for a process that has just begun, and for when Numba's compiler is off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Words = np.ndarray[Any, np.dtype[np.int64]]
Range = tuple[int, int]

WIDTH = 64


def byte_mask(*ranges: Range) -> Callable[[Bytes, int], np.uint64]:
    """Make ``mask(array, index)``: bit ``i`` tells whether ``array[index + i]`` lies in one of `ranges` (inclusive)."""
    table = np.zeros(256, dtype=np.uint8)
    for low, high in ranges:
        table[low : high + 1] = 1

    def mask(array: Bytes, index: int) -> np.uint64:
        bits = np.packbits(table[array[index : index + WIDTH]], bitorder="little")
        return np.uint64(int.from_bytes(bits.tobytes(), "little"))

    return mask


def load_word(array: Bytes, index: int) -> np.uint64:
    """Return 8 bytes from `index` as a little-endian integer."""
    return np.uint64(int.from_bytes(array[index : index + 8].tobytes(), "little"))


def copy_block(target: Bytes, to: int, source: Bytes, at: int) -> None:
    """Copy 64 bytes; neither side's bounds are checked."""
    target[to : to + WIDTH] = source[at : at + WIDTH]


def lowest_bit(word: np.uint64) -> int:
    """Return the position of the lowest bit that is set in a word that isn't zero."""
    value = int(word)
    return (value & -value).bit_length() - 1


def count_bits(word: np.uint64) -> int:
    """Return how many bits are set."""
    return int(word).bit_count()


def put_positions(target: Words, to: int, word: np.uint64, base: int) -> None:
    """Write the position of every bit that is set, plus `base`, to ``target[to:]``, and up to 64 numbers more."""
    positions = [base + bit for bit in range(WIDTH) if int(word) >> bit & 1]
    target[to : to + len(positions)] = positions


def interpreted(names: Mapping[str, Any], wanted: Iterable[str]) -> SimpleNamespace:
    """Return some of a module's compiled functions as they were before, and calling one another as they were.

    Parameters
    ----------
    names : mapping
        The globals of the module.
    wanted : iterable of str
        Which functions.
    """
    plain = {**names, **{name: value for name, value in globals().items() if name in names and callable(value)}}
    for name, value in names.items():
        function = getattr(value, "py_func", None)
        if function is not None and function.__module__ == names["__name__"]:
            plain[name] = FunctionType(function.__code__, plain, name, function.__defaults__)
        elif function is not None:
            plain[name] = function
        elif hasattr(value, "interpreted"):
            plain[name] = value.interpreted
    ignoring_overflow = np.errstate(over="ignore")  # hashes wrap round
    return SimpleNamespace(**{name: ignoring_overflow(plain[name]) for name in wanted})

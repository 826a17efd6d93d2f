"""The hashes by which n-grams are found, and the tables that hold them.

The formulas take numbers or arrays of uint64: the kernels compile them for the corpus, and the index, which is small,
applies them to whole arrays, so that nothing has to be compiled to build it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FORMULAS = 2  # raised with every change to what a hash is, since indexes are kept in files
RADIX = np.uint64(0xD6E8FEB86659FD93)
_MIX = np.uint64(0x9FB21C651E98DF25)
_HALF, _TWO, _SIX, _LAST = np.uint64(32), np.uint64(2), np.uint64(6), np.uint64(63)
_X7F, _X80 = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
_TO_A, _PAST_Z = np.uint64(0x3F3F3F3F3F3F3F3F), np.uint64(0x2525252525252525)
ONE = np.uint64(1)
CASE = np.uint64(0x2020202020202020)
# Of xxh64: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
_PRIME_1, _PRIME_2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3, _PRIME_4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)
_27, _29, _31, _33, _37 = (np.uint64(bits) for bits in (27, 29, 31, 33, 37))


# ---------------------------------------------------------------- formulas


def lower_word(word: Any) -> Any:
    """Lower-case the ASCII capitals among eight bytes."""
    low = word & _X7F
    capital = ((low + _TO_A) ^ (low + _PAST_Z)) & ~word & _X80
    return word | (capital >> _TWO)


def absorb(value: Any, word: Any) -> Any:
    """Take eight more bytes into the hash of a token or a q-gram."""
    value = (value ^ word) * _MIX
    return value ^ (value >> _HALF)


def spread(value: Any, n: int) -> Any:
    """Spread the polynomial hash of `n` tokens over all bits, and keep lengths apart."""
    value = (value ^ (np.uint64(n) * RADIX)) * _MIX
    return (value ^ (value >> _HALF)) * RADIX


def filter_bits(value: Any) -> Any:
    """Return the two bits that a hash has in a word of the filter; one word, so that one cache line is touched."""
    return (ONE << (value & _LAST)) | (ONE << ((value >> _SIX) & _LAST))


def evidence_priority(document: Any, start: Any) -> Any:
    """Return the order in which matches are taken into the sample of evidence.

    That is xxh64, seed 0, of the document's own xxh64 and of the match's first code point, as 16 little-endian bytes
    (``struct.pack("<QQ", document, start)``).
    """
    value = _PRIME_5 + np.uint64(16)
    for word in (document, start):
        lane = word * _PRIME_2
        value = value ^ ((lane << _31 | lane >> _33) * _PRIME_1)
        value = (value << _27 | value >> _37) * _PRIME_1 + _PRIME_4
    value = (value ^ (value >> _33)) * _PRIME_2
    value = (value ^ (value >> _29)) * _PRIME_3
    return value ^ (value >> _HALF)


def power_of_base(n: int) -> int:
    """Return the factor by which a token leaves the polynomial hash of `n` tokens."""
    return pow(int(RADIX), n, 1 << 64)


# ---------------------------------------------------------------- arrays


def _words(text: Array, at: Array, end: Array) -> Array:
    """Return up to eight bytes of ``text[at:end]`` for each pair, the rest zero; `text` goes on for 8 bytes."""
    words = np.ndarray(len(text) - 7, dtype="<u8", buffer=text, strides=(1,))[at]
    missing = np.maximum(0, 8 - (end - at)).astype(np.uint64) * np.uint64(8)
    return np.where(missing < 64, (words << missing) >> missing, np.uint64(0))


def hash_tokens(text: Array, start: Array, end: Array, seed: int) -> Array:
    """Hash the tokens ``text[start:end]``, which are lower-cased if they should be; uint64."""
    # Were the length only xored with the seed, a few tokens with zero bytes would have the same hash under every seed.
    value = absorb(np.uint64(seed), (end - start).astype(np.uint64))
    longest = int((end - start).max(initial=0))
    for at in range(0, longest, 8):
        reach = np.flatnonzero(start + at < end)
        value[reach] = absorb(value[reach], _words(text, start[reach] + at, end[reach]))
    return value


def hash_qgrams(text: Array, start: Array, end: Array, first: Array, q: int) -> Array:
    """Hash the q-grams that begin at the tokens `first`, for the filter; uint64.

    Only the first eight bytes of each token count. Setting bit 5 takes capitals for small letters, and more besides;
    the windows around a hit tell them apart.
    """
    value = np.zeros(len(first), dtype=np.uint64)
    for token in range(q):
        value = absorb(value, _words(text, start[first + token], end[first + token]) | CASE)
    return value * RADIX


def hash_windows(tokens: Array, first: Array, n: int) -> Array:
    """Hash the windows of `n` tokens that begin at the tokens `first`, given the hashes of the tokens; uint64."""
    value = np.zeros(len(first), dtype=np.uint64)
    for token in range(n):
        value = value * RADIX + tokens[first + token]
    with np.errstate(over="ignore"):  # of one number numpy tells, of arrays it doesn't
        return spread(value, n)


def make_filter(hashes: Array, shift: int) -> Array:
    """Return a filter that holds `hashes`, indexed by their bits above `shift`; uint64."""
    table = np.zeros(1 << (64 - shift), dtype=np.uint64)
    np.bitwise_or.at(table, hashes >> np.uint64(shift), filter_bits(hashes))
    return table


def make_slots(hashes: Array, shift: int) -> Array:
    """Return an open-addressing table that holds each hash's position plus one; uint32.

    A hash stands at the place that its bits above `shift` name, or at the next one that was free.
    """
    slots = np.zeros(1 << (64 - shift), dtype=np.uint32)
    place, waiting = (hashes >> np.uint64(shift)).astype(np.int64), np.arange(len(hashes))
    while len(waiting):
        free = waiting[slots[place[waiting]] == 0]
        slots[place[free]] = free + 1  # of several the last one stays
        waiting = waiting[slots[place[waiting]] != waiting + 1]
        place[waiting] = (place[waiting] + 1) & (len(slots) - 1)
    return slots

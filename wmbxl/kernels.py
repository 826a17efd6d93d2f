"""The compiled inner loops: arrays in, arrays out.

A window of n tokens contains, for any q <= n, a q-gram that starts at a token whose number is divisible by
``stride = n - q + 1``. So the scan hashes only those q-grams, asks a small filter whether the benchmark has them, and
looks at the windows around the few that it has. Every candidate is then compared with the benchmark byte by byte.

Text is UTF-8 that is valid and, for the ``release`` profile, free of capitals outside ASCII (`lower_capitals` makes
them small, and finds the words that must be lower-cased in Python).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numba.core import event

from wmbxl import hashing, tiers
from wmbxl.compiled import KernelCache
from wmbxl.hashing import CASE, ONE, RADIX
from wmbxl.interpreted import interpreted
from wmbxl.vector import (
    WIDTH,
    byte_mask,
    copy_block,
    count_bits,
    load_word,
    lowest_bit,
    put_positions,
    put_unescaped,
)

Array = np.ndarray[Any, Any]
F = TypeVar("F", bound=Callable[..., Any])


# Kernels allocate nothing, so Numba's reference counting is off, which halves the time that compiling takes. `min` and
# `max` are functions that Numba compiles again for each pair of types, so what every scan needs does without them.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}


class _WithoutCollector(event.Listener):  # type: ignore[misc]
    """Keeps Python's garbage collector off while Numba compiles, which makes a fifth of it."""

    def __init__(self) -> None:
        self._depth, self._enabled = 0, False

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._enabled = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._enabled:
            gc.enable()


event.register("numba:compile", _WithoutCollector())


def jit(function: F) -> F:
    """Compile what Python calls, with the options that all kernels share, or take what another process compiled."""
    if numba.config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # hashes wrap round
    kernel = numba.njit(**_OPTIONS)(function)
    kernel._cache = KernelCache(function.__name__)
    return kernel


def internal(function: F) -> F:
    """Compile for other kernels only: without what Python would need to call it."""
    return numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)


def inline(function: F) -> F:
    """Compile into every caller, for what is called for every few bytes."""
    return numba.njit(forceinline=True, no_cpython_wrapper=True, **_OPTIONS)(function)


def merge(function: F) -> F:
    """Paste into the only caller: one function to compile instead of two.

    That copies the caller for every statement of it, so it pays only in small ones.
    """
    return numba.njit(inline="always", **_OPTIONS)(function)


ZERO, ALL = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
_LAST = np.uint64(63)

white_space_and_braces = byte_mask((0x09, 0x0D), (0x1C, 0x20), (0x24, 0x24), (0x7B, 0x7B), (0x7D, 0x7D))
white_space = byte_mask((0x09, 0x0D), (0x1C, 0x20))
backslashes = byte_mask((0x5C, 0x5C))
letters = byte_mask((0x41, 0x5A), (0x61, 0x7A))
non_ascii = byte_mask((0x80, 0xFF))
continuation = byte_mask((0x80, 0xBF))
leads_of_more = byte_mask((0xC2, 0xF4))
leads_of_three = byte_mask((0xE0, 0xF4))  # bytes, or more
leads_of_four = byte_mask((0xF0, 0xF4))
special_leads = byte_mask((0xE0, 0xE0), (0xED, 0xED), (0xF0, 0xF0), (0xF4, 0xF4))
space_leads = byte_mask((0xC2, 0xC2), (0xE1, 0xE3))
newlines = byte_mask((0x0A, 0x0A))
quotes = byte_mask((0x22, 0x22))
controls = byte_mask((0x00, 0x1F))
letters_u = byte_mask((0x75, 0x75))
escape_letters = byte_mask(  # " / \ b f n r t u
    (0x22, 0x22), (0x2F, 0x2F), (0x5C, 0x5C), (0x62, 0x62), (0x66, 0x66), (0x6E, 0x6E), (0x72, 0x72), (0x74, 0x75)
)


class Tables(NamedTuple):
    """What the scan knows of the benchmark (see `wmbxl.index.ProbeIndex`)."""

    text: Array
    gram_start: Array
    gram_hash: Array
    slots: Array
    filter: Array
    ns: Array
    powers: Array
    parameters: Array


# Places in `Tables.parameters`, all uint64.
SEED, Q, STRIDE, RELEASE, SLOT_SHIFT, FILTER_SHIFT, FORMULAS = range(7)

# Places in the scan's state, which survives a return with full buffers.
DOC, POS, BASE, EDGES, NEXT, IN_SEPARATOR, IN_COMMAND, SPILL = range(8)
STATE_SIZE = 8

LONGEST_N = 64
TOKENS_HELD = 1024  # the most tokens of a document in view at once: few enough for the first cache


class Scratch(NamedTuple):
    """Working memory of a scan.

    Where tokens start and end, in turn; hashes and bytes of the tokens before each of a run of them; and for each n the
    n-gram that is likely next.
    """

    edges: Array
    prefix: Array
    reach: Array
    guess: Array


def new_scratch() -> Scratch:
    """Return working memory."""
    edges = np.empty(2 * TOKENS_HELD + 2 * WIDTH, dtype=np.int64)
    guess = np.zeros(LONGEST_N, dtype=np.int64)
    places = len(edges) // 2 + 1
    return Scratch(edges, np.empty(places, dtype=np.uint64), np.empty(places, dtype=np.int64), guess)


def new_state() -> Array:
    """Return the state of a scan that has not begun."""
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    state[POS] = -1
    return state


# ---------------------------------------------------------------- tokens


@internal
def wide_space(data: Array, at: int, end: int) -> int:
    """Return the length in bytes of the white space outside ASCII that starts at `at`, or 0."""
    first = data[at]
    if first == 0xC2:
        return 2 if at + 1 < end and (data[at + 1] == 0x85 or data[at + 1] == 0xA0) else 0
    if at + 2 >= end:
        return 0
    second, third = data[at + 1], data[at + 2]
    if first == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    if first == 0xE2:
        if second == 0x80:
            return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
        return 3 if second == 0x81 and third == 0x9F else 0
    return 3 if first == 0xE3 and second == 0x80 and third == 0x80 else 0


@merge
def wide_spaces(data: Array, leads: np.uint64, here: int, end: int) -> tuple[np.uint64, np.uint64]:
    """Return the bits of white space outside ASCII in 64 bytes, and those that reach into the next 64.

    `leads` tells where bytes are with which such white space can begin.
    """
    found, beyond = ZERO, ZERO
    while leads != ZERO:
        bit = lowest_bit(leads)
        leads &= leads - ONE
        length = wide_space(data, here + bit, end)
        if length:
            run = (ONE << np.uint64(length)) - ONE
            found |= run << np.uint64(bit)
            if bit + length > WIDTH:
                beyond = run >> np.uint64(WIDTH - bit)
    return found, beyond


@merge
def commands(
    data: Array, letter: np.uint64, backslash: np.uint64, here: int, end: int, going_on: np.uint64
) -> np.uint64:
    """Return the bits of LaTeX commands in 64 bytes; `going_on` tells whether the byte before belongs to one."""
    following = letter >> ONE
    if backslash >> _LAST != ZERO and here + WIDTH < end:
        byte = data[here + WIDTH] | 0x20
        if 0x61 <= byte <= 0x7A:
            following |= ONE << _LAST
    opening = backslash & following
    first = ((opening << ONE) | going_on) & letter
    # Adding the first letter to its run of letters carries through the run and clears it.
    return opening | (letter & ~(letter + first))


@internal
def fill(data: Array, end: int, release: bool, state: Array, scratch: Scratch) -> None:
    """Append token edges of the current document until its end or until the buffer is nearly full."""
    edges = scratch.edges
    here, count = state[POS], state[EDGES]
    outside, going_on, spill = np.uint64(state[IN_SEPARATOR]), np.uint64(state[IN_COMMAND]), np.uint64(state[SPILL])
    limit = len(edges) - 2 * WIDTH
    while here < end and count < limit:
        # Near the end of the data the 64 bytes before it are taken, and those already seen shifted out.
        at = here if here + WIDTH <= len(data) else len(data) - WIDTH
        gone = np.uint64(here - at)
        valid = ALL if end - here >= WIDTH else (ONE << np.uint64(end - here)) - ONE
        found = (white_space_and_braces(data, at) if release else white_space(data, at)) >> gone
        found |= spill | ~valid
        spill = ZERO
        if (non_ascii(data, at) >> gone) & valid != ZERO:
            wide, spill = wide_spaces(data, (space_leads(data, at) >> gone) & valid, here, end)
            found |= wide
        if release:
            letter, backslash = (letters(data, at) >> gone) & valid, (backslashes(data, at) >> gone) & valid
            command = commands(data, letter, backslash, here, end, going_on)
            going_on = command >> _LAST
            found |= command
        edge = found ^ ((found << ONE) | outside)
        outside = found >> _LAST
        put_positions(edges, count, edge, here)
        count += count_bits(edge)
        here += WIDTH
    if here >= end and count & 1:
        edges[count] = end
        count += 1
    state[POS], state[EDGES] = here, count
    state[IN_SEPARATOR], state[IN_COMMAND], state[SPILL] = np.int64(outside), np.int64(going_on), np.int64(spill)


# ---------------------------------------------------------------- hashes

lower_word, absorb, spread, filter_bits = map(
    inline, (hashing.lower_word, hashing.absorb, hashing.spread, hashing.filter_bits)
)


@inline
def word_at(data: Array, at: int, end: int) -> np.uint64:
    """Return up to eight bytes of ``data[at:end]``, the rest zero."""
    start = at if at + 8 <= len(data) else len(data) - 8
    word = load_word(data, start) >> np.uint64(8 * (at - start))
    return word if end - at >= 8 else word & ((ONE << np.uint64(8 * (end - at))) - ONE)


@internal
def hash_token(data: Array, start: int, end: int, release: bool, seed: np.uint64) -> np.uint64:
    """Hash one token, lower-cased for the release profile, as `wmbxl.hashing.hash_tokens` does."""
    value = absorb(seed, np.uint64(end - start))
    for at in range(start, end, 8):
        word = word_at(data, at, end)
        value = absorb(value, lower_word(word) if release else word)
    return value


@inline
def beginning(data: Array, edges: Array, token: int) -> np.uint64:
    """Return up to eight first bytes of a token, the rest zero; `data` goes on for eight bytes from its start."""
    at = np.uint64(2 * token)  # unsigned: no test for a negative index
    start = edges[at]
    missing = start + 8 - edges[at + ONE]
    word = load_word(data, start)
    return word & (ALL >> np.uint64(8 * missing)) if missing > 0 else word


@inline
def hash_qgram(data: Array, edges: Array, i: int, q: int, inside: bool) -> np.uint64:
    """Hash the first eight bytes of each of the `q` tokens from `i`, as `wmbxl.hashing.hash_qgrams` does.

    `inside` tells that `data` goes on for eight bytes from the start of each.
    """
    value = ZERO
    for t in range(i, i + q):
        word = beginning(data, edges, t) if inside else word_at(data, edges[2 * t], edges[2 * t + 1])
        value = absorb(value, word | CASE)
    return value * RADIX


@inline
def in_filter(table: Array, value: np.uint64, shift: np.uint64) -> bool:
    """Whether the filter may hold `value`."""
    return ~table[value >> shift] & filter_bits(value) == ZERO


@internal
def look_up(slots: Array, hashes: Array, value: np.uint64, shift: np.uint64) -> int:
    """Return the position of `value` in `hashes`, or -1."""
    last = len(slots) - 1
    at = np.int64(value >> shift)
    while slots[at]:
        i = np.int64(slots[at]) - 1
        if hashes[i] == value:
            return i
        at = (at + 1) & last
    return -1


# ---------------------------------------------------------------- matches


@merge
def confirm(data: Array, edges: Array, first: int, last: int, tables: Tables, at: int) -> bool:
    """Whether the tokens from `first` up to `last` stand, byte by byte, at ``text[at:]`` of the benchmark.

    There, each token is followed by a space.
    """
    release = tables.parameters[RELEASE] != ZERO
    text = tables.text
    for t in range(first, last):
        start, end = edges[2 * t], edges[2 * t + 1]
        for place in range(start, end, 8):
            word = word_at(data, place, end)
            stop = at + 8 if place + 8 <= end else at + end - place
            if (lower_word(word) if release else word) != word_at(text, at, stop):
                return False
            at = stop
        if text[at] != 0x20:
            return False
        at += 1
    return True


@inline
def known(data: Array, edges: Array, i: int, inside: bool, tables: Tables) -> bool:
    """Whether the benchmark may have the q-gram that starts at token `i`."""
    value = hash_qgram(data, edges, i, np.int64(tables.parameters[Q]), inside)
    return in_filter(tables.filter, value, tables.parameters[FILTER_SHIFT])


@internal
def next_known(data: Array, edges: Array, i: int, last: int, inside: bool, tables: Tables) -> int:
    """Return where the next sampled q-gram starts that the benchmark may have, from token `i` on; or beyond `last`.

    Nearly all time that windows take is spent here, so the usual q have loops of their own, which the compiler unrolls.
    """
    table, shift = tables.filter, tables.parameters[FILTER_SHIFT]
    q, stride = np.int64(tables.parameters[Q]), np.int64(tables.parameters[STRIDE])
    if inside and q == 4:
        while i <= last and not in_filter(table, hash_qgram(data, edges, i, 4, True), shift):
            i += stride
    elif inside and q == 3:
        while i <= last and not in_filter(table, hash_qgram(data, edges, i, 3, True), shift):
            i += stride
    else:
        while i <= last and not known(data, edges, i, inside, tables):
            i += stride
    return i


@merge
def known_run(
    data: Array, edges: Array, i: int, last: int, available: int, inside: bool, tables: Tables
) -> tuple[int, int, int, int]:
    """Follow the run of known q-grams around the sampled one at token `i`, through samples up to `last`.

    A window matches only if all its q-grams are known. Returns the first and the last window that may match among those
    whose first sample is in the run (none if the last comes before the first); the token behind the run, beyond which
    no window that matches reaches; and the next sample.
    """
    q, stride = np.int64(tables.parameters[Q]), np.int64(tables.parameters[STRIDE])
    longest = tables.ns[-1] - q  # from the first q-gram of a window to its last
    left = right = sample = i
    while left > 0 and left > i - stride + 1 and known(data, edges, left - 1, inside, tables):
        left -= 1
    while right < sample + longest or (right < sample + stride and sample + stride <= last):
        if right + 1 + q > available or not known(data, edges, right + 1, inside, tables):
            break
        right += 1
        if right == sample + stride and right <= last:
            sample = right
    final = sample if sample + stride <= right + 1 else right - stride + 1
    return left, final, right + q, sample + stride


@internal
def find_windows(
    data: Array, scratch: Scratch, left: int, final: int, behind: int, tables: Tables, doc: int, found: Array,
    count: int,
) -> int:  # fmt: skip
    """Append the matches among the windows that start at the tokens from `left` to `final` and end before `behind`.

    Returns the new count.
    """
    edges, prefix, reach = scratch.edges, scratch.prefix, scratch.reach
    seed, release = tables.parameters[SEED], tables.parameters[RELEASE] != ZERO
    last = final + tables.ns[-1]
    if last > behind:
        last = behind
    prefix[0], reach[0] = ZERO, 0
    for t in range(left, last):
        start, end = edges[2 * t], edges[2 * t + 1]
        prefix[t - left + 1] = prefix[t - left] * RADIX + hash_token(data, start, end, release, seed)
        reach[t - left + 1] = reach[t - left] + end - start + 1
    same, upto = -1, left  # where the benchmark has token `j`, and up to which token it has the same from there
    for j in range(left, final + 1):
        if upto < j:
            upto = j
        for k in range(len(tables.ns)):
            n = tables.ns[k]
            if j + n > last:
                break
            value = spread(prefix[j + n - left] - prefix[j - left] * tables.powers[k], n)
            gram = scratch.guess[k]  # the n-gram behind the last one that was found
            if gram >= len(tables.gram_hash) or tables.gram_hash[gram] != value:
                gram = look_up(tables.slots, tables.gram_hash, value, tables.parameters[SLOT_SHIFT])
                if gram < 0:
                    break  # a longer window that matches would begin with this one
            start = np.int64(tables.gram_start[gram])
            if start != same:
                same, upto = start, j
            if upto < j + n:
                at = same + reach[upto - left] - reach[j - left]
                if not confirm(data, edges, upto, j + n, tables, at):
                    same = -1
                    break
                upto = j + n
            scratch.guess[k] = gram + 1
            found[count, 0] = doc
            found[count, 1] = gram
            found[count, 2] = edges[2 * j]
            found[count, 3] = edges[2 * (j + n) - 1]
            count += 1
        if same >= 0:
            same += reach[j + 1 - left] - reach[j - left]
    return count


@merge
def probe(data: Array, finished: bool, tables: Tables, state: Array, scratch: Scratch, found: Array, count: int) -> int:
    """Probe the sampled q-grams of the tokens in view; return the new count of matches.

    Stops early when `found` could overflow; ``state[NEXT]`` then tells where.
    """
    q, stride = np.int64(tables.parameters[Q]), np.int64(tables.parameters[STRIDE])
    available = state[EDGES] // 2
    last = available - (q if finished else tables.ns[-1])
    room = len(found) - stride * len(tables.ns)
    inside = available > 0 and scratch.edges[2 * available - 2] + 8 <= len(data)
    i = state[NEXT] - state[BASE]
    while count <= room:
        i = next_known(data, scratch.edges, i, last, inside, tables)
        if i > last:
            break
        further = i + (room - count) // len(tables.ns)  # a sample there still leaves room for its windows
        left, final, behind, i = known_run(
            data, scratch.edges, i, further if further < last else last, available, inside, tables
        )
        if left <= final:
            count = find_windows(data, scratch, left, final, behind, tables, state[DOC], found, count)
    state[NEXT] = state[BASE] + i
    return count


@merge
def drop_tokens(state: Array, edges: Array, stride: int) -> None:
    """Drop the tokens that no further window can contain."""
    first = state[NEXT] - state[BASE] - stride + 1
    if first > state[EDGES] // 2:
        first = state[EDGES] // 2
    if first <= 0:
        return
    for k in range(2 * first, state[EDGES]):
        edges[k - 2 * first] = edges[k]
    state[BASE] += first
    state[EDGES] -= 2 * first


@jit
def find_matches(
    data: Array,
    offsets: Array,
    tables: Tables,
    state: Array,
    scratch: Scratch,
    totals: Array,
    found: Array,
) -> int:
    """Find the benchmark's n-grams in the documents ``data[offsets[d]:offsets[d + 1]]``.

    Parameters
    ----------
    data : uint8 array, at least 64 bytes long
    offsets : int64 array, one more than there are documents
    state : int64 array from `new_state`, carried from call to call
    scratch : Scratch
    totals : int64 array, one more than there are n
        To which the tokens of each document are added, and its windows of each n.
    found : int64 array of shape (matches, 4), receives document, n-gram, first byte, byte after the last

    Returns
    -------
    int
        Matches found by this call. Call again with the same state until ``state[DOC]`` is the number of documents.
    """
    release = tables.parameters[RELEASE] != ZERO
    stride = np.int64(tables.parameters[STRIDE])
    count = np.int64(0)
    while state[DOC] < len(offsets) - 1:
        doc = state[DOC]
        end = offsets[doc + 1]
        if state[POS] < 0:
            for i in range(STATE_SIZE):
                state[i] = 0
            state[DOC], state[POS], state[IN_SEPARATOR] = doc, offsets[doc], 1
        while True:
            fill(data, end, release, state, scratch)
            finished = state[POS] >= end
            count = probe(data, finished, tables, state, scratch, found, count)
            if count > len(found) - stride * len(tables.ns):
                return count
            if finished:
                break
            drop_tokens(state, scratch.edges, stride)
        tokens = state[BASE] + state[EDGES] // 2
        totals[0] += tokens
        for k in range(len(tables.ns)):
            if tokens >= tables.ns[k]:
                totals[k + 1] += tokens - tables.ns[k] + 1
        state[DOC] += 1
        state[POS] = -1
    return count


@internal
def blank_byte(byte: int) -> bool:
    """Whether an ASCII byte is white space."""
    return 0x09 <= byte <= 0x0D or 0x1C <= byte <= 0x20


@internal
def put_code_point(out: Array, to: int, code: int) -> int:
    """Write a code point as UTF-8; return the place behind it."""
    if code < 0x80:
        out[to] = code
        return to + 1
    if code < 0x800:
        out[to], out[to + 1] = 0xC0 | (code >> 6), 0x80 | (code & 0x3F)
        return to + 2
    if code < 0x10000:
        out[to], out[to + 1], out[to + 2] = 0xE0 | (code >> 12), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)
        return to + 3
    out[to], out[to + 1] = 0xF0 | (code >> 18), 0x80 | ((code >> 12) & 0x3F)
    out[to + 2], out[to + 3] = 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)
    return to + 4


CAPITAL_SIGMA = 0x3A3  # one of two small letters


@inline
def code_point(data: Array, at: int) -> int:
    """Return the code point outside ASCII that begins at `at`."""
    first, second = np.int64(data[at]), np.int64(data[at + 1]) & 0x3F
    if first < 0xE0:
        return (first & 0x1F) << 6 | second
    third = np.int64(data[at + 2]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third
    return (first & 0x07) << 18 | second << 12 | third << 6 | np.int64(data[at + 3]) & 0x3F


@inline
def small_sigma(data: Array, at: int, end: int) -> int:
    """Return the small letter of the capital sigma at `at`, where the Greek letter behind it tells; or 0."""
    at += 2
    if at < end and data[at] | 1 == 0xCF:  # U+0380 to U+03FF
        following = code_point(data, at)
        if 0x391 <= following <= 0x3CE and following != 0x3A2:
            return 0x3C3
    return 0


@jit
def lower_capitals(data: Array, offsets: Array, small: Array, out: Array, words: Array, place: Array) -> int:
    """Make the capitals outside ASCII small, and find the words for which that takes Python.

    A word ends at ASCII white space, which never decides how a letter is lower-cased, so that lower-casing the
    word alone gives what lower-casing the document would.

    Parameters
    ----------
    small : uint32 array
        For each code point the small letter, of as many bytes, or 0 where Python has to look at the word.
    out : uint8 array
        A copy of `data` that receives the small letters; or empty, to ask whether there is any capital.
    words : int64 array of shape (most, 3)
        Receives document, first byte, byte after the last.
    place : int64 array of shape (2,)
        The document and the byte to go on from: zeros at first. When all is done, the number of documents.

    Returns
    -------
    int
        How many words there are; if `words` is full there may be more: call again. For an empty `out`, whether there
        is any capital.
    """
    count = 0
    while place[0] < len(offsets) - 1:
        doc = place[0]
        end, beyond = offsets[doc + 1], place[1]
        at = offsets[doc] if offsets[doc] > beyond else beyond
        while at < end:
            step = WIDTH if at + WIDTH <= len(data) else 1
            leads = leads_of_more(data, at) if step == WIDTH else np.uint64(data[at] >= 0xC2)
            while leads != ZERO:
                here = at + lowest_bit(leads)
                leads &= leads - ONE
                if here >= end:
                    break
                code = code_point(data, here)
                target = small[code] if code < len(small) else code
                if target == code or here < beyond:
                    continue
                if len(out) == 0:
                    return 1
                if code == CAPITAL_SIGMA:
                    target = small_sigma(data, here, end)
                if target:
                    put_code_point(out, here, target)
                    continue
                start = beyond = here
                while start > offsets[doc] and not blank_byte(data[start - 1]):
                    start -= 1
                while beyond < end and not blank_byte(data[beyond]):
                    beyond += 1
                words[count, 0], words[count, 1], words[count, 2] = doc, start, beyond
                count += 1
                if count == len(words):
                    place[1] = beyond
                    return count
            at += step
        place[0], place[1] = doc + 1, 0
    return count


@internal
def count_points(data: Array, at: int, stop: int) -> int:
    """Return how many code points begin in ``data[at:stop]``."""
    points = 0
    while at < stop and at + WIDTH <= len(data):
        beginning = ~continuation(data, at)
        if stop - at < WIDTH:
            beginning &= (ONE << np.uint64(stop - at)) - ONE
        points += count_bits(beginning)
        at += WIDTH
    while at < stop:
        points += (data[at] & 0xC0) != 0x80
        at += 1
    return points


@jit
def code_points(data: Array, offsets: Array, found: Array, out: Array) -> None:
    """Turn the byte positions of matches into code points of their documents.

    `found` is in order of document, first byte and byte after the last, as `find_matches` leaves it. `out` has shape
    (matches, 2).
    """
    doc, at, points, end, beyond = -1, 0, 0, 0, 0
    for i in range(len(found)):
        if found[i, 0] != doc:
            doc = found[i, 0]
            at = end = offsets[doc]
            points = beyond = 0
        if found[i, 2] > at:
            points += count_points(data, at, found[i, 2])
            at = found[i, 2]
            end, beyond = at, points
        if found[i, 3] > end:  # a longer match that starts here goes on from the shorter one
            beyond += count_points(data, end, found[i, 3])
            end = found[i, 3]
        out[i, 0], out[i, 1] = points, beyond


# ---------------------------------------------------------------- JSON values

# Places in the state of `split_values`.
AT, DEPTH, BASE_DEPTH, IN_STRING, ESCAPED, BEGUN = range(6)
VALUES_STATE = 6


@jit
def split_values(data: Array, state: Array, spans: Array) -> tuple[int, bool]:
    """Find the values of a JSON array, or values that follow one another, in ``data[state[AT]:]``.

    Parameters
    ----------
    data : uint8 array
    state : int64 array
        Zeros at first. ``state[BEGUN]`` is one more than the start of a value that goes on.
    spans : int64 array of shape (most, 2)
        Receives first byte and byte after the last of each value.

    Returns
    -------
    count : int
    finished : bool
        Whether all of `data` was looked at; otherwise `spans` is full.
    """
    count = 0
    at = state[AT]
    while at < len(data):
        if count == len(spans):
            state[AT] = at
            return count, False
        byte = data[at]
        inside = state[DEPTH] > state[BASE_DEPTH]
        if state[IN_STRING]:
            if state[ESCAPED]:
                state[ESCAPED] = 0
            elif byte == 0x5C:
                state[ESCAPED] = 1
            elif byte == 0x22:
                state[IN_STRING] = 0
        elif byte == 0x5B and state[DEPTH] == 0 and not state[BEGUN]:
            state[DEPTH] = state[BASE_DEPTH] = 1
        elif not inside and (byte <= 0x20 or byte == 0x2C or byte == 0x5D):
            if state[BEGUN]:
                spans[count, 0], spans[count, 1] = state[BEGUN] - 1, at
                count += 1
                state[BEGUN] = 0
            if byte == 0x5D:
                state[DEPTH] = state[BASE_DEPTH] = 0
        else:
            if not state[BEGUN]:
                state[BEGUN] = at + 1
            if byte == 0x22:
                state[IN_STRING] = 1
            elif byte == 0x7B or byte == 0x5B:
                state[DEPTH] += 1
            elif (byte == 0x7D or byte == 0x5D) and inside:
                state[DEPTH] -= 1
                if state[DEPTH] == state[BASE_DEPTH]:
                    spans[count, 0], spans[count, 1] = state[BEGUN] - 1, at + 1
                    count += 1
                    state[BEGUN] = 0
        at += 1
    state[AT] = at
    return count, True


@jit
def release_values(state: Array, length: int) -> int:
    """Return how many bytes of the data are done with, and move the state to where the data starts without them."""
    done = state[BEGUN] - 1 if state[BEGUN] else state[AT]
    state[AT] -= done
    if state[BEGUN]:
        state[BEGUN] = 1
    return done


# ---------------------------------------------------------------- counting


# Columns of the cells: what it counts, documents, one more than the last document that counted, and occurrences.
KEY, DOCUMENTS, LAST_DOCUMENT, OCCURRENCES = range(4)


class Counts(NamedTuple):
    """Running counts of a shard piece.

    What was found has a cell, a row of `grams` or `entries`; `gram_cell` and `entry_cell` have one more than its
    number, or 0. So all that is in use lies together.
    """

    gram_cell: Array
    grams: Array
    entry_cell: Array
    entries: Array


def new_counts(grams: int, entries: int) -> Counts:
    """Return counts for so many n-grams and entries of which none was found."""
    return Counts(
        gram_cell=np.zeros(grams, dtype=np.int32),
        grams=np.empty((grams, 4), dtype=np.int64),
        entry_cell=np.zeros(entries, dtype=np.int32),
        entries=np.empty((entries, 3), dtype=np.int64),
    )


@inline
def cell_of(key: np.uint64, cell: Array, rows: Array, used: Array, kind: int) -> np.uint64:
    """Return the number of a cell, which is made if there is none."""
    if cell[key] == 0:
        row = used[kind]
        rows[row, :] = 0
        rows[row, KEY] = key
        used[kind] = cell[key] = row + 1
    return np.uint64(cell[key]) - ONE


@jit
def count_matches(
    found: Array, first_doc: int, owner_bounds: Array, owners: Array, gram_lengths: Array, lengths: int,
    counts: Counts, used: Array,
) -> None:  # fmt: skip
    """Add matches to the running counts.

    Parameters
    ----------
    found : int64 array of shape (matches, 4), as `find_matches` leaves it
    first_doc : int
        Number of the batch's first document in the piece.
    used : int64 array of shape (2,)
        How many cells of n-grams and of entries there are.
    """
    for i in range(len(found)):
        doc, gram = first_doc + found[i, 0] + 1, np.uint64(found[i, 1])  # unsigned: no test for a negative index
        cell = counts.grams[cell_of(gram, counts.gram_cell, counts.grams, used, 0)]
        cell[OCCURRENCES] += 1
        if cell[LAST_DOCUMENT] == doc:
            continue
        cell[LAST_DOCUMENT] = doc
        cell[DOCUMENTS] += 1
        for at in range(np.uint64(owner_bounds[gram]), np.uint64(owner_bounds[gram + ONE])):
            entry = np.uint64(np.int64(owners[at]) * lengths + gram_lengths[gram])
            cell = counts.entries[cell_of(entry, counts.entry_cell, counts.entries, used, 1)]
            if cell[LAST_DOCUMENT] != doc:
                cell[LAST_DOCUMENT] = doc
                cell[DOCUMENTS] += 1


# ---------------------------------------------------------------- evidence

evidence_priority = internal(hashing.evidence_priority)

# Columns of the rows of a sample: their order (priority, number of the record, first code point), the code point behind
# the match, its n-gram, its entry, one more than the entry's next row (or 0), and the match's document and bytes. At
# first these are -1 - document of the batch and bytes of the batch; once described, the numbers of its id and the bytes
# of its snippet.
PRIORITY, LINK, ROW, START, END, GRAM, ENTRY, SOURCE, FIRST, STOP = range(10)
COLUMNS = 10
HIGHEST = np.int64(2**63 - 1)
HIGHEST_BIT = np.uint64(1 << 63)  # turns the order of uint64 into that of int64


class Sample(NamedTuple):
    """The matches kept as evidence.

    For every entry, `filled` has the number of its rows, `head` one more than the first of them, and, once there are as
    many as there may be, `worst` the one that goes first and `limit` `HIGHEST` minus its priority. So zeros that were
    never touched mean that there is nothing yet. `fresh` lists the rows that came from the batch at hand.
    """

    head: Array
    filled: Array
    worst: Array
    limit: Array
    rows: Array
    fresh: Array


def new_sample(entries: int, rows: int) -> Sample:
    """Return an empty sample with room for so many rows."""
    return Sample(
        head=np.zeros(entries, dtype=np.int64),
        filled=np.zeros(entries, dtype=np.int64),
        worst=np.zeros(entries, dtype=np.int64),
        limit=np.zeros(entries, dtype=np.int64),
        rows=np.empty((rows, COLUMNS), dtype=np.int64),
        fresh=np.empty(rows, dtype=np.int64),
    )


def enlarge_sample(sample: Sample, rows: int) -> Sample:
    """Return the same sample with room for so many rows at least, and twice as many as before."""
    enlarged = new_sample(0, max(rows, 2 * len(sample.rows)))
    enlarged.rows[: len(sample.rows)] = sample.rows
    enlarged.fresh[: len(sample.fresh)] = sample.fresh
    return sample._replace(rows=enlarged.rows, fresh=enlarged.fresh)


@internal
def comes_before(priority: int, number: int, start: int, row: Array) -> bool:
    """Whether a match comes before a row of a sample."""
    if priority != row[PRIORITY]:
        return priority < row[PRIORITY]
    return number < row[ROW] or (number == row[ROW] and start < row[START])


@internal
def find_worst(rows: Array, head: int) -> int:
    """Return the row of an entry that comes last; `head` is one more than its first row."""
    worst = at = head - 1
    while rows[at, LINK]:
        at = rows[at, LINK] - 1
        if comes_before(rows[worst, PRIORITY], rows[worst, ROW], rows[worst, START], rows[at]):
            worst = at
    return worst


@jit
def take_sample(
    begin: int, found: Array, points: Array, hashes: Array, numbers: Array, owner_bounds: Array,
    owners: Array, gram_lengths: Array, lengths: int, cap: int, sample: Sample, used: Array,
) -> int:  # fmt: skip
    """Put the matches from number `begin` on into the sample, as far as they belong to it.

    Parameters
    ----------
    found : int64 array of shape (matches, 4)
        As `find_matches` leaves it, but with bytes of the batch.
    points : int64 array of shape (matches, 2)
        First code point of each match and the one after the last.
    hashes : uint64 array
        xxh64 of each document.
    numbers : int64 array
        Number of each document's record.
    cap : int
        Most rows of an entry, at least 1.
    used : int64 array of shape (2,)
        How many rows of the sample are in use, and how many of them are fresh.

    Returns
    -------
    int
        The first match that was not looked at because the sample has no room, or the number of matches.
    """
    rows, head, filled, worst = sample.rows, sample.head, sample.filled, sample.worst
    doc, start, priority = -1, -1, HIGHEST
    for i in range(begin, len(found)):
        gram = np.uint64(found[i, 1])  # unsigned: no test for a negative index
        low, high = np.int64(owner_bounds[gram]), np.int64(owner_bounds[gram + ONE])
        if used[0] + high - low > len(rows):
            return i
        if found[i, 0] != doc or points[i, 0] != start:  # or it is as for the shorter one that starts here
            doc, start = found[i, 0], points[i, 0]
            priority = np.int64(evidence_priority(hashes[doc], np.uint64(start)) ^ HIGHEST_BIT)
        for owner in range(low, high):
            entry = np.uint64(np.int64(owners[owner]) * lengths + gram_lengths[gram])
            if priority > HIGHEST - sample.limit[entry]:
                continue
            if filled[entry] < cap:
                at, link = used[0], head[entry]
                rows[at, SOURCE] = 0
                used[0] += 1
                filled[entry] += 1
                head[entry] = at + 1
            else:
                at = worst[entry]
                if not comes_before(priority, numbers[doc], start, rows[at]):
                    continue
                link = rows[at, LINK]
            rows[at, PRIORITY], rows[at, ROW], rows[at, START], rows[at, END] = (
                priority, numbers[doc], start, points[i, 1],
            )  # fmt: skip
            rows[at, GRAM], rows[at, ENTRY], rows[at, LINK] = gram, entry, link
            if rows[at, SOURCE] >= 0:  # or it is listed already
                sample.fresh[used[1]] = at
                used[1] += 1
            rows[at, SOURCE] = -1 - doc
            rows[at, FIRST], rows[at, STOP] = found[i, 2], found[i, 3]
            if filled[entry] == cap:
                worst[entry] = find_worst(rows, head[entry])
                sample.limit[entry] = HIGHEST - rows[worst[entry], PRIORITY]
    return len(found)


@inline
def back(data: Array, at: int, first: int, points: int) -> int:
    """Return the place `points` code points before `at`, or `first`."""
    while points and at > first:
        if at - WIDTH >= first and non_ascii(data, at - WIDTH) == ZERO:
            step = points if points < WIDTH else WIDTH
            at, points = at - step, points - step
        else:
            at, points = at - 1, points - 1
            while data[at] & 0xC0 == 0x80:
                at -= 1
    return at


@inline
def forth(data: Array, at: int, stop: int, points: int) -> int:
    """Return the place `points` code points behind `at`, or `stop`."""
    while points and at < stop:
        if at + WIDTH <= stop and non_ascii(data, at) == ZERO:
            step = points if points < WIDTH else WIDTH
            at, points = at + step, points - step
        else:
            at, points = at + 1, points - 1
            while at < stop and data[at] & 0xC0 == 0x80:
                at += 1
    return at


@inline
def copy_bytes(out: Array, to: int, data: Array, at: int, stop: int) -> None:
    """Copy ``data[at:stop]``, and up to 63 bytes more."""
    while at < stop:
        if at + WIDTH <= len(data):
            copy_block(out, to, data, at)
            at, to = at + WIDTH, to + WIDTH
        else:
            out[to] = data[at]
            at, to = at + 1, to + 1


@jit
def describe_sample(
    rows: Array, fresh: Array, data: Array, offsets: Array, context: int, documents: Array, texts: Array, filled: Array
) -> int:  # fmt: skip
    """Copy the passage around each row of the sample that came from this batch.

    Parameters
    ----------
    rows : int64 array of shape (rows, 10)
    fresh : int64 array
        Which rows came from this batch.
    context : int
        Code points on each side of the match.
    documents : int64 array
        For each document of the batch 0, or one more than the number of its id; new ones get the next number.
    texts : uint8 array
        Receives the passages, with 64 bytes to spare.
    filled : int64 array of shape (2,)
        Bytes of `texts` and numbers of ids that are in use.

    Returns
    -------
    int
        0, or how many bytes of `texts` must be free: call again with more room.
    """
    for i in fresh:
        if rows[i, SOURCE] >= 0:  # described by an earlier call
            continue
        doc = -1 - rows[i, SOURCE]
        first = back(data, rows[i, FIRST], offsets[doc], context)
        stop = forth(data, rows[i, STOP], offsets[doc + 1], context)
        to = filled[0]
        if to + stop - first + WIDTH > len(texts):
            return stop - first + WIDTH
        copy_bytes(texts, to, data, first, stop)
        if not documents[doc]:
            filled[1] += 1
            documents[doc] = filled[1]
        rows[i, SOURCE], rows[i, FIRST], rows[i, STOP] = documents[doc] - 1, to, to + stop - first
        filled[0] += stop - first
    return 0


@jit
def gather(data: Array, spans: Array, out: Array, offsets: Array) -> None:
    """Copy ``data[start:stop]`` for each of `spans`, int64 of shape (spans, 2), side by side.

    `out` is 64 bytes longer than what they take; `offsets`, one more than there are spans, tells where each ends.
    """
    to = offsets[0]
    for i in range(len(spans)):
        copy_bytes(out, to, data, spans[i, 0], spans[i, 1])
        to += spans[i, 1] - spans[i, 0]
        offsets[i + 1] = to


# ---------------------------------------------------------------- JSON records

# All of these want `data` to go on for 64 bytes behind the last record.
TEXT_ELSEWHERE, BLANK = -1, -2

_EVEN = np.uint64(0x5555555555555555)


@jit
def cut_lines(data: Array, begin: int, end: int, lines: Array) -> int:
    """Find the lines of ``data[begin:end]``, without their newlines, until `lines` is full; return how many.

    `lines` has shape (most, 2). The last one ends at `end`; there is none behind a newline at the very end.
    """
    count, at = 0, begin
    while begin < end and count < len(lines):
        found = newlines(data, at)
        at = at + WIDTH if found == ZERO else at + lowest_bit(found)
        if found != ZERO or at >= end:
            at = min(at, end)
            lines[count, 0], lines[count, 1] = begin, at
            count += 1
            begin = at = at + 1
    return count


@inline
def skip_blanks(data: Array, at: int, end: int) -> int:
    """Return the next place that holds no JSON white space."""
    while at < end and (data[at] == 0x20 or data[at] == 0x09 or data[at] == 0x0D or data[at] == 0x0A):
        at += 1
    return at


@inline
def utf8_length(data: Array, at: int) -> int:
    """Return the bytes of the code point outside ASCII at `at`, or 0 where that is not UTF-8."""
    first, second = data[at], data[at + 1]
    if first < 0xC2 or second & 0xC0 != 0x80:
        return 0
    if first < 0xE0:
        return 2
    if data[at + 2] & 0xC0 != 0x80:
        return 0
    if first < 0xF0:
        return 0 if (first == 0xE0 and second < 0xA0) or (first == 0xED and second >= 0xA0) else 3
    if data[at + 3] & 0xC0 != 0x80 or first > 0xF4:
        return 0
    return 0 if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second >= 0x90) else 4


@internal
def special_leads_are_utf8(data: Array, special: np.uint64, here: int, end: int) -> bool:
    """Whether what follows lead bytes of which not every continuation is UTF-8 is; `special` tells where they are."""
    while special != ZERO:
        at = here + lowest_bit(special)
        special &= special - ONE
        if at + 1 >= end:
            return False
        first, second = data[at], data[at + 1]
        if first == 0xE0 or first == 0xF0:
            if second < (0xA0 if first == 0xE0 else 0x90):
                return False
        elif second > (0x9F if first == 0xED else 0x8F):
            return False
    return True


@jit
def are_utf8(data: Array, offsets: Array) -> bool:
    """Whether documents, ``data[offsets[d]:offsets[d + 1]]``, are UTF-8; False also where `data` is short.

    In UTF-8, continuations stand just where lead bytes want them.
    """
    if len(data) < WIDTH:
        return False
    for doc in range(len(offsets) - 1):
        here, end, wanted = offsets[doc], offsets[doc + 1], ZERO
        while here < end:
            at = here if here + WIDTH <= len(data) else len(data) - WIDTH
            gone = np.uint64(here - at)
            valid = ALL if end - here >= WIDTH else (ONE << np.uint64(end - here)) - ONE
            high = (non_ascii(data, at) >> gone) & valid
            beyond = ZERO
            if high != ZERO:
                leads, long = (leads_of_more(data, at) >> gone) & valid, (leads_of_three(data, at) >> gone) & valid
                longest = (leads_of_four(data, at) >> gone) & valid
                beyond = (leads >> _LAST) | (long >> np.uint64(62)) | (longest >> np.uint64(61))
                wanted |= (leads << ONE) | (long << np.uint64(2)) | (longest << np.uint64(3))
                special = (special_leads(data, at) >> gone) & valid
                if special != ZERO and not special_leads_are_utf8(data, special, here, end):
                    return False
                high &= ~leads
            if wanted != high or (high & ~(continuation(data, at) >> gone)) != ZERO:
                return False
            wanted = beyond
            here += WIDTH
        if wanted != ZERO:
            return False
    return True


@inline
def is_hex(byte: int) -> bool:
    """Whether a byte is a hexadecimal digit."""
    return 0x30 <= byte <= 0x39 or 0x61 <= (byte | 0x20) <= 0x66


@inline
def escaped_bytes(backslash: np.uint64, carry: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return which of 64 bytes are escaped, and whether the byte behind them is; `carry` tells that of the first.

    Adding the first backslash of each run to the run carries to its end, at an even or odd place (G. Langdale and
    D. Lemire, Parsing gigabytes of JSON per second, 2019).
    """
    backslash &= ~carry
    follows = (backslash << ONE) | carry
    odd = backslash & ~_EVEN & ~follows
    run = odd + backslash
    return (_EVEN ^ (run << ONE)) & follows, np.uint64(run < backslash)


@internal
def skip_string(data: Array, begin: int, end: int) -> int:
    """Return the place behind the JSON string whose quote is at `begin`, or -1 if it isn't valid."""
    here = checked = begin + 1
    carry = ZERO
    while here < end:
        escaped, carry = escaped_bytes(backslashes(data, here), carry)
        quote = quotes(data, here) & ~escaped
        before = (quote & (ZERO - quote)) - ONE if quote != ZERO else ALL
        if (controls(data, here) | (escaped & ~escape_letters(data, here))) & before != ZERO:
            return -1
        hexes = escaped & letters_u(data, here) & before
        while hexes != ZERO:
            at = here + lowest_bit(hexes)
            hexes &= hexes - ONE
            for k in range(1, 5):
                if not is_hex(data[at + k]):
                    return -1
        high = non_ascii(data, here) & before
        while high != ZERO:
            at = here + lowest_bit(high)
            high &= high - ONE
            if at >= checked:
                length = utf8_length(data, at)
                if length == 0:
                    return -1
                checked = at + length
        if quote != ZERO:
            here += lowest_bit(quote) + 1
            return here if here <= end else -1
        here += WIDTH
    return -1


@internal
def skip_scalar(data: Array, at: int) -> int:
    """Return the place behind a number, true, false or null, or -1 if it isn't valid."""
    word = load_word(data, at)
    if word & np.uint64(0xFFFFFFFF) == np.uint64(0x65757274) or word & np.uint64(0xFFFFFFFF) == np.uint64(0x6C6C756E):
        return at + 4
    if word & np.uint64(0xFFFFFFFFFF) == np.uint64(0x65736C6166):
        return at + 5
    if data[at] == 0x2D:
        at += 1
    begin = at
    while 0x30 <= data[at] <= 0x39:
        at += 1
    if at == begin or (data[begin] == 0x30 and at > begin + 1):
        return -1
    if data[at] == 0x2E:
        begin = at + 1
        at = begin
        while 0x30 <= data[at] <= 0x39:
            at += 1
        if at == begin:
            return -1
    if data[at] | 0x20 == 0x65:
        at += 1
        if data[at] == 0x2B or data[at] == 0x2D:
            at += 1
        begin = at
        while 0x30 <= data[at] <= 0x39:
            at += 1
        if at == begin:
            return -1
    return at


@internal
def skip_key(data: Array, at: int, end: int) -> int:
    """Return the place behind a key and its colon, or -1 if that isn't valid; `at` is the quote of the key."""
    if at >= end or data[at] != 0x22:
        return -1
    at = skip_string(data, at, end)
    if at < 0:
        return -1
    at = skip_blanks(data, at, end)
    return at + 1 if at < end and data[at] == 0x3A else -1


@internal
def is_name(data: Array, at: int, name: Array) -> int:
    """Whether the key whose quote is at `at` is `name`: 1, 0, or -1 where it has an escape and might be."""
    for k in range(len(name)):
        byte = data[at + 1 + k]
        if byte == 0x5C:
            return -1
        if byte != name[k] or byte == 0x22:
            break
    else:
        return data[at + 1 + len(name)] == 0x22
    k = at + 1
    while data[k] != 0x22:
        if data[k] == 0x5C:
            return -1
        k += 1
    return 0


@internal
def find_text(data: Array, at: int, end: int, name: Array, place: Array) -> bool:
    """Find the text of the record ``data[at:end]``: whether it is a JSON object with one that is a string.

    `place` receives where the string starts and ends, without its quotes. Where a name is given twice, the last one
    counts. What is no valid JSON, or nested deeply, has none here.
    """
    at = skip_blanks(data, at, end)
    if at >= end or data[at] != 0x7B:
        return False
    at += 1
    depth, objects = 1, ONE  # a bit for each level: whether it is an object
    fresh, keyed, after = True, False, False  # just opened; behind a key; behind a value
    wanted, found = False, False
    while True:
        at = skip_blanks(data, at, end)
        if at >= end:
            return False
        byte = data[at]
        if (fresh or after) and byte == (0x7D if objects & ONE else 0x5D):
            at, depth, objects = at + 1, depth - 1, objects >> ONE
            fresh, after = False, True
            if depth == 0:
                return found and skip_blanks(data, at, end) == end
        elif after:
            if byte != 0x2C:
                return False
            at, after = at + 1, False
        elif objects & ONE and not keyed:
            key, at = at, skip_key(data, at, end)
            if at < 0:
                return False
            fresh, keyed = False, True
            if depth == 1:
                same = is_name(data, key, name)
                if same < 0:
                    return False
                wanted = same == 1
        elif byte == 0x22:
            begin, at = at + 1, skip_string(data, at, end)
            if at < 0:
                return False
            if wanted:
                place[0], place[1] = begin, at - 1
                found, wanted = True, False
            fresh, keyed, after = False, False, True
        elif wanted:
            return False
        elif byte == 0x7B or byte == 0x5B:
            if depth == 64:
                return False
            at, depth, objects = at + 1, depth + 1, (objects << ONE) | np.uint64(byte == 0x7B)
            fresh, keyed = True, False
        else:
            at = skip_scalar(data, at)
            if at < 0:
                return False
            fresh, keyed, after = False, False, True


@jit
def find_texts(data: Array, records: Array, name: Array, places: Array) -> int:
    """Find the text of each of `records`, int64 of shape (records, 2): first byte and the one after the last.

    `places`, of the same shape, receives where the JSON strings start and end, without their quotes; or `BLANK` for
    what is nothing but white space, or `TEXT_ELSEWHERE` where it takes a parser to tell. Returns how many were found.
    """
    count = 0
    for i in range(len(records)):
        at, end = records[i, 0], records[i, 1]
        if find_text(data, at, end, name, places[i]):
            count += 1
        else:
            while at < end and (data[at] == 0x20 or 0x09 <= data[at] <= 0x0D):
                at += 1
            places[i, 0] = places[i, 1] = BLANK if at == end else TEXT_ELSEWHERE
    return count


# ---------------------------------------------------------------- JSON strings


@internal
def hex4(data: Array, at: int) -> int:
    """Return the value of four hexadecimal digits."""
    value = 0
    for k in range(4):
        byte = int(data[at + k])
        value = value * 16 + (byte - 0x30 if byte <= 0x39 else (byte | 0x20) - 0x57)
    return value


@internal
def decode_hex(source: Array, at: int, end: int, out: Array, to: int) -> tuple[int, int]:
    r"""Decode what stands behind ``\u``, and the other half of a pair; return the places behind in both arrays."""
    code = hex4(source, at)
    at += 4
    if 0xD800 <= code < 0xE000:
        low = hex4(source, at + 2) if at + 6 <= end and source[at] == 0x5C and source[at + 1] == 0x75 else 0
        if code < 0xDC00 and 0xDC00 <= low < 0xE000:
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            at += 6
        else:
            code = 0xFFFD
    return at, put_code_point(out, to, code)


@jit
def unescape(source: Array, places: Array, out: Array, offsets: Array) -> None:
    """Decode JSON strings.

    Parameters
    ----------
    source : uint8 array
        Goes on for 64 bytes behind the last string.
    places : int64 array of shape (strings, 2)
        Where valid JSON strings start and end, without their quotes.
    out : uint8 array
        Receives UTF-8, from ``offsets[0]`` on; 64 bytes longer than what the strings take. Lone surrogates become
        U+FFFD.
    offsets : int64 array, one more than there are strings
        Receives, from its second place on, where the decoded strings end.
    """
    to = offsets[0]
    for d in range(len(places)):
        at, end = places[d, 0], places[d, 1]
        while at < end:
            size, backslash = WIDTH, backslashes(source, at)
            if end - at < WIDTH:
                size = end - at
                backslash &= (ONE << np.uint64(size)) - ONE
            escaped, beyond = escaped_bytes(backslash, ZERO)
            size -= np.int64(beyond)  # a pair isn't cut
            hexes = escaped & letters_u(source, at)
            if hexes != ZERO:
                size = lowest_bit(hexes) - 1
                escaped &= (ONE << np.uint64(size)) - ONE
            put_unescaped(out, to, source, at, escaped)
            at, to = at + size, to + size - count_bits(escaped)
            if hexes != ZERO:
                at, to = decode_hex(source, at + 2, end, out, to)
        offsets[d + 1] = to


# ---------------------------------------------------------------- ways to look for n-grams

_STEPS = ("find_matches", "count_matches", "code_points", "take_sample", "describe_sample", "gather")
_COMPILED = SimpleNamespace(**{name: globals()[name] for name in _STEPS})
_INTERPRETED = interpreted(globals(), _STEPS)


def steps() -> SimpleNamespace:
    """Return the kernels that a scan calls; as plain Python while it does not pay to compile them (see `tiers`)."""
    return _INTERPRETED if tiers.scan.bytes_left else _COMPILED

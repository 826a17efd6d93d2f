"""Batches as the kernels want them: capitals outside ASCII made small."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmbxl import kernels, tiers
from wmbxl.batches import Batch, read_only
from wmbxl.vector import WIDTH

Array = np.ndarray[Any, Any]

_WORDS_HELD = 1024
_NOTHING = np.empty(0, dtype=np.uint8)
_MOST_GROWTH = 2  # no letter takes more than three bytes for two when it is lower-cased
_LETTER = np.dtype([("first", np.int64), ("size", np.uint8), ("points", np.uint8), ("before", np.uint8)])
_BLANK = np.isin(np.arange(256), list(b"\t\n\v\f\r\x1c\x1d\x1e\x1f "))


def _small_letter(code: int) -> int:
    """Return the code point that a capital becomes, or 0 where that takes more than a look at this one letter.

    A capital sigma becomes one of two letters, and a few capitals change their length.
    """
    if 0xD800 <= code < 0xE000:
        return code
    small = chr(code).lower()
    if code == kernels.CAPITAL_SIGMA or len(small) > 1 or len(small.encode()) != len(chr(code).encode()):
        return 0
    return ord(small)


@functools.cache
def small_letters() -> Array:
    """Return what each code point becomes, as `_small_letter` says; uint32."""
    return np.array([code if code < 0x80 else _small_letter(code) for code in range(0x20000)], dtype=np.uint32)


@functools.cache
def _resized() -> frozenset[str]:
    """Return the capitals that change their length."""
    return frozenset(map(chr, np.flatnonzero(small_letters() == 0).tolist())) - {"Σ", "\0"}


@dataclass(frozen=True)
class Folded:
    """The documents of a batch, free of capitals outside ASCII.

    Parameters
    ----------
    data : uint8 array, at least 64 bytes long
    offsets : int64 array
        As in `Batch`.
    resized : structured array
        Letters that took more or fewer bytes before, in order: first byte in `data`, bytes there, code points there,
        bytes before. Before, each was one code point. There may be many: 11 bytes each.
    """

    data: Array
    offsets: Array
    resized: Array

    def original(self, docs: Array, spans: Array, points: Array) -> tuple[Array, Array]:
        """Return where matches were before.

        What begins or ends within a letter takes the whole of what it was before.

        Parameters
        ----------
        docs : int64 array of shape (matches,)
        spans : int64 array of shape (matches, 2)
            First byte and the one after the last, in `data`.
        points : int64 array of shape (matches, 2)
            First code point and the one after the last, in the document.

        Returns
        -------
        spans : int64 array of shape (matches, 2)
            In the batch.
        points : int64 array of shape (matches, 2)
        """
        if not len(self.resized):
            return spans, points
        first, size, before = self.resized["first"].copy(), self.resized["size"], self.resized["before"]
        begun = np.searchsorted(first, spans)  # letters that begin before a place
        above = np.searchsorted(first, self.offsets[docs])  # letters of the documents before
        last = first + size
        ended = np.searchsorted(last, spans, side="right")  # letters that end there or before
        letter = np.minimum(ended, len(first) - 1)  # that a place may be in
        outer = np.where(begun > ended, np.stack([first[letter[:, 0]], last[letter[:, 1]]], axis=1), spans)
        del first, last
        grown = np.append(0, np.cumsum(size - before.astype(np.int64)))
        spans = outer - grown[np.stack([ended[:, 0], begun[:, 1]], axis=1)]
        del grown
        more = np.append(0, np.cumsum(self.resized["points"].astype(np.int64) - 1))
        return spans, points - more[np.stack([begun[:, 0], ended[:, 1]], axis=1)] + more[above][:, np.newaxis]


class Folder:
    """Folds batches for the ``release`` profile, and leaves those for ``raw`` as they are.

    What `fold` returns holds until it is called again: memory that is used again is memory that is in the cache.
    """

    def __init__(self, release: bool) -> None:
        self._release = release
        self._room = np.empty(0, dtype=np.uint8)
        self._words = np.empty((_WORDS_HELD, 3), dtype=np.int64)

    def fold(self, batch: Batch) -> Folded:
        """Return a batch free of capitals outside ASCII."""
        unchanged = Folded(batch.data, batch.offsets, np.empty(0, dtype=_LETTER))
        if not self._release or (tiers.letters.bytes_left and int(batch.data.max()) < 0x80):
            return unchanged
        if not tiers.letters.compiles(len(batch.data)):
            words = _words_with_capitals(batch)
            return _lower_words(batch, batch.data.copy(), [words]) if len(words) else unchanged
        if not kernels.lower_capitals(
            batch.data, batch.offsets, small_letters(), _NOTHING, self._words, np.zeros(2, dtype=np.int64)
        ):
            return unchanged
        if len(self._room) < len(batch.data):
            self._room = np.empty(len(batch.data), dtype=np.uint8)
        data = self._room[: len(batch.data)]
        data[:] = batch.data
        return _lower_words(batch, data, self._lower(batch, data))

    def _lower(self, batch: Batch, out: Array) -> Iterator[Array]:
        """Make the capitals in a copy of the batch small; yield words for which that takes Python."""
        place = np.zeros(2, dtype=np.int64)
        while place[0] < len(batch):
            count = kernels.lower_capitals(batch.data, batch.offsets, small_letters(), out, self._words, place)
            yield self._words[:count]


def _words_with_capitals(batch: Batch) -> Array:
    """Find the words outside ASCII that lower-casing changes: document, first byte, byte after the last."""
    blanks = np.flatnonzero(_BLANK[batch.data])
    far = np.flatnonzero(batch.data[: batch.offsets[-1]] >= 0x80)
    words = np.stack([np.searchsorted(batch.offsets, far, side="right") - 1, np.searchsorted(blanks, far)])
    docs, ends = words[:, np.append(True, (words[:, 1:] != words[:, :-1]).any(axis=0))[: len(far)]]
    start = np.maximum(batch.offsets[docs], np.append(-1, blanks)[ends] + 1)
    stop = np.minimum(batch.offsets[docs + 1], np.append(blanks, len(batch.data))[ends])
    view = batch.data.data
    texts = (str(view[first:last], "utf-8") for first, last in zip(start.tolist(), stop.tolist(), strict=True))
    changed = np.array([text != text.lower() for text in texts], dtype=bool)
    return np.stack([docs, start, stop], axis=1)[changed]


def _lower_words(batch: Batch, data: Array, words: Iterable[Array]) -> Folded:
    """Lower-case the words that the kernel could not; `words` are document, first byte, byte after the last."""
    source, target = batch.data.data, data.data
    grown = np.zeros(len(batch) + 1, dtype=np.int64)
    letters = bytearray()  # for whole lines in Turkish: no object for each of them
    longer = np.empty(len(data) * _MOST_GROWTH + WIDTH, dtype=np.uint8)  # what is never touched costs nothing
    done = size = 0
    for doc, start, end in itertools.chain.from_iterable(some.tolist() for some in words):
        text = str(source[start:end], "utf-8")
        word = text.lower().encode()
        if _resized().isdisjoint(text):
            target[start:end] = word
            continue
        size = _put(longer, size, target[done:start])
        for letter in _resized_letters(text, size):
            letters += letter
        size = _put(longer, size, word)
        done = end
        grown[doc + 1] += len(word) - (end - start)
    resized = np.frombuffer(letters, dtype=_LETTER)
    if not done:
        read_only(data)
        return Folded(data, batch.offsets, resized)
    size = _put(longer, size, target[done:])
    size = _put(longer, size, bytes(WIDTH))  # words may shrink, and the kernels look at 64 bytes at once
    data, offsets = longer[:size], batch.offsets + np.cumsum(grown)
    read_only(data, offsets)
    return Folded(data, offsets, resized)


def _put(out: Array, at: int, part: memoryview | bytes) -> int:
    """Write a part to ``out[at:]``; return the place behind it."""
    out.data[at : at + len(part)] = part
    return at + len(part)


def _resized_letters(word: str, at: int) -> Iterator[bytes]:
    """Yield the letters of a word that change their length, as `_LETTER`; the small word begins at byte `at`."""
    for letter in word:
        small = letter.lower()
        size = len(small.encode())
        if letter in _resized():
            yield struct.pack("=qBBB", at, size, len(small), len(letter.encode()))
        at += size

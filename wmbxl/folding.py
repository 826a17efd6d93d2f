"""Batches as the kernels want them: capitals outside ASCII made small."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmbxl import kernels, tiers
from wmbxl.batches import Batch, read_only
from wmbxl.text import original_positions
from wmbxl.vector import WIDTH

Array = np.ndarray[Any, Any]

_WORDS_HELD = 1024
_NOTHING = np.empty(0, dtype=np.uint8)
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
def _moving() -> frozenset[str]:
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
    moved : bool array
        Which documents have letters that took more or fewer bytes before.
    """

    data: Array
    offsets: Array
    moved: Array


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
        moved = np.zeros(len(batch), dtype=bool)
        unchanged = Folded(batch.data, batch.offsets, moved)
        if not self._release or (tiers.letters.bytes_left and int(batch.data.max()) < 0x80):
            return unchanged
        if not tiers.letters.compiles(len(batch.data)):
            words = _words_with_capitals(batch)
            return _lower_words(batch, batch.data.copy(), words, moved) if len(words) else unchanged
        if not self._lower(batch, _NOTHING):
            return unchanged
        if len(self._room) < len(batch.data):
            self._room = np.empty(len(batch.data), dtype=np.uint8)
        data = self._room[: len(batch.data)]
        data[:] = batch.data
        count = self._lower(batch, data)
        if count > len(self._words):
            self._words = np.empty((count, 3), dtype=np.int64)
            self._lower(batch, data)
        return _lower_words(batch, data, self._words[:count], moved)

    def _lower(self, batch: Batch, out: Array) -> int:
        return kernels.lower_capitals(batch.data, batch.offsets, small_letters(), out, self._words)


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


def _lower_words(batch: Batch, data: Array, words: Array, moved: Array) -> Folded:
    """Lower-case the words that the kernel could not; `words` are document, first byte, byte after the last."""
    source, target = batch.data.data, data.data
    grown = np.zeros(len(batch) + 1, dtype=np.int64)
    parts: list[memoryview | bytes] = []
    before = 0
    for doc, start, end in words.tolist():
        text = str(source[start:end], "utf-8")
        word = text.lower().encode()
        if _moving().isdisjoint(text):
            target[start:end] = word
            continue
        parts += [target[before:start], word]
        before = end
        grown[doc + 1] += len(word) - (end - start)
        moved[doc] = True
    offsets = batch.offsets
    if parts:
        parts += [target[before:], bytes(WIDTH)]  # words may shrink, and the kernels look at 64 bytes at once
        data, offsets = np.frombuffer(b"".join(parts), dtype=np.uint8), offsets + np.cumsum(grown)
    read_only(data, offsets)
    return Folded(data, offsets, moved)


def places(batch: Batch, doc: int, points: Array) -> tuple[Array, Array]:
    """Return where matches in a document that `moved` are in the original.

    Parameters
    ----------
    points : int64 array of shape (matches, 2)
        First code point and the one after the last, in the folded document.

    Returns
    -------
    points : int64 array of shape (matches, 2)
        The same in the original document.
    spans : int64 array of shape (matches, 2)
        First byte and the one after the last, in the batch.
    """
    text = batch.text(doc)
    origin = np.array(original_positions(text))
    points = np.stack([origin[points[:, 0]], origin[points[:, 1] - 1] + 1], axis=1)
    return points, np.cumsum([batch.offsets[doc], *(len(char.encode()) for char in text)])[points]

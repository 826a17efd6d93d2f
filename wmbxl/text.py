"""The definition of what is compared.

This module is the standard that every fast path is tested against: short, plain Python, no cleverness.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import xxhash

Profile = Literal["release", "raw"]
PROFILES: tuple[Profile, ...] = ("release", "raw")

_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMAND_OR_BRACE = re.compile(r"\\[a-zA-Z]+|[{}$]")
_TOKEN = re.compile(r"\S+")


@dataclass(frozen=True)
class Token:
    """A token and its place: ``start`` (inclusive) and ``end`` (exclusive) count code points of the original text."""

    start: int
    end: int
    text: str


def replace_surrogates(text: str) -> str:
    """Return `text` with every lone surrogate as U+FFFD, so that it has a UTF-8 form."""
    try:
        text.encode()  # far faster than a search, and nearly always enough
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


@dataclass(frozen=True)
class Normaliser:
    r"""Turns text into tokens, alike for benchmark and corpus.

    Parameters
    ----------
    profile : {"release", "raw"}
        ``release`` lower-cases, turns every LaTeX command, brace and dollar sign into a space, and splits on
        Unicode white space. ``raw`` only splits.

    References
    ----------
    .. [1] Li et al., "WirelessMathBench-XL", 2025, the audit's normalisation.

    Examples
    --------
    >>> Normaliser("release").tokens(r"Let $\mathbf{H}$ be  GIVEN")
    ['let', 'h', 'be', 'given']
    >>> Normaliser("raw").tokens("Let  $x$")
    ['Let', '$x$']
    """

    profile: Profile = "release"

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"profile must be one of {PROFILES}, not {self.profile!r}")

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of `text`."""
        text = replace_surrogates(text)
        if self.profile == "release":
            text = _COMMAND_OR_BRACE.sub(" ", text.lower())
        return text.split()

    def normalise(self, text: str) -> str:
        """Return the tokens of `text` joined by one space."""
        return " ".join(self.tokens(text))

    def locate(self, text: str) -> list[Token]:
        r"""Return the tokens of `text` with their places in it.

        Examples
        --------
        >>> [(t.start, t.end, t.text) for t in Normaliser().locate(r"\bf Let x")]
        [(4, 7, 'let'), (8, 9, 'x')]
        """
        text = replace_surrogates(text)
        if self.profile == "raw":
            return [Token(*match.span(), match[0]) for match in _TOKEN.finditer(text)]
        lowered = text.lower()
        blanked = _COMMAND_OR_BRACE.sub(lambda match: " " * len(match[0]), lowered)
        if len(lowered) == len(text):
            return [Token(*match.span(), match[0]) for match in _TOKEN.finditer(blanked)]
        origin = original_positions(text)
        return [Token(origin[m.start()], origin[m.end() - 1] + 1, m[0]) for m in _TOKEN.finditer(blanked)]


def original_positions(text: str) -> list[int]:
    """Return, for each code point of ``text.lower()``, the position in `text` of the character it came from.

    One capital (U+0130) folds to two code points, so the positions can differ.
    """
    return [i for i, char in enumerate(text) for _ in char.lower()]


def ngrams(tokens: list[str], n: int) -> Iterator[str]:
    """Yield every window of `n` tokens, joined by one space."""
    return (" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def xxh64(ngram: str) -> int:
    """Return the public key of an n-gram: xxh64 with seed 0 of its UTF-8 bytes.

    Examples
    --------
    >>> f"{xxh64('let h be given'):016x}"
    '4c3abde6cc19ab71'
    """
    return xxhash.xxh64_intdigest(ngram.encode())

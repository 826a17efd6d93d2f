"""A slow audit that is short enough to check by eye.

It shares no code with the package. Everything the package computes quickly is compared with what this
computes: tokens, spans, keys, every count and every piece of evidence.
"""

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import xxhash

# What the release profile turns into a space, once the text is lower case.
MARKUP = re.compile(r"\\[a-zA-Z]+|[{}$]")


class Match(NamedTuple):
    """One window of one document, for one owner of its n-gram."""

    problem_id: str
    channel: str
    n: int
    document: int  # index in the list of documents
    start: int  # code points in the original text, half-open
    end: int
    ngram: str


Key = tuple[str, str, int]  # problem_id, channel, n


@dataclass(frozen=True)
class Audit:
    counts: dict[Key, dict[str, int]]  # every problem x channel x n, with or without hits
    ngrams: dict[tuple[int, str], tuple[int, int]]  # matched n-grams only: (occurrences, documents)
    owners: dict[tuple[int, str], set[str]]  # every n-gram of the benchmark: the problems that own it
    documents: int
    tokens: int
    windows: dict[int, int]  # windows of all documents, by n
    all_matches: list[Match]  # sorted by problem_id, channel, n, document, start


def clean(text: str) -> str:
    """Replace each lone surrogate by U+FFFD. The length stays."""
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def tokens(text: str, profile: str = "release") -> list[str]:
    text = clean(text)
    if profile == "release":
        text = MARKUP.sub(" ", text.lower())
    elif profile != "raw":
        raise ValueError(profile)
    return text.split()


def token_spans(text: str, profile: str = "release") -> list[tuple[int, int, str]]:
    """(start, end, token), in code points of the original text, half-open.

    'İ' is the one character that lower-cases to two: 'i' and U+0307. A command may eat the 'i' and leave
    U+0307 to the next token, which then spans the whole 'İ'. No token can end between the two.
    """
    text = clean(text)
    origin = list(range(len(text)))  # origin[k]: where character k of the text that is split comes from
    if profile == "release":
        origin = [i for i, char in enumerate(text) for _ in char.lower()]
        text = MARKUP.sub(lambda match: " " * len(match[0]), text.lower())
    elif profile != "raw":
        raise ValueError(profile)
    spans = []
    stop = 0
    for token in text.split():
        start = text.index(token, stop)  # only white space lies between stop and the token
        stop = start + len(token)
        spans.append((origin[start], origin[stop - 1] + 1, token))
    return spans


def ngrams(words: Sequence[str], n: int) -> list[str]:
    """Every window of n words in order, repeats included."""
    if n < 1:
        raise ValueError(n)
    return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def key(ngram: str) -> int:
    return xxhash.xxh64_intdigest(ngram.encode("utf-8"), seed=0)


def audit(
    problems: Mapping[str, Mapping[str, str]],
    documents: Sequence[str],
    ns: Iterable[int],
    profile: str = "release",
) -> Audit:
    """Audit `problems` (problem_id -> channel -> surface) against `documents`."""
    ns = sorted(set(ns))
    surfaces: dict[Key, list[str]] = {
        (problem_id, channel, n): ngrams(tokens(surface, profile), n)
        for problem_id, channels in problems.items()
        for channel, surface in channels.items()
        for n in ns
    }
    owning: dict[tuple[int, str], list[Key]] = {}
    for owner, grams in surfaces.items():
        for gram in set(grams):
            owning.setdefault((owner[2], gram), []).append(owner)

    matches: list[Match] = []
    found_in: dict[tuple[int, str], list[int]] = {}  # n-gram -> the document of each occurrence
    n_tokens = 0
    windows = dict.fromkeys(ns, 0)
    for index, document in enumerate(documents):
        spans = token_spans(document, profile)
        n_tokens += len(spans)
        for n in ns:
            grams = ngrams([token for _, _, token in spans], n)
            windows[n] += len(grams)
            for i, gram in enumerate(grams):
                if (n, gram) in owning:
                    found_in.setdefault((n, gram), []).append(index)
                    for problem_id, channel, _ in owning[n, gram]:
                        start, end = spans[i][0], spans[i + n - 1][1]
                        matches.append(Match(problem_id, channel, n, index, start, end, gram))
    matches.sort()

    by_owner = group(matches)
    counts = {
        owner: {
            "n_grams_total": len(grams),
            "n_grams_unique": len(set(grams)),
            "hits_total": len(by_owner.get(owner, [])),
            "docs_total": len({match.document for match in by_owner.get(owner, [])}),
            "unique_ngrams_total": len({match.ngram for match in by_owner.get(owner, [])}),
        }
        for owner, grams in surfaces.items()
    }
    return Audit(
        counts=counts,
        ngrams={gram: (len(found), len(set(found))) for gram, found in found_in.items()},
        owners={gram: {owner[0] for owner in owners} for gram, owners in owning.items()},
        documents=len(documents),
        tokens=n_tokens,
        windows=windows,
        all_matches=matches,
    )


def group(matches: Iterable[Match]) -> dict[Key, list[Match]]:
    groups: dict[Key, list[Match]] = {}
    for match in matches:
        groups.setdefault((match.problem_id, match.channel, match.n), []).append(match)
    return groups


def priority(document: str, start: int) -> int:
    """The smaller, the sooner kept as evidence. A function of the document's text and the place alone."""
    digest = xxhash.xxh64_intdigest(clean(document).encode("utf-8"), seed=0)
    return xxhash.xxh64_intdigest(struct.pack("<QQ", digest, start), seed=0)


def evidence(matches: Iterable[Match], documents: Sequence[str], cap: int) -> dict[Key, list[Match]]:
    """For each problem x channel x n with a match: the first `cap` by (priority, document, start)."""

    def order(match: Match) -> tuple[int, int, int]:
        return priority(documents[match.document], match.start), match.document, match.start

    return {owner: sorted(group_, key=order)[:cap] for owner, group_ in group(matches).items()}

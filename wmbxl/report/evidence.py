"""Flagged problems with their texts, and the passages of the corpora that match them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import pandas as pd

from wmbxl.audit import Audit
from wmbxl.errors import UsageError
from wmbxl.report.frames import year_of
from wmbxl.sample import CONTEXT
from wmbxl.text import Normaliser, Token, ngrams

Range = tuple[int, int]  # code points, the end exclusive
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Match:
    """A row of the evidence. `others`: how many other problems have the n-gram."""

    start: int
    end: int
    xxh64: int
    others: int


@dataclass(frozen=True)
class Passage:
    """A span of a document with its context.

    Attributes
    ----------
    corpus, shard, document_id : str
        `document_id` may be None.
    row : int or None
        None where a part before it could not be read; then it is record `piece_row` of the piece at `piece`.
    piece, piece_row : int or None
    start, end : int
        The span in the document's text, in code points.
    tokens, windows : int
    sampled : bool
        Whether there may be more to the span: evidence is a sample.
    text : str
        The span with its context.
    offset : int
        Where `text` begins in the document.
    goes_on : bool
        Whether there is more of the document behind `text`.
    in_problem : list of (int, int)
        What the span matches in the problem's text.
    matches : list of Match
        The rows of the evidence in the span. There may be none: a snippet can show a span that the sample missed.
    """

    corpus: str
    shard: str
    document_id: str | None
    row: int | None
    piece: int | None
    piece_row: int | None
    start: int
    end: int
    tokens: int
    windows: int
    sampled: bool
    text: str
    offset: int
    goes_on: bool
    in_problem: list[Range]
    matches: list[Match]


@dataclass(frozen=True)
class Found:
    """A problem that was found, in one channel.

    Attributes
    ----------
    share : float
        Of its distinct n-grams, how many were found; 0 to 1.
    longest : int or None
        Tokens of the longest span; None where no evidence was kept.
    at_least : bool
        Whether `longest` follows from a sample of the matches, so that there may be a longer span.
    others : int
        Smallest number of other problems that have one of its matched n-grams: if it is not 0, all that matched may
        be a template.
    elsewhere : int
        Documents in corpora that don't decide S0 and S1.
    found : list of (int, int)
        What of the text is in a matched n-gram. It follows from all matches, not from a sample.
    """

    problem_id: str
    channel: str
    format: str | None
    year: int | None
    documents: int
    elsewhere: int
    hits: int
    share: float
    longest: int | None
    at_least: bool
    others: int
    text: str
    found: list[Range]
    passages: list[Passage]


def found_problems(audit: Audit, n: int) -> list[Found]:
    """Return every problem that was found at one n, in any channel and corpus, most documents first.

    Raises
    ------
    UsageError
        If the folder's tables are not of one audit.
    """
    texts = {(row["problem_id"], row["channel"]): row for row in audit.problems.to_dict("records")}
    by_corpus = audit.metadata_by_corpus[audit.metadata_by_corpus["n"] == n]
    everywhere = by_corpus.groupby(["problem_id", "channel"])["docs_total"].sum().to_dict()
    metadata = audit.metadata[audit.metadata["n"] == n]
    owners = _owners(audit, n)
    release = {corpus["name"] for corpus in audit.info["corpora"] if corpus["role"] == "release"}
    spans, evidence = (_grouped(frame[frame["n"] == n]) for frame in (audit.spans, audit.evidence))
    normaliser = Normaliser(audit.info["profile"])
    problems = []
    for row in cast(Rows, metadata.to_dict("records")):
        key = (row["problem_id"], row["channel"])
        if key not in texts or key not in everywhere:
            raise _mixed(audit, "problems.parquet, metadata.parquet or metadata_by_corpus.parquet")
        if bool(evidence.get(key)) != bool(everywhere[key] and audit.info["evidence_cap"]):
            raise _mixed(audit, "evidence.parquet")
        if {_document(row) for row in evidence.get(key, [])} != {_document(span) for span in spans.get(key, [])}:
            raise _mixed(audit, "evidence.parquet or spans.parquet")
        if everywhere[key]:
            surface = _Surface(texts[key]["text"], n, normaliser)
            matched = [ngram for ngram in surface.places if ngram in owners]
            if not matched:
                raise _mixed(audit, "ngrams.parquet or problems.parquet")
            problems.append(
                Found(
                    problem_id=row["problem_id"],
                    channel=row["channel"],
                    format=_known(texts[key]["format"]),
                    year=year_of(texts[key]["date"]),
                    documents=row["docs_total"],
                    elsewhere=everywhere[key] - row["docs_total"],
                    hits=row["hits_total"],
                    share=row["unique_ngrams_total"] / row["n_grams_unique"],
                    longest=_known(row["longest_span"]),
                    at_least=any(span["sampled"] for span in spans.get(key, []) if span["corpus"] in release),
                    others=min(owners[ngram] for ngram in matched) - 1,
                    text=surface.text,
                    found=surface.ranges(matched),
                    passages=list(_passages(spans.get(key, []), evidence.get(key, []), surface, owners)),
                )
            )
    return sorted(problems, key=lambda problem: (-problem.documents, -(problem.longest or 0)))


def _mixed(audit: Audit, names: str) -> UsageError:
    return UsageError(
        f"{audit.folder.url}: {names} in this folder is of another audit than the other tables: copy the files of one "
        "audit again, or run the audit again"
    )


def _known(value: Any) -> Any:
    return None if pd.isna(value) else value


def _owners(audit: Audit, n: int) -> dict[str, int]:
    """Return how many problems have each matched n-gram."""
    frame = audit.ngrams[audit.ngrams["n"] == n]
    return dict(zip(frame["ngram"], frame["owners"], strict=True))


def _grouped(frame: pd.DataFrame) -> dict[tuple[str, str], Rows]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in cast(Rows, frame.to_dict("records")):
        groups.setdefault((row["problem_id"], row["channel"]), []).append(row)
    return cast(dict[tuple[str, str], Rows], groups)


@dataclass(frozen=True)
class _Surface:
    """A problem's text, and where its n-grams are in it."""

    text: str
    n: int
    normaliser: Normaliser

    @cached_property
    def tokens(self) -> list[Token]:
        return self.normaliser.locate(self.text)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Numbers of the tokens with which each n-gram starts."""
        places: dict[str, list[int]] = {}
        for i, ngram in enumerate(ngrams([token.text for token in self.tokens], self.n)):
            places.setdefault(ngram, []).append(i)
        return places

    def ranges(self, found: Iterable[str]) -> list[Range]:
        """Return what of the text is in one of these n-grams."""
        ranges: list[Range] = []
        for first in sorted(i for ngram in set(found) for i in self.places.get(ngram, ())):
            start, end = self.tokens[first].start, self.tokens[first + self.n - 1].end
            if ranges and start <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((start, end))
        return ranges


def _passages(spans: Rows, evidence: Rows, surface: _Surface, owners: Mapping[str, int]) -> Iterator[Passage]:
    """Yield a problem's passages, the longest first."""
    documents: dict[Any, list[Mapping[str, Any]]] = {}
    for row in evidence:
        documents.setdefault(_document(row), []).append(row)
    passages = [_passage(span, documents[_document(span)], surface, owners) for span in spans]
    yield from sorted(passages, key=lambda passage: -passage.tokens)


def _document(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what tells a row's document apart from all others."""
    return tuple(_known(row[name]) for name in ("corpus", "shard", "row", "piece", "piece_row"))


def _passage(span: Mapping[str, Any], document: Rows, surface: _Surface, owners: Mapping[str, int]) -> Passage:
    rows = sorted(document, key=lambda row: row["start"])
    text, offset = _stitched([row for row in rows if _reaches(row, span)])
    inside = [row for row in rows if span["start"] <= row["start"] and row["end"] <= span["end"]]
    words = [
        token.text
        for token in surface.normaliser.locate(text)
        if span["start"] <= token.start + offset and token.end + offset <= span["end"]
    ]
    return Passage(
        corpus=span["corpus"],
        shard=span["shard"],
        document_id=_known(span["document_id"]),
        row=_known(span["row"]),
        piece=_known(span["piece"]),
        piece_row=_known(span["piece_row"]),
        start=span["start"],
        end=span["end"],
        tokens=span["tokens"],
        windows=span["windows"],
        sampled=span["sampled"],
        text=text,
        offset=offset,
        goes_on=not any(_stop(row) == offset + len(text) < row["end"] + CONTEXT for row in rows),
        in_problem=surface.ranges(ngrams(words, surface.n)),
        matches=[Match(row["start"], row["end"], row["xxh64"], owners[row["ngram"]] - 1) for row in inside],
    )


def _begin(row: Mapping[str, Any]) -> int:
    """Return where a row's snippet begins in the document."""
    return row["start"] - min(CONTEXT, row["start"])


def _stop(row: Mapping[str, Any]) -> int:
    """Return where a row's snippet ends in the document; before the full context only at the document's end."""
    return _begin(row) + len(row["snippet"])


def _reaches(row: Mapping[str, Any], span: Mapping[str, Any]) -> bool:
    """Whether a row's snippet holds a part of the span. (Its own match may be in the span beside.)"""
    return _begin(row) < span["end"] and span["start"] < _stop(row)


def _stitched(rows: Rows) -> tuple[str, int]:
    """Put snippets that overlap together; return the text and where it begins in the document."""
    offset, text = _begin(rows[0]), ""
    for row in rows:
        text += row["snippet"][offset + len(text) - _begin(row) :]
    return text, offset

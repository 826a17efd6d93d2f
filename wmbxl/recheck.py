"""Evidence recomputed: the corpus is opened again at every row, and the definition in `text` is applied by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pandas as pd

from wmbxl.audit import Audit
from wmbxl.batches import Account
from wmbxl.readers import read
from wmbxl.text import Normaliser, Token, xxh64
from wmbxl.types import ReadOptions, Shard

_Groups = Iterable[tuple[tuple[str, str], pd.DataFrame]]
_Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class Recheck:
    """The outcome of a recheck.

    Attributes
    ----------
    confirmed : int
        Rows that came out the same.
    unplaced : int
        Rows that can't be placed, since part of their shard was not read.
    failures : tuple of str
        A line for each row that differs.
    unread : tuple of str
        A line for each shard that could not be read as far as its rows.
    """

    confirmed: int
    unplaced: int
    failures: tuple[str, ...]
    unread: tuple[str, ...]


def recheck(
    audit: Audit,
    storage_options: Mapping[str, Mapping[str, Any]] | None = None,
    tell: Callable[[str, int], None] | None = None,
) -> Recheck:
    """Recompute every row of the evidence from the corpus.

    Parameters
    ----------
    audit : Audit
    storage_options : mapping, optional
        For fsspec, by corpus.
    tell : callable, optional
        Called with each shard and its number of rows before it is read.

    Returns
    -------
    Recheck
    """
    normaliser = Normaliser(audit.info["profile"])
    reading = {
        corpus["name"]: ReadOptions(
            corpus["text_field"], corpus["id_field"], corpus["join_lists"], corpus["max_zstd_window"],
            dict((storage_options or {}).get(corpus["name"], {})),
        )
        for corpus in audit.info["corpora"]
    }  # fmt: skip
    owned = _owned(audit)
    placed = audit.evidence[audit.evidence["row"].notna()]
    confirmed, failures, unread = 0, list[str](), list[str]()
    for (corpus, url), rows in cast(_Groups, placed.groupby(["corpus", "shard"], sort=True)):
        if tell:
            tell(url, len(rows))
        shard = Shard(corpus, url, options=reading[corpus])
        account = Account()
        outcome = list(_recheck_shard(shard, account, rows, normaliser, owned))
        failures.extend(line for line in outcome if line)
        confirmed += outcome.count(None)
        missing = len(rows) - len(outcome)
        if missing and account.fault:
            unread.append(f"{url}: {missing:,} row(s) can't be looked at: {account.fault}")
        elif missing:
            failures.append(f"{url}: {missing:,} row(s) are not there")
    return Recheck(confirmed, len(audit.evidence) - len(placed), tuple(failures), tuple(unread))


def _owned(audit: Audit) -> Callable[[str, str, str], bool]:
    """Return whether an n-gram is in a problem's surface."""
    index = audit.index
    surfaces: dict[tuple[str, str], str] = {}
    bounds, text = index.arrays["surface_bounds"], index.arrays["text"].tobytes().decode().split(" ")
    for i in range(len(bounds) - 1):
        problem, channel = divmod(i, len(index.channels))
        words = text[int(bounds[i]) : int(bounds[i + 1])]
        surfaces[index.problem_ids[problem], index.channels[channel]] = f" {' '.join(words)} "
    return lambda problem, channel, ngram: f" {ngram} " in surfaces[problem, channel]


def _recheck_shard(
    shard: Shard, account: Account, rows: pd.DataFrame, normaliser: Normaliser, owned: Callable[[str, str, str], bool]
) -> Iterator[str | None]:
    """Yield what differs, or None, for every row that is there."""
    wanted = {int(part["row"].iloc[0]): part for _, part in rows.groupby("row")}
    for batch in read(shard, account):
        for doc, row in enumerate(batch.rows.tolist()):
            if row in wanted:
                (document_id,), text = batch.ids([doc]), batch.text(doc)
                located = normaliser.locate(text)
                tokens = {token.start: i for i, token in enumerate(located)}
                for line in cast(_Lines, wanted.pop(row).to_dict("records")):
                    fault = _differs(line, document_id, text, located, tokens, owned)
                    where = f"{shard.url} row {row}, {line['problem_id']} n={line['n']} {line['channel']}"
                    yield f"{where} at {line['start']}: {fault}" if fault else None
        if not wanted:
            return


def _differs(
    line: Mapping[str, Any], document_id: str | None, text: str, tokens: list[Token], numbers: Mapping[int, int],
    owned: Callable[[str, str, str], bool],
) -> str | None:  # fmt: skip
    """Return what of an evidence row differs from what the document says, or None."""
    first = numbers.get(line["start"])
    found = tokens[first : first + line["n"]] if first is not None else []
    ngram = " ".join(token.text for token in found)
    if ngram != line["ngram"]:
        return f"expected {line['ngram']!r}, found {ngram!r}"
    if found[-1].end != line["end"]:
        return f"ends at {found[-1].end}, not {line['end']}"
    if xxh64(ngram) != line["xxh64"]:
        return f"xxh64 is {xxh64(ngram)}, not {line['xxh64']}"
    recorded = None if pd.isna(line["document_id"]) else line["document_id"]
    if recorded != document_id:
        return f"document id is {document_id}, not {recorded}"
    if line["snippet"] not in text:
        return "the snippet is not in the document"
    if not owned(line["problem_id"], line["channel"], ngram):
        return "the problem does not have this n-gram"
    return None

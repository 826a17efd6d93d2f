"""What an audit's numbers mean, in words for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wmbxl.records import GAPS, REPAIRED
from wmbxl.units import percent

SKIPPED = {
    "text_missing": "records without the text field",
    "text_null": "records with a null text",
    "text_empty": "records with an empty text",
    REPAIRED: "records with bytes that are not UTF-8, audited with U+FFFD in their place",
    **GAPS,
}


def status(info: Mapping[str, Any]) -> str:
    """Return a finished audit's status in plain words; the first one is ``Complete`` or ``Incomplete``.

    Parameters
    ----------
    info : mapping
        The content of ``audit.json``.
    """
    gaps = [corpus for corpus in info["corpora"] if corpus["unread_share"] > info["accept_unread"]]
    accepted = [corpus for corpus in info["corpora"] if corpus["unread_bytes"] and corpus not in gaps]
    if gaps and all(corpus["role"] != "release" for corpus in gaps):
        names = ", ".join(f"{corpus['name']} ({corpus['role']})" for corpus in gaps)
        return (
            f"Incomplete: part of {names} was not read. S0 and S1 are decided all the same: the corpora with the role "
            "release were read."
        )
    if gaps:
        return (
            "Incomplete: part of a corpus was not read, so problems without enough hits are neither in S0/S1 nor out "
            "of them. Mend the input and run the same command again, or accept the gap with --accept-unread."
        )
    if accepted:
        names = ", ".join(f"{corpus['name']} {percent(corpus['unread_share'], digits=2)}" for corpus in accepted)
        return (
            f"Complete, with an accepted gap (unread: {names}; accepted: {percent(info['accept_unread'], digits=2)})."
        )
    return "Complete: every byte of every corpus was read."


def bytes_read(corpus: Mapping[str, Any]) -> int:
    """Return how many bytes of a corpus were read; of a file that has none but should, one counts as unread."""
    return max(0, corpus["file_bytes"] - corpus["unread_bytes"])


def doubts(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for every corpus without a document, or with pieces in which no record has the text field."""
    for corpus in info["corpora"]:
        if not corpus["documents"]:
            yield (
                f"no document was read from {corpus['name']}, so nothing is known of it. Is it the right path, and was "
                "everything downloaded?"
            )
        if corpus["pieces_without_field"]:
            yield (
                f"in {corpus['pieces_without_field']:,} piece(s) of {corpus['name']} no record has the field "
                f"{corpus['text_field']!r}, so they hold nothing to audit (the ledger names them). If their text has "
                "another name, give them a corpus of their own with that field."
            )

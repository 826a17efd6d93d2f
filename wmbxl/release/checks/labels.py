"""Do the labels follow from the counts, and are they the same everywhere?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wmbxl.metadata import S1_DOCUMENTS
from wmbxl.release import layout
from wmbxl.release.opened import Issue, Tables
from wmbxl.release.rows import Row
from wmbxl.text import Normaliser, ngrams

_CELLS = {None: "", True: "True", False: "False"}  # as a table has them
_COPIED = ("hits_total", "docs_total", "in_S0", "in_S1")


def wrong_labels(tables: Tables) -> Iterator[Issue]:
    """Yield labels and counts that break a rule or differ between tables."""
    for path, row in tables.placed(tables.flags_path):
        yield from _against_the_rule(path, row, tables.released.run.status)
    for path, row in tables.placed(layout.METADATA):
        yield from _differing(tables, path, row, row.value)
    for path, row in tables.placed(*layout.PROBLEMS):
        yield from _differing(tables, path, row, row.value["contamination"])
    column = layout.membership(tables.released.run.n)
    for path, row in tables.placed(layout.MEMBERSHIP):
        flags = tables.flags.get(row.value["problem_id"])
        if flags and row.value[column] != flags["in_S0"]:
            yield _differs(tables, path, row, column, flags["in_S0"], row.value[column])
    yield from _wrong_matches(tables)


def _against_the_rule(path: str, row: Row, status: str) -> Iterator[Issue]:
    documents = int(row.value["docs_total"])
    for label, most in (("in_S0", 0), ("in_S1", S1_DOCUMENTS)):
        allowed = [str(documents <= most)]
        if status == "incomplete" and documents <= most:  # more may be found in what was not read
            allowed.append("")
        if row.value[label] not in allowed:
            message = f"{label} of {row.value['problem_id']!r} with docs_total = {documents}: expected"
            found = row.value[label]
            yield Issue("labels", path, f"{message} {' or '.join(map(repr, allowed))}, found {found!r}", row.line)


def _differing(tables: Tables, path: str, row: Row, labels: dict[str, Any]) -> Iterator[Issue]:
    flags = tables.flags.get(row.value["problem_id"])
    for name in _COPIED if flags else ():
        value = labels[name]
        cell = _CELLS[value] if value is None or isinstance(value, bool) else str(value)
        if flags and cell != flags[name]:
            yield _differs(tables, path, row, name, flags[name], cell)


def _differs(tables: Tables, path: str, row: Row, name: str, expected: str, found: str) -> Issue:
    message = f"{name} of {row.value['problem_id']!r}: expected {expected!r} as in {tables.flags_path}, found {found!r}"
    return Issue("labels", path, message, row.line)


def _wrong_matches(tables: Tables) -> Iterator[Issue]:
    """Yield matched n-grams that are no windows of the problem's own text, or are told of what is withheld."""
    normaliser, n = Normaliser(tables.released.run.profile), tables.released.run.n
    told = [(path, row, row.value["contamination"][layout.MATCHED]) for path, row in tables.placed(*layout.PROBLEMS)]
    for path, row in tables.placed(layout.METADATA):
        name = row.value["problem_id"]
        if (layout.MATCHED in row.value) != (name in tables.records):
            state = "there, though it is withheld" if layout.MATCHED in row.value else "absent, though it is released"
            yield Issue("labels", path, f"{layout.MATCHED} of {name!r} is {state}", row.line)
        told.append((path, row, row.value.get(layout.MATCHED, [])))
    for path, row, found in told:
        record = tables.records.get(row.value["problem_id"])
        own = set(ngrams(normaliser.tokens(record["text"]), n)) if record else set()
        odd = [ngram for ngram in found if ngram not in own]
        if record and odd:
            message = f"{len(odd)} of {layout.MATCHED} of {row.value['problem_id']!r} are no {n}-grams of its text"
            yield Issue("labels", path, message, row.line)

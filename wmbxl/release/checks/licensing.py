"""Do the licences of the source papers allow what is released, and under what it is released?"""

from __future__ import annotations

from collections.abc import Iterator

from wmbxl.release import layout
from wmbxl.release.licences import RECORD_LICENCES, licence_class, record_licence
from wmbxl.release.opened import Issue, Tables
from wmbxl.release.rows import Row


def wrong_licences(tables: Tables) -> Iterator[Issue]:
    """Yield papers whose licence is misnamed, and records that are released or withheld against it."""
    for path, row in tables.placed(layout.PAPERS):
        expected, found = licence_class(row.value["source_license"]), row.value["license_class"]
        if found != expected:
            message = f"license_class of {row.value['paper_id']!r}: expected {expected!r}, found {found!r}"
            yield Issue("licences", path, message, row.line)
    for licence in RECORD_LICENCES:
        for path, row in tables.placed(licence.path):
            yield from _differing_paper(tables, path, row, "source_license_class")
            yield from _not_allowed(tables, path, row, licence.spdx)
    for path, row in tables.placed(layout.MANIFEST):
        yield from _differing_paper(tables, path, row, "license_class")
        if allowed := record_licence(licence_class(row.value["source_license"])):
            message = f"problem {row.value['problem_id']!r} is withheld, but its paper allows {allowed.spdx}"
            yield Issue("licences", path, message, row.line)


def _differing_paper(tables: Tables, path: str, row: Row, column: str) -> Iterator[Issue]:
    paper = tables.papers.get(row.value["paper_id"])
    for name, key in ((column, "license_class"), ("source_license", "source_license")) if paper else ():
        found = row.value[name] or ""
        if paper and found != paper[key]:
            message = f"{name} of {row.value['problem_id']!r}: expected {paper[key]!r} as in {layout.PAPERS}"
            yield Issue("licences", path, f"{message}, found {found!r}", row.line)


def _not_allowed(tables: Tables, path: str, row: Row, of_file: str) -> Iterator[Issue]:
    """Decide again from the paper's licence, not from what the record says of it."""
    name, paper = row.value["problem_id"], tables.papers.get(row.value["paper_id"], row.value)
    kind = licence_class(paper["source_license"])
    allowed = record_licence(kind)
    if allowed is None:
        message = f"problem {name!r}: the licence of its paper ({kind}) doesn't allow to release it"
        yield Issue("licences", path, message, row.line)
    elif not row.value["record_license"] == allowed.spdx == of_file:
        message = f"problem {name!r} of a paper under {kind}: expected {allowed.spdx}"
        found = f"{row.value['record_license']} in the file of {of_file}"
        yield Issue("licences", path, f"{message}, found {found}", row.line)

"""Do the documents say what the tables say? They are made again from the tables, and compared line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from wmbxl.release import layout
from wmbxl.release.documents import documents
from wmbxl.release.opened import Issue
from wmbxl.release.rows import Files
from wmbxl.release.settings import Released

_SHOWN = 5  # places of a document


def differing_pages(files: Files, released: Released) -> Iterator[Issue]:
    """Yield lines of the documents that differ from what the tables say."""
    expected = documents(files, released)
    for path in layout.PAGES:
        issues = list(_differing(path, expected[path].decode(), files[path].decode(errors="replace")))
        yield from issues[:_SHOWN]
        if len(issues) > _SHOWN:
            yield Issue("documents", path, f"{len(issues) - _SHOWN} more places differ from the tables")


def _differing(path: str, expected: str, found: str) -> Iterator[Issue]:
    wanted, there = expected.splitlines(), found.splitlines()
    for kind, first, last, start, stop in difflib.SequenceMatcher(None, wanted, there, autojunk=False).get_opcodes():
        if kind != "equal":
            says, has = (" / ".join(part) or "nothing" for part in (wanted[first:last], there[start:stop]))
            yield Issue("documents", path, f"the tables say {says!r}, found {has!r}", start + 1)

"""Is every problem in every table that should have it, and is the same said of it everywhere?"""

from __future__ import annotations

from collections.abc import Iterator

from wmbxl.release import layout
from wmbxl.release.opened import Issue, Tables
from wmbxl.release.rows import Row


def broken_joins(tables: Tables) -> Iterator[Issue]:
    """Yield ids that are absent, repeated or unknown, and descriptions that differ."""
    every, source = set(tables.flags), tables.flags_path
    for path in (source, layout.METADATA, tables.split_path):
        yield from differing_ids(path, tables.placed(path), every, source)
    yield from differing_ids(layout.MANIFEST, tables.placed(*layout.PROBLEMS, layout.MANIFEST), every, source)
    tests = f"the test split in {source}"
    yield from differing_ids(layout.MEMBERSHIP, tables.placed(layout.MEMBERSHIP), tables.tests, tests)
    shown = [(layout.PUBLIC_IDS, Row(0, {"problem_id": name})) for name in tables.public]
    released_tests = tables.tests & set(tables.records)
    yield from differing_ids(layout.PUBLIC_IDS, shown, released_tests, "the released test problems")
    used = {row["paper_id"] for row in tables.flags.values()}
    papers = tables.placed(layout.PAPERS)
    yield from differing_ids(layout.PAPERS, papers, used, f"the papers in {source}", "paper_id")
    yield from _differing_release(tables)
    yield from _differing_descriptions(tables)


def differing_ids(
    where: str, rows: list[tuple[str, Row]], expected: set[str], source: str, key: str = "problem_id"
) -> Iterator[Issue]:
    """Yield ids of some rows that are absent, repeated, or not expected.

    Parameters
    ----------
    where : str
        The file that an absent id should be in.
    rows : list of (str, Row)
        With the file of each.
    expected : set of str
    source : str
        What says so, for messages.
    key : str
        The column that holds the id.
    """
    seen = set[str]()
    for path, row in rows:
        name = row.value[key]
        if name not in expected:
            yield Issue("joins", path, f"{key} {name!r} is not in {source}", row.line or None)
        elif name in seen:
            yield Issue("joins", path, f"{key} {name!r} is further up too", row.line or None)
        seen.add(name)
    for name in sorted(expected - seen):
        yield Issue("joins", where, f"{key} {name!r} is absent, but it is in {source}")


def _differing_release(tables: Tables) -> Iterator[Issue]:
    for path, row in tables.placed(tables.flags_path):
        name, released = row.value["problem_id"], row.value["released"]
        if (released == "True") != (name in tables.records):
            there = "is" if name in tables.records else "is not"
            message = f"problem {name!r}: released is {released}, but its record {there} in a file of problems"
            yield Issue("joins", path, message, row.line)


def _differing_descriptions(tables: Tables) -> Iterator[Issue]:
    """Yield problems of which a table names another paper, format or split than the table of flags."""
    for path, row in tables.placed(*layout.PROBLEMS, layout.MANIFEST, tables.split_path, layout.DISJOINT):
        flags = tables.flags.get(row.value["problem_id"])
        for name in ("paper_id", "type", "split") if flags else ():
            column = "original_split" if path == tables.split_path and name == "split" else name
            if flags and column in row.value and row.value[column] != flags[name]:
                message = f"{column} of {row.value['problem_id']!r}: expected {flags[name]!r} as in {tables.flags_path}"
                yield Issue("joins", path, f"{message}, found {row.value[column]!r}", row.line)

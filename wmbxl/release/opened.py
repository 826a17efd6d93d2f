"""A release folder, opened to be checked; what is wrong with it, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from wmbxl.errors import NothingMatches
from wmbxl.release import layout
from wmbxl.release.rows import BadRow, Files, Row, read_rows
from wmbxl.release.settings import Released
from wmbxl.settings import Section, say_issue

Rows = Mapping[str, list[Row]]

_PUBLIC_IDS = TypeAdapter(list[str])


@dataclass(frozen=True)
class Issue:
    """Something that is wrong with a release.

    Attributes
    ----------
    check : str
        The check that found it.
    file : str
        Path in the release.
    message : str
        What was expected, and what was found.
    row : int or None
        Line of the file, from 1, if it is about one.
    """

    check: str
    file: str
    message: str
    row: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}, line {self.row}" if self.row else self.file
        return f"[{self.check}] {place}: {self.message}"


@dataclass(frozen=True)
class Opened:
    """The content of a release folder.

    Attributes
    ----------
    folder : pathlib.Path
    files : mapping of str to bytes
        By path in the folder.
    tables : Tables or None
        None if some can't be read, or don't have the columns that they should have.
    issues : tuple of Issue
        Why they can't.
    hidden : mapping of str to bytes
        Files with a dot before their name or a folder's: no part of the release, but where they stand a secret or a
        withheld text may leave with it.
    skipped : tuple of str
        Files of git and of caches, which are not looked at.
    """

    folder: Path
    files: Files
    tables: Tables | None
    issues: tuple[Issue, ...]
    hidden: Files
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Tables:
    """The tables of a release, side by side. The table of flags has a row for every problem.

    Attributes
    ----------
    released : Released
        What ``release.json`` says.
    rows : mapping of str to list of Row
        By path.
    public : list of str
        Ids of the public test subset.
    """

    released: Released
    rows: Rows
    public: list[str]

    @property
    def flags_path(self) -> str:
        """The table of flags."""
        return layout.flags_path(self.released.about.version)

    @property
    def split_path(self) -> str:
        """The split by source paper."""
        return layout.split_path(self.released.run.paper_split.seed)

    @cached_property
    def flags(self) -> dict[str, dict[str, Any]]:
        """The rows of the table of flags, by problem."""
        return {row.value["problem_id"]: row.value for row in self.rows[self.flags_path]}

    @cached_property
    def papers(self) -> dict[str, dict[str, Any]]:
        """The rows of the table of source papers, by paper."""
        return {row.value["paper_id"]: row.value for row in self.rows[layout.PAPERS]}

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """The released records, by problem."""
        return {row.value["problem_id"]: row.value for _, row in self.placed(*layout.PROBLEMS)}

    @property
    def tests(self) -> set[str]:
        """Ids of the test split."""
        return {name for name, row in self.flags.items() if row["split"] == "test"}

    def placed(self, *paths: str) -> list[tuple[str, Row]]:
        """Return the rows of some files, each with its file; one that is not there has none."""
        return [(path, row) for path in paths for row in self.rows.get(path, ())]


_SKIPPED = (".git", ".cache")


def open_release(folder: str) -> Opened:
    """Read a release folder.

    Raises
    ------
    NothingMatches
        There is no such folder, or nothing in it.
    """
    root = Path(folder)
    names = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file()]
    skipped = tuple(name.as_posix() for name in names if name.parts[0] in _SKIPPED)
    files: dict[str, bytes] = {}
    hidden: dict[str, bytes] = {}
    for name in names:
        if name.parts[0] not in _SKIPPED:
            kind = hidden if any(part.startswith(".") for part in name.parts) else files
            kind[name.as_posix()] = (root / name).read_bytes()
    if not files:
        raise NothingMatches(f"{folder}: no files in this folder: give the one that wmbxl release build wrote")
    issues: list[Issue] = []
    rows = _rows(files, issues)
    released = _parsed(files, layout.RELEASE, Released.model_validate_json, issues)
    public = _parsed(files, layout.PUBLIC_IDS, _PUBLIC_IDS.validate_json, issues)
    if released:
        issues += _about_tables(files, rows, released)
    tables = None if issues else Tables(released, rows, public)
    return Opened(root, files, tables, (*_unread(root), *issues), hidden, skipped)


def _unread(root: Path) -> Iterator[Issue]:
    """Yield what is neither a file nor a folder; a link to a file is read like the file."""
    for path in sorted(root.rglob("*")):
        if not path.is_file() and (path.is_symlink() or not path.is_dir()):
            message = "not looked into, since it is a link or a device: put what it leads to here, or delete it"
            yield Issue("files", path.relative_to(root).as_posix(), message)


def _rows(files: Files, issues: list[Issue]) -> Rows:
    rows = {}
    for path, content in files.items():
        if path.endswith((".csv", ".jsonl")):
            try:
                rows[path] = read_rows(path, content)
            except BadRow as error:
                issues.append(Issue("rows", path, str(error), error.line))
    return rows


def _parsed(files: Files, path: str, parse: Any, issues: list[Issue]) -> Any:
    if path not in files:
        issues.append(Issue("files", path, "not there: build the release again"))
        return None
    try:
        return parse(files[path])
    except ValidationError as error:
        issues += [Issue("rows", path, say_issue(issue, Released.model_fields)) for issue in error.errors()]
    return None


def _about_tables(files: Files, rows: Rows, released: Released) -> Iterator[Issue]:
    known = layout.tables(released.about.version, released.run.paper_split.seed)
    for path in (*layout.PAGES, layout.CROISSANT, layout.SUMS, layout.MEMBERSHIP, *known):
        if path not in files:
            yield Issue("files", path, "not there: build the release again")
    for path in rows:
        model = layout.Record if path in layout.RECORDS else known.get(path)
        for row in rows[path] if model else ():
            yield from _about_row(path, row, model)  # type: ignore[arg-type]
    yield from _about_membership(rows.get(layout.MEMBERSHIP, []), released.run.ns)


def _about_row(path: str, row: Row, model: type[Section]) -> Iterator[Issue]:
    try:
        model.model_validate(row.value, strict=path.endswith(".jsonl"))  # CSV has no types
    except ValidationError as error:
        yield from (Issue("rows", path, say_issue(issue, model.model_fields), row.line) for issue in error.errors())


def _about_membership(rows: list[Row], ns: list[int]) -> Iterator[Issue]:
    expected = ["problem_id", *(layout.membership(n) for n in sorted(ns))]
    if rows and list(rows[0].value) != expected:
        message = f"expected the columns {', '.join(expected)}; found {', '.join(rows[0].value)}"
        yield Issue("rows", layout.MEMBERSHIP, message, 1)

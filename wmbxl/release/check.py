"""Check a release: everything that is wrong with it, at once, each with its file and row."""

from __future__ import annotations

from dataclasses import dataclass

from wmbxl.__about__ import __version__
from wmbxl.release import layout
from wmbxl.release.checks.checksums import differing_checksums
from wmbxl.release.checks.described import differing_statements, read_description
from wmbxl.release.checks.joins import broken_joins
from wmbxl.release.checks.labels import wrong_labels
from wmbxl.release.checks.leaks import find_leaks
from wmbxl.release.checks.licensing import wrong_licences
from wmbxl.release.checks.pages import differing_pages
from wmbxl.release.checks.private import find_private
from wmbxl.release.checks.results import wrong_results
from wmbxl.release.checks.subsets import wrong_splits, wrong_views
from wmbxl.release.opened import Issue, Opened, Tables, open_release
from wmbxl.release.sources import read_problems

_OF_TABLES = (broken_joins, wrong_labels, wrong_licences, wrong_views, wrong_splits, wrong_results)


@dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes
    ----------
    issues : tuple of Issue
        Everything that is wrong.
    not_run : tuple of str
        Checks that could not be made, and why.
    remarks : tuple of str
        What was looked at.
    """

    issues: tuple[Issue, ...]
    not_run: tuple[str, ...]
    remarks: tuple[str, ...]


def check(folder: str, benchmark: str | None = None) -> Report:
    """Check a release folder.

    Parameters
    ----------
    folder : str
        A local folder.
    benchmark : str, optional
        The records that the release was built from, withheld ones included. Without it nobody can look for leaks.

    Raises
    ------
    UsageError
        There is no release, or the benchmark is another one.
    """
    opened = open_release(folder)
    found = _Findings([*opened.issues, *differing_checksums(opened.files), *find_private(opened.files)])
    found.remarks.append(f"{len(opened.files)} files")
    if opened.tables is None:
        found.not_run.append("joins, documents, Croissant and leaks: some tables can't be read; mend them first")
    else:
        _check_content(opened, opened.tables, found)
        _check_leaks(opened, opened.tables, benchmark, found)
    return Report(tuple(found.issues), tuple(found.not_run), tuple(found.remarks))


class _Findings:
    def __init__(self, issues: list[Issue]) -> None:
        self.issues, self.not_run, self.remarks = issues, list[str](), list[str]()


def _check_content(opened: Opened, tables: Tables, found: _Findings) -> None:
    for look in _OF_TABLES:
        found.issues += look(tables)
    described = read_description(opened, tables)
    found.issues += described.issues
    found.remarks.append(f"{described.records} records read by mlcroissant")
    built_by = tables.released.built_by
    if built_by == __version__:
        found.issues += differing_pages(opened.files, tables.released)
        found.issues += differing_statements(opened.files, tables.released, described)
    else:
        found.not_run.append(
            f"documents: built by wmbxl {built_by}, this is {__version__}: pip install wmbxl=={built_by}"
        )


def _check_leaks(opened: Opened, tables: Tables, benchmark: str | None, found: _Findings) -> None:
    withheld = {row.value["problem_id"] for _, row in tables.placed(layout.MANIFEST)}
    if not withheld:
        found.remarks.append("no problem is withheld, so nothing can leak")
    elif benchmark is None:
        found.not_run.append(
            "leaks: the withheld texts are not in the release: give the benchmark with --benchmark FILE"
        )
    else:
        leaks, looked_for = find_leaks(opened.files, withheld, read_problems(benchmark)[0])
        found.issues += leaks
        found.remarks.append(looked_for)

"""Check a release: everything that is wrong with it, at once, each with its file and row."""

from __future__ import annotations

from dataclasses import dataclass, field

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
from wmbxl.release.rows import Files
from wmbxl.release.sources import read_problems

_OF_TABLES = (broken_joins, wrong_labels, wrong_licences, wrong_views, wrong_splits, wrong_results)


@dataclass
class Report:
    """What a check found.

    Attributes
    ----------
    issues : list of Issue
        Everything that is wrong.
    not_run : list of str
        Checks that could not be made, and why.
    remarks : list of str
        What was looked at.
    """

    issues: list[Issue] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


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
        There is no release, or the benchmark can't be read.
    """
    opened = open_release(folder)
    everything = {**opened.files, **opened.hidden}
    report = Report([*opened.issues, *differing_checksums(opened.files), *find_private(everything)])
    report.remarks.append(f"{len(opened.files)} files")
    if opened.hidden:
        some = next(iter(opened.hidden))
        report.remarks.append(f"{len(opened.hidden)} hidden file(s) were looked at for secrets and leaks only: {some}")
    if opened.skipped:
        report.remarks.append(
            f"{len(opened.skipped)} file(s) of git or a cache were not looked at: {opened.skipped[0]}"
        )
    if opened.tables is None:
        report.not_run.append("joins, documents, Croissant and leaks: some tables can't be read; mend them first")
    else:
        _check_content(opened, opened.tables, report)
        _check_leaks(everything, opened.tables, benchmark, report)
    return report


def _check_content(opened: Opened, tables: Tables, report: Report) -> None:
    for look in _OF_TABLES:
        report.issues += look(tables)
    described = read_description(opened, tables)
    report.issues += described.issues
    report.remarks.append(f"{described.records} records read by mlcroissant")
    built_by = tables.released.built_by
    if built_by == __version__:
        report.issues += differing_pages(opened.files, tables.released)
        report.issues += differing_statements(opened.files, tables.released, described)
    else:
        advice = f"pip install wmbxl=={built_by}"
        report.not_run.append(f"documents: built by wmbxl {built_by}, checked by {__version__}: {advice}")


def _check_leaks(files: Files, tables: Tables, benchmark: str | None, report: Report) -> None:
    withheld = {row.value["problem_id"] for _, row in tables.placed(layout.MANIFEST)}
    if not withheld:
        report.remarks.append("no problem is withheld, so nothing can leak")
    elif benchmark is None:
        report.not_run.append("leaks: the release has no withheld texts: give the benchmark with --benchmark FILE")
    else:
        leaks, looked_for = find_leaks(files, withheld, read_problems(benchmark)[0])
        report.issues += leaks
        report.remarks.append(looked_for)

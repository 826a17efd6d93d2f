"""The verbs of a release: build it, check it."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from wmbxl.release.build import build as build_release
from wmbxl.release.check import Report
from wmbxl.release.check import check as check_release
from wmbxl.release.settings import validate
from wmbxl.settings import read_yaml

_LISTED = 100  # issues on a screen


@click.group()
def release() -> None:
    """Build a release of a benchmark with its audit, or check one."""


@release.command()
@click.argument("settings", metavar="FILE.yaml")
@click.option("--out", metavar="DIR", help="Folder to write into.  [default: out in the file]")
def build(settings: str, out: str | None) -> None:
    """Build a release: data, documents, Croissant description, checksums."""
    content = read_yaml(settings)
    config = validate({**content, "out": out} if out else content, settings)
    built = build_release(config)
    facts = built.facts
    for line in built.remarks:
        click.echo(f"Note: {line}", err=True)
    if built.unanswered:
        click.echo(f"Note: {len(built.unanswered)} questions have no answer: {', '.join(built.unanswered)}", err=True)
    click.echo(
        f"{facts.problems} problems: {facts.released} released, {facts.withheld} withheld; "
        f"{facts.public} of {facts.test} test problems are public"
    )
    for file in facts.record_files:
        click.echo(f"  {file.path}: {file.rows} under {file.licence}")
    click.echo(f"Check it:  wmbxl release check {config.out} --benchmark {config.benchmark}")


@release.command()
@click.argument("directory", metavar="DIR")
@click.option("--benchmark", metavar="FILE", help="Records with the withheld texts; without them no leak can be found.")
def check(directory: str, benchmark: str | None) -> None:
    """Check a release: checksums, joins, licences, documents, Croissant, leaks, secrets.

    Exit status 1 if something is wrong, 3 if a check could not be made.
    """
    report = check_release(directory, benchmark)
    _show(report)
    sys.exit(1 if report.issues else 3 if report.not_run else 0)


def _show(report: Report) -> None:
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for remark in report.remarks:
        console.print(remark)
    for check_name in report.not_run:
        console.print(f"Not checked: {check_name}")
    if report.issues:
        console.print(f"Found {len(report.issues)} problem(s):")
        for issue in report.issues[:_LISTED]:
            console.print(f"  -  {issue}")
        if len(report.issues) > _LISTED:
            console.print(f"  … and {len(report.issues) - _LISTED} more")
    else:
        console.print("Nothing wrong was found." if report.not_run else "All checks passed.")

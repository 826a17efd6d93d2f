"""The verb that builds a benchmark from papers: build."""

from __future__ import annotations

from datetime import datetime

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from wmbxl.cli.display import console, progress_console, say
from wmbxl.construct.build import Build
from wmbxl.construct.build import build as run_build
from wmbxl.construct.config import read_config
from wmbxl.construct.funnel import stages

LINE_EVERY = 0.1  # of the papers, where there is no terminal


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False))
@click.option("--out", metavar="DIR", help="Folder of the build, local.  [default: out in CONFIG]")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Add the papers submitted since, as a new version.",
)
@click.option("--replay", is_flag=True, help="Ask no model: take every answer from the record of calls.")
@click.option("--workers", type=int, metavar="N", help="Processes of a local cluster.  [default: one for each core]")
@click.option("--scheduler", metavar="ADDRESS", help="Use a running Dask scheduler instead.")
def build(
    config: str, out: str | None, since: datetime | None, replay: bool, workers: int | None, scheduler: str | None
) -> None:
    """Build a benchmark from papers' LaTeX sources, by the settings in the YAML file CONFIG.

    The same command resumes a build that was stopped.
    """
    settings = read_config(config, out=out, workers=workers, scheduler=scheduler)
    with _Following() as following:
        built = run_build(settings, since.date() if since else None, replay, told=following.tell)
    show_build(built)


class _Following:
    """Shows how many papers are done: a bar on a terminal, a line now and then in a pipe."""

    def __init__(self) -> None:
        columns = (TextColumn("papers"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=progress_console, transient=True)
        self._task = self._bar.add_task("papers", total=None)
        self._said = 0.0

    def __enter__(self) -> _Following:
        if progress_console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def tell(self, done: int, papers: int) -> None:
        """Show it."""
        self._bar.update(self._task, completed=done, total=papers)
        if not progress_console.is_terminal and (done == papers or done / papers >= self._said + LINE_EVERY):
            self._said = done / papers
            say(f"{done:,} of {papers:,} papers")


def show_build(built: Build) -> None:
    """Print the funnel, and where to go on."""
    table = Table()
    for name in ("stage", "entered", "left", "why the others fell"):
        table.add_column(name, justify="right" if name in ("entered", "left") else "left")
    for stage in stages(built.funnel):
        why = ", ".join(f"{reason} {count:,}" for reason, count in stage.dropped.items())
        table.add_row(f"{stage.name} ({stage.unit})", f"{stage.entered:,}", f"{stage.left:,}", why)
    console.print(table)
    waiting = built.info["candidates"] - built.info["problems"]
    console.print(f"{built.info['problems']:,} problems in {built.folder.url}/problems.jsonl", highlight=False)
    if waiting:
        out = built.folder.url.rpartition("/")[0]
        console.print(
            f"{waiting:,} more in candidates.jsonl wait for an expert, or were turned down by one:  wmbxl screen {out}",
            highlight=False,
        )

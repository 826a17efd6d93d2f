"""The verb that opens the experts' screening page."""

from __future__ import annotations

from pathlib import Path

import click

from wmbxl.construct.screening.judgements import Screening
from wmbxl.construct.screening.server import export, serve


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes any free one.")
@click.option("--export", "file", metavar="FILE", help="Write all judgements as JSON lines, and serve no page.")
def screen(directory: str, port: int, file: str | None) -> None:
    """Screen the problems that wmbxl build left in DIR, on a page of this machine.

    Each expert gives a name, then a level from 1 to 5 and a decision for each problem, by keyboard. Judgements are kept
    in DIR/screening, a file for each expert. Ctrl-C ends it.
    """
    screening = Screening(directory)
    if file is not None:
        Path(file).write_text(export(screening), encoding="utf-8")
        return
    serve(screening, port, lambda address: click.echo(f"{len(screening.problems):,} problems at {address}"))

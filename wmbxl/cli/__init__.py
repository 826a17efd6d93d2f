"""The command line: each verb parses, calls one function, prints."""

from __future__ import annotations

import sys
from typing import Any

import click

from wmbxl.__about__ import __version__
from wmbxl.cli import auditing, statistics
from wmbxl.errors import UsageError, WmbxlError


class _Group(click.Group):
    """Shows wmbxl's own errors without a traceback: exit status 2 for wrong usage, 1 for the rest."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WmbxlError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(2 if isinstance(error, UsageError) else 1)


@click.group(cls=_Group)
@click.version_option(__version__)
def main() -> None:
    """Has this benchmark leaked into that corpus, and does it matter?"""


for verb in (
    auditing.audit,
    auditing.status,
    auditing.export,
    auditing.recheck,
    auditing.demo,
    statistics.views_command,
    statistics.bootstrap_command,
):
    main.add_command(verb)

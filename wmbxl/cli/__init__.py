"""The command line: each verb parses, calls one function, prints."""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from typing import Any

import click

from wmbxl.__about__ import __version__
from wmbxl.errors import Interrupted, UsageError, WmbxlError

_VERBS = {
    "audit": "auditing",
    "plan": "auditing",
    "status": "auditing",
    "report": "reporting",
    "export": "auditing",
    "recheck": "auditing",
    "demo": "auditing",
    "views": "statistics",
    "bootstrap": "statistics",
    "corpora": "statistics",
    "build": "building",
    "screen": "screening",
    "evaluate": "evaluating",
    "import": "judging",
    "judge": "judging",
    "judges": "judging",
    "release": "releasing",
    "train": "training",
}


class _Group(click.Group):
    """Imports a verb when it is asked for, since statistics take a while to import.

    Shows wmbxl's own errors without a traceback: exit status 2 for wrong usage, 1 for the rest.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        verbs = vars(import_module(f"wmbxl.cli.{_VERBS[cmd_name]}")).values()
        return next(verb for verb in verbs if isinstance(verb, click.Command) and verb.name == cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WmbxlError as error:
            click.echo(f"Error: {error}", err=True)
            if isinstance(error, Interrupted):
                click.echo(f"Resume it:  {shlex.join(['wmbxl', *sys.argv[1:]])}", err=True)
            sys.exit(2 if isinstance(error, UsageError) else 1)
        except (Exception, KeyboardInterrupt) as error:
            if not _stopped(error):
                raise
            click.echo("Stopped. What is done is kept: run the same command again to go on.", err=True)
            sys.exit(130)


def _stopped(error: BaseException | None) -> bool:
    """Whether Ctrl-C led to an error; in a cluster that is just starting, it leads to others."""
    while error and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


@click.group(cls=_Group)
@click.version_option(__version__)
def main() -> None:
    """Has this benchmark leaked into that corpus, and does it matter?"""

"""The command line."""

from __future__ import annotations

from typing import Any

import click

from wmbxl.cli.statistics import bootstrap_command, views_command
from wmbxl.errors import UsageError


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            raise click.UsageError(str(error)) from error


@click.group(cls=_Group)
def main() -> None:
    """Audit benchmarks against pretraining corpora."""


main.add_command(views_command)
main.add_command(bootstrap_command)

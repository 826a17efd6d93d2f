"""The run folder that a verb is about, and the settings by which its store is reached."""

from __future__ import annotations

from collections.abc import Callable

import click

config_option = click.option(
    "--config", metavar="YAML", type=click.Path(exists=True, dir_okay=False),
    help="The audit's YAML file, for its storage_options.  [default: what the environment holds]",
)  # fmt: skip


def about_a_run(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the folder of an audit, and the file of settings that the audit was run with."""
    return click.argument("directory", metavar="DIR")(config_option(verb))

"""What MkDocs runs while it builds: it puts the command line's help into the page that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

PLACEHOLDER = "<!-- help of every command -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the commands' help in the place of the placeholder."""
    return markdown.replace(PLACEHOLDER, cli_reference()) if PLACEHOLDER in markdown else markdown


def cli_reference() -> str:
    """Return the help of every command as Markdown."""
    from wmbxl.cli import main

    return "\n\n".join(_sections(main, "wmbxl"))


def _sections(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[str]:
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent, terminal_width=100)
    yield f"## `{name}`\n\n```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            found = command.get_command(context, verb)
            if found is not None:
                yield from _sections(found, f"{name} {verb}", context)

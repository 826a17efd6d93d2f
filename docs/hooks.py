"""What MkDocs runs while it builds: the command line's help, and a nav without pages that are not there yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

# Pages that other parts of the project bring; they stay in the nav of mkdocs.yml and are left out until they exist.
EXPECTED = ("how-to/views.md", "how-to/bootstrap.md", "explanation/statistics.md")
PLACEHOLDER = "<!-- help of every command -->"


def on_config(config: Any) -> Any:
    """Leave expected pages out of the nav as long as their files do not exist."""
    absent = {page for page in EXPECTED if not (Path(config["docs_dir"]) / page).exists()}
    config["nav"] = _without(config["nav"], absent)
    return config


def _without(item: Any, absent: set[str]) -> Any:
    if isinstance(item, list):
        return [_without(part, absent) for part in item if not _is_absent(part, absent)]
    if isinstance(item, dict):
        return {title: _without(part, absent) for title, part in item.items()}
    return item


def _is_absent(item: Any, absent: set[str]) -> bool:
    targets = item.values() if isinstance(item, dict) else [item]
    return all(isinstance(target, str) and target in absent for target in targets)


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

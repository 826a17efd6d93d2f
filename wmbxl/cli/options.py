"""Ways to read options that several verbs have."""

from __future__ import annotations

from collections.abc import Sequence

import click


def named(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Take the values of an option given as NAME=VALUE any number of times."""
    pairs = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not (name and equals and rest):
            raise click.BadParameter(f"expected NAME=VALUE, found {value!r}.", context, parameter)
        pairs[name] = rest
    return pairs

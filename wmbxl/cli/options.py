"""Options put together, and ways to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from wmbxl.stats.resample import Bootstrap
from wmbxl.tables import FORMATS

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def options(*decorators: Decorator) -> Decorator:
    """Put several options together, to be listed in this order."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        """Give a command these options."""
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def named(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Take the values of an option given as NAME=VALUE any number of times."""
    pairs = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not (name and equals and rest):
            raise click.BadParameter(f"expected NAME=VALUE, found {value!r}.", context, parameter)
        pairs[name] = rest
    return pairs


TABLE_FORMATS = click.option(
    "--format", "formats", multiple=True, type=click.Choice(FORMATS), default=["csv"], show_default=True,
    help="Format of the tables; may be given more than once.",
)  # fmt: skip
BOOTSTRAP = options(
    click.option("-B", "replicates", type=int, default=10_000, show_default=True, help="Number of resamples."),
    click.option("--seed", type=int, default=0, show_default=True),
    click.option("--rng", type=click.Choice(["philox", "release"]), default="philox", show_default=True,
                 help="release: the draws of the WirelessMathBench-XL authors."),
    click.option("--interval", "method", type=click.Choice(["percentile", "basic", "bca"]), default="percentile",
                 show_default=True),
    click.option("--level", type=float, default=0.95, show_default=True, help="Coverage asked for."),
)  # fmt: skip


def bootstrap_of(given: Mapping[str, Any]) -> Bootstrap:
    """Return the protocol that `BOOTSTRAP` sets."""
    return Bootstrap(**{name: given[name] for name in ("replicates", "seed", "rng", "method", "level")})

"""Packages that only some parts need: imported late, and named if missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wmbxl.errors import UsageError


def needs(module: str, *, extra: str, what: str) -> Any:
    """Import a module of an extra.

    Parameters
    ----------
    module : str
        Dotted name of the module.
    extra : str
        The extra of wmbxl that brings it.
    what : str
        What needs it, as the start of the message.

    Raises
    ------
    UsageError
        It can't be imported; the message holds the command that installs it.

    Examples
    --------
    >>> needs("math", extra="none", what="this example").sqrt(4)
    2.0
    >>> needs("no_such", extra="answers", what="this step")
    Traceback (most recent call last):
      ...
    wmbxl.errors.UsageError: this step needs no-such (No module named 'no_such'): pip install 'wmbxl[answers]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise UsageError(f"{what} needs {package} ({error}): pip install 'wmbxl[{extra}]'") from error

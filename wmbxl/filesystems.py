"""Where a path or URL leads."""

from __future__ import annotations

from typing import Any

import fsspec

from wmbxl.errors import UsageError


def filesystem_of(url: str, **storage_options: Any) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the filesystem of a path or URL, and the path in it.

    Raises
    ------
    UsageError
        If no filesystem of that name is installed.

    Examples
    --------
    >>> filesystem_of("nope://run")
    Traceback (most recent call last):
    wmbxl.errors.UsageError: nope://run: no filesystem named nope is installed (Protocol not known: nope): ...
    """
    try:
        return fsspec.url_to_fs(url, **storage_options)
    except (ValueError, ImportError) as error:
        if "://" not in url and "::" not in url:
            raise
        name = url.partition("://")[0]
        raise UsageError(
            f"{url}: no filesystem named {name} is installed ({error}): correct the name before ://, or pip install "
            "the package that brings it, such as s3fs for s3 and gcsfs for gs"
        ) from error

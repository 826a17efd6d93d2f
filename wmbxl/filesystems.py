"""Where a path or URL leads, and that it tells no secret."""

from __future__ import annotations

import re
from typing import Any

import fsspec

from wmbxl.errors import UsageError

# A user may stand in a URL, except where it is half of a credential; a password may not. (In github://owner:name@branch
# neither is meant. A secret of S3 may hold slashes.)
_CREDENTIALS = re.compile(
    r"(?<![\w+.-])(?:"
    r"s3a?://(?!arn:)[^/?#@:]*(?::[^@]*)?@"
    r"|https?://[^/?#]*@"
    r"|(?!git)[\w+.-]+://[^/?#@]*:[^/?#]*@"
    r")"
)
_EXTRAS = {"http": "http", "https": "http", "hf": "hf"}  # that bring a filesystem
_SIGNATURE = re.compile(
    r"([?&](?:x-amz-signature|x-amz-security-token|x-goog-signature|signature|sig|token|access_token|api_?key)=)[^&\s'\"]+",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """Return a URL with `***` for each credential in it.

    Examples
    --------
    >>> masked("https://me:secret@host/part.jsonl?sig=abc&part=1")
    'https://***@host/part.jsonl?sig=***&part=1'
    """
    text = _CREDENTIALS.sub(lambda found: f"{found[0].partition('://')[0]}://***@", text)
    return _SIGNATURE.sub(r"\1***", text)


def filesystem_of(url: str, **storage_options: Any) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the filesystem of a path or URL, and the path in it.

    Raises
    ------
    UsageError
        If no filesystem of that name is installed, or if the URL holds credentials: URLs are written into the files of
        a run.

    Examples
    --------
    >>> filesystem_of("nope://run")
    Traceback (most recent call last):
    wmbxl.errors.UsageError: nope://run: no filesystem named nope is installed (Protocol not known: nope): ...
    """
    if (shown := masked(url)) != url:
        raise UsageError(
            f"{shown}: credentials in a URL would be written into the files of the run: put them into storage_options "
            "in a YAML file, or into the environment, and leave them out of the URL"
        )
    try:
        return fsspec.url_to_fs(url, **storage_options)
    except (ValueError, ImportError) as error:
        if "://" not in url and "::" not in url:
            raise
        name = url.partition("://")[0]
        brought = f"'wmbxl[{_EXTRAS[name]}]'" if name in _EXTRAS else "the package that brings it, such as gcsfs for gs"
        raise UsageError(
            f"{url}: no filesystem named {name} is installed ({error}): correct the name before ://, or pip install "
            f"{brought}"
        ) from error

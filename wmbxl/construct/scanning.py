r"""Where things end in TeX source: groups, options, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

_GROUP = re.compile(r"\\.|%[^\n]*|[{}]", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*\n?[ \t]*")
_ROW = re.compile(r"(?P<open>\\begin\b|\{)|(?P<close>\\end\b|\})|(?P<row>\\\\\*?(?:\s*\[[^\]\n]*\])?)|\\.", re.DOTALL)
LONGEST_GROUP = 200_000  # characters of an argument; what is longer is taken for a brace that nobody closed


def group_end(text: str, start: int) -> int | None:
    r"""Return the position after the ``}`` that closes the ``{`` at `start`; None if none does.

    Examples
    --------
    >>> group_end(r"{a\}{b}}c", 0)
    8
    """
    depth = 0
    for match in _GROUP.finditer(text, start, start + LONGEST_GROUP):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def without_comments(text: str) -> str:
    r"""Return source without its comments.

    Examples
    --------
    >>> without_comments("a% no\n b\\% c")
    'ab\\% c'
    """
    return _COMMENT.sub(r"\1", text) if "%" in text else text


def rows(text: str) -> Iterator[str]:
    r"""Yield what stands between the ``\\`` that lie in no group and no inner environment.

    Examples
    --------
    >>> list(rows(r"a \\ \begin{cases} b \\ c \end{cases} \\[2pt] d"))
    ['a ', ' \\begin{cases} b \\\\ c \\end{cases} ', ' d']
    """
    depth = begun = 0
    for match in _ROW.finditer(text):
        if match["row"] and depth == 0:
            yield text[begun : match.start()]
            begun = match.end()
        elif match["open"]:
            depth += 1
        elif match["close"]:
            depth -= 1
    yield text[begun:]

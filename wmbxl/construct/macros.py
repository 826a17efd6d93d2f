r"""Macros as papers define them: ``\newcommand``, ``\def``, ``\DeclareMathOperator``, ``\newenvironment`` and kin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Commands that give the document its structure keep their meaning, whatever a paper makes of their looks.
_STRUCTURE = """begin end documentclass usepackage section subsection subsubsection chapter paragraph part title author
maketitle label ref eqref cite item input include footnote caption tag nonumber notag left right frac sqrt sum int text
mathrm mathbf mathbb mathcal hline centering includegraphics bibliography and thanks date abstract protect par"""
PROTECTED = frozenset(_STRUCTURE.split())
_INTERNAL = re.compile(r"@|\\(?:if\w*|else|fi|expandafter|csname|futurelet|catcode|begingroup|let|def|newcommand)\b")
_PARAMETER = re.compile(r"##|#(\d)")
_ENDS_WORD = re.compile(r"\\[a-zA-Z]+\Z")
_SPECIFIED = re.compile(r"([mo])|O\{([^{}]*)\}|\s+")


@dataclass(frozen=True)
class Macro:
    r"""A macro's text and how it takes its arguments.

    Attributes
    ----------
    body : str
        With ``#1`` … ``#9``.
    arguments : int
    default : str or None
        Of the first argument, which is optional then.
    primitive : bool
        Whether the body is not expanded any more: ``\let\old\vec`` means what ``\vec`` meant at that time.
    starred : bool
        Whether a star, or a size in brackets, may follow the name (``\DeclarePairedDelimiter``).
    """

    body: str
    arguments: int = 0
    default: str | None = None
    primitive: bool = False
    starred: bool = False

    def apply(self, arguments: Sequence[str]) -> str:
        r"""Return the body with its arguments.

        Examples
        --------
        >>> Macro(r"\mathbf#1", 1).apply(["x"])
        '\\mathbf x'
        """
        made = ""
        position = 0
        for match in _PARAMETER.finditer(self.body):
            number = int(match[1] or 0)
            piece = "#" if match[0] == "##" else arguments[number - 1] if 0 < number <= len(arguments) else ""
            made = joined(made, self.body[position : match.start()])
            made = joined(made, piece)
            position = match.end()
        return joined(made, self.body[position:])


@dataclass(frozen=True)
class Environment:
    """An environment that a paper defines by what stands at its begin and its end."""

    begin: Macro
    end: Macro


def usable(name: str, body: str) -> bool:
    r"""Whether a definition is a shorthand that can be written out, and not programming.

    Examples
    --------
    >>> usable("bx", r"\mathbf{x}"), usable("section", "x"), usable("x", r"\@ifnextchar[")
    (True, False, False)
    """
    return name not in PROTECTED and "@" not in name and not _INTERNAL.search(body)


def specified(arguments: str) -> tuple[int, str | None] | None:
    r"""Return number of arguments and default as ``\NewDocumentCommand`` specifies them; None if it asks for more.

    Examples
    --------
    >>> specified("O{2} m"), specified("s m")
    ((2, '2'), None)
    """
    kinds = list(_SPECIFIED.finditer(arguments))
    if "".join(kind[0] for kind in kinds) != arguments:
        return None
    kinds = [kind for kind in kinds if kind[0].strip()]
    optional = [kind[2] or "" for kind in kinds if kind[1] != "m"]
    if len(optional) > 1 or (optional and kinds[0][1] == "m"):
        return None
    return len(kinds), optional[0] if optional else None


def joined(before: str, after: str) -> str:
    r"""Join source so that a command's name does not run into a letter.

    Examples
    --------
    >>> joined(r"\alpha", "x"), joined(r"\alpha", "_x")
    ('\\alpha x', '\\alpha_x')
    """
    if after[:1].isalpha() and _ENDS_WORD.search(before):
        return f"{before} {after}"
    return before + after

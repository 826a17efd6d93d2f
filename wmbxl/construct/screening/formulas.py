r"""LaTeX in text, drawn as pictures: what a formula holds can't become a part of the page.

A picture in an ``<img>`` runs no script and loads nothing. It looks the same in every browser, needs no network, and
its alternative text is the formula's source. What can't be drawn is shown as its source.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from itertools import accumulate
from typing import Any

from markupsafe import Markup, escape

from wmbxl.construct.masks import MASK
from wmbxl.extras import needs

SIZE = 17  # pixels; the page's text has 16
MARGIN = 1  # pixels that the library leaves around a formula
LONGEST = 4000  # characters of a formula that is drawn
DEEPEST = 8  # braces within one another; the library's time doubles and more with every fraction in a fraction

_FORMULA = re.compile(
    r"(?<!\\)\$\$(?P<display>.+?)(?<!\\)\$\$|(?<!\\)\$(?P<inline>.+?)(?<!\\)\$"
    r"|\\\[(?P<display2>.+?)\\\]|\\\((?P<inline2>.+?)\\\)",
    re.DOTALL,
)

# The library moves a subscript into the letter in front of it (P_k looks like R); an empty group keeps them apart.
_SUBSCRIPT = re.compile(r"(?<!\\)_(?:\{|([a-zA-Z0-9]))")


def with_formulas(text: str) -> Markup:
    r"""Return text as HTML, with its formulas as pictures.

    Parameters
    ----------
    text : str
        Formulas stand between ``$``, ``$$``, ``\(`` and ``\)``, or ``\[`` and ``\]``.

    Examples
    --------
    >>> with_formulas("<b> costs 5")
    Markup('&lt;b&gt; costs 5')
    """
    pieces: list[str] = []
    position = 0
    for found in _FORMULA.finditer(text):
        pieces.append(escape(text[position : found.start()]))
        held = {name: latex for name, latex in found.groupdict().items() if latex}
        [(name, latex)] = held.items()
        pieces.append(formula(latex, display=name.startswith("display")))
        position = found.end()
    return Markup().join([*pieces, escape(text[position:])])


def drawer() -> Any:
    """Import what draws formulas, or say how to install it."""
    return needs("ziamath", extra="construct", what="the screening page")


@lru_cache(maxsize=4096)
def formula(latex: str, display: bool = False) -> Markup:
    """Return a formula as HTML: a picture, or its source if it can't be drawn; blanks are numbered boxes."""
    kind = "display" if display else "inline"
    drawer()
    try:
        svg, width, depth = _drawn(_numbered(latex), display)
    except Exception:  # the library has no errors of its own; whatever it stumbles over, a person can still read
        return Markup('<code class="formula {}" title="This formula can\'t be drawn.">{}</code>').format(kind, latex)
    picture = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    tag = Markup('<img class="formula {}" alt="{}" width="{:.1f}" style="vertical-align:{:.1f}px" src="{}">')
    return tag.format(kind, latex.strip(), width, depth, picture)


def _drawn(latex: str, display: bool) -> tuple[str, float, float]:
    if len(latex) > LONGEST or _depth(latex) > DEEPEST:
        raise ValueError("too long or too deep")
    if "&" in latex or r"\\" in latex:
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}" if r"\begin" not in latex else latex
    latex = _SUBSCRIPT.sub(lambda found: f"_{{{{}}{found[1]}}}" if found[1] else "_{{}", latex)
    drawing = drawer().Latex(latex, size=SIZE, inline=not display)
    picture = drawing.svgxml()
    return drawing.svg(), float(picture.attrib["width"]), drawing.getyofst() - MARGIN


def _depth(latex: str) -> int:
    return max(accumulate({"{": 1, "}": -1}.get(character, 0) for character in latex), default=0)


def _numbered(latex: str) -> str:
    parts = latex.split(MASK)
    return parts[0] + "".join(rf"\boxed{{\;{number}\;}}{part}" for number, part in enumerate(parts[1:], start=1))

r"""Find displayed equations and theorem-like statements in a flat source, with the text around them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from wmbxl.construct.flat import Flat
from wmbxl.construct.formula import Unsuited, parse, right_side
from wmbxl.construct.records import Drop, Equation, Kind
from wmbxl.construct.scanning import group_end, rows
from wmbxl.settings import Section

STAGE = "equations"

_ALIGNED = ("align", "eqnarray", "IEEEeqnarray", "flalign", "alignat", "xalignat", "gather", "dgroup")
_SINGLE = ("equation", "multline", "displaymath", "dmath", "math display", "empheq", "IEEEeqnarraybox")
_ENVIRONMENTS = (*_ALIGNED, *_SINGLE)
_UNNUMBERED = ("displaymath", r"\[", "$$")
_INNER = ("split", "aligned", "gathered", "multlined", "alignedat")
_STATEMENTS = re.compile(r"lemma|theorem|proposition|corollary", re.IGNORECASE)
_USUAL_STATEMENTS = ("lemma", "theorem", "proposition", "corollary", "lem", "thm", "prop", "cor", "claim")

# A double backslash comes first, so that \\[2pt] isn't taken for \[.
_DISPLAY = re.compile(
    rf"\\\\|\\\$|(?P<open>\\\[|\$\$)|\\begin\s*\{{(?P<name>{'|'.join(_ENVIRONMENTS)})(?P<star>\*?)\}}"
)
_SECTION = re.compile(r"\\(?:chapter|(?:sub)*section)\*?\s*(?:\[[^\]]*\])?\s*(?=\{)")
_BODY = re.compile(r"\\begin\s*\{document\}")
_COLUMNS = re.compile(r"\s*(?:\[[^\]]*\]\s*)?(?:\{[^{}]*\}\s*)?")
_UNNUMBERED_ROW = re.compile(r"\\(?:nonumber|notag|IEEEnonumber)\b")
_LABEL = re.compile(r"\\(?:label|tag\*?)\s*\{([^{}]*)\}")
_DRESSING = re.compile(
    r"\\(?:nonumber|notag|IEEEnonumber|IEEEeqnarraynumspace|displaystyle|allowbreak|noalign\s*\{[^{}]*\})(?![a-zA-Z])"
    r"|\\(?:label|tag\*?|hspace\*?|vspace\*?|intertext|shortintertext)\s*\{[^{}]*\}"
)
_WRAPPED = re.compile(
    rf"\s*\\begin\s*\{{({'|'.join(_INNER)})\}}(?:\[\w\])?(?:\{{\d+\}})?(.*)\\end\s*\{{\1\}}([\s.,;]*)", re.DOTALL
)
_END = re.compile(r"(?:\s|[.,;:]|\\[,;:!. ]|~|\\q?quad(?![a-zA-Z]))+\Z")
_RELATION = re.compile(r"\s*(?:&\s*)*(?:[=<>]|\\(?:le|ge|leq|geq|approx|sim|equiv|triangleq|propto|to|in)(?![a-zA-Z]))")
_CONTINUES = re.compile(
    r"\s*(?:&\s*)*(?:[-+=<>*/)\]]|\\(?:times|cdot|quad|qquad|left|right|le|ge|leq|geq|approx)\b|\Z)"
)
_ELSEWHERE = re.compile(
    r"\\(?:eqref|ref|cref|Cref|autoref|cite\w*|footnote\w*|includegraphics|multicolumn)(?![a-zA-Z])"
)
_PICTURE = re.compile(r"\\(?:begin\s*\{(?:tikz\w*|picture|tabular|figure|CD|forest)|xymatrix|diagram|prftree|Axiom)")


class Finding(Section):
    """Which equations are taken.

    Parameters
    ----------
    kinds : list of {"equation", "lemma"}
    numbered_only : bool
        Whether displays without a number are passed over.
    context : int
        Characters of text before and after that a model is shown.
    shortest, longest : int
        Characters of an equation.
    per_paper : int
        Most equations and statements of one paper, the first ones.
    """

    kinds: list[Kind] = Field(default=["equation"], min_length=1)
    numbered_only: bool = True
    context: int = Field(default=1500, ge=0)
    shortest: int = Field(default=8, ge=1)
    longest: int = Field(default=500, ge=1)
    per_paper: int = Field(default=50, ge=1)


@dataclass(frozen=True)
class _Find:
    """Something found: where, what it says, and whether it has a number."""

    start: int
    end: int
    environment: str
    latex: str
    label: str | None
    numbered: bool
    kind: Kind = "equation"


def find(flat: Flat, paper_id: str, finding: Finding) -> tuple[list[Equation], list[Drop]]:
    """Find what a paper states, and say why the rest is of no use.

    Returns
    -------
    equations : list of Equation
    drops : list of Drop
        Reasons ``unnumbered``, ``too_short``, ``too_long``, ``refers_elsewhere``, ``picture``, ``several_statements``,
        ``no_relation``, ``not_parsed``, ``across_files``, ``repeated``, ``beyond_per_paper``.
    """
    equations: list[Equation] = []
    drops: list[Drop] = []
    seen: set[str] = set()
    begin = _begin(flat.text)
    sections = [(match.start(), _title(flat.text, match)) for match in _SECTION.finditer(flat.text)]
    finds = [find for kind in finding.kinds for find in _FINDERS[kind](flat, begin)]
    for number, found in enumerate(sorted(finds, key=lambda find: (find.start, find.end)), start=1):
        name = f"{paper_id}#{number}"
        span = flat.span(found.start, found.end)
        reason = unsuited(found, finding)
        if not reason:
            reason = "across_files" if span is None else "repeated" if found.latex in seen else ""
        if not reason and len(equations) >= finding.per_paper:
            reason = "beyond_per_paper"
        seen.add(found.latex)
        if reason or span is None:
            drops.append(Drop(stage=STAGE, item=name, reason=reason, detail=found.latex[:200]))
            continue
        before = bisect_right(sections, (found.start, "\U0010ffff")) - 1
        equations.append(
            Equation(
                equation_id=name,
                paper_id=paper_id,
                kind=found.kind,
                environment=found.environment,
                label=found.label,
                section=sections[before][1] if before >= 0 else "",
                latex=found.latex,
                before=_tail(flat.text[max(begin, found.start - finding.context) : found.start]),
                after=_head(flat.text[found.end : found.end + finding.context]),
                span=span,
            )
        )
    return equations, drops


def displays(flat: Flat) -> Iterator[str]:
    """Yield the LaTeX of every displayed equation, suited or not."""
    for found in _displays(flat, _begin(flat.text)):
        yield found.latex


def unsuited(found: _Find, finding: Finding) -> str:
    """Return why no problem can be made of this, empty if one may."""
    if not found.numbered and finding.numbered_only:
        return "unnumbered"
    if _PICTURE.search(found.latex):
        return "picture"
    if _ELSEWHERE.search(found.latex):
        return "refers_elsewhere"
    if len(found.latex) < finding.shortest:
        return "too_short"
    if len(found.latex) > (finding.longest if found.kind == "equation" else finding.context):
        return "too_long"
    return fault(found.latex) if found.kind == "equation" else ""


Fault = Literal["", "not_parsed", "several_statements", "no_relation"]


def fault(latex: str) -> Fault:
    r"""Return what keeps an equation from being one statement, left and right of a relation; empty if nothing does.

    Examples
    --------
    >>> fault("y = x"), fault("y = (x"), fault(r"a = b \\ c = d"), fault("x + y"), fault("y = {x")
    ('', '', 'several_statements', 'no_relation', 'not_parsed')
    """
    try:
        row = parse(latex)
    except Unsuited:
        return "not_parsed"
    if len(list(rows(latex))) > 1:
        return "several_statements"
    return "" if right_side(row) else "no_relation"


# ---------------------------------------------------------------- displays


def _displays(flat: Flat, begin: int) -> Iterator[_Find]:
    text, position = flat.text, begin
    absent: set[str] = set()  # what does not come any more, not to be looked for again
    while match := _DISPLAY.search(text, position):
        position = match.end()
        if not (match["open"] or match["name"]):
            continue
        name = match["open"] or match["name"] + match["star"]
        closing = {r"\[": r"\]", "$$": "$$"}.get(name, f"\\end{{{name}}}")
        end = -1 if closing in absent else text.find(closing, position)
        if end < 0:
            absent.add(closing)
            continue
        start, body, position = match.start(), text[position:end], end + len(closing)
        yield from _statements(name, body, start, position)


def _statements(name: str, body: str, start: int, end: int) -> Iterator[_Find]:
    """Yield what one display states: a row each, or several where they go on."""
    plain = name.rstrip("*")
    numbered = name == plain and name not in _UNNUMBERED
    if plain in ("IEEEeqnarray", "alignat", "xalignat", "empheq"):
        body = body[columns.end() :] if (columns := _COLUMNS.match(body)) else body
    parts = list(rows(body)) if plain in _ALIGNED else [" ".join(rows(body)) if plain == "multline" else body]
    pending: list[str] = []
    for number, part in enumerate(parts):
        pending.append(part)
        following = parts[number + 1] if number + 1 < len(parts) else None
        open_ended = following is not None and (_CONTINUES.match(following) or (numbered and _unnumbered(part)))
        if open_ended and plain != "gather":
            continue
        whole = " ".join(pending)
        label = _LABEL.search(whole)
        latex = tidy(whole)
        if latex:
            has_number = (numbered and not _unnumbered(part)) or r"\tag{" in whole
            yield _Find(start, end, name, latex, label[1] if label else None, has_number)
        pending = []


def _unnumbered(row: str) -> bool:
    return bool(_UNNUMBERED_ROW.search(row))


def tidy(body: str) -> str:
    r"""Return an equation without its dress: labels, alignment, inner rows that go on, the full stop at its end.

    Examples
    --------
    >>> tidy(r"\label{eq:1} y &= \begin{cases} a & b \\ c \end{cases}, \nonumber")
    'y = \\begin{cases} a & b \\\\ c \\end{cases}'
    >>> tidy(r"\begin{split} y &= a \\ &\quad + b. \end{split}")
    'y = a \\quad + b'
    """
    body = _DRESSING.sub(" ", body)
    if wrapped := _WRAPPED.fullmatch(body):
        parts = list(rows(wrapped[2]))
        goes_on = all(_CONTINUES.match(part) for part in parts[1:]) or wrapped[1] == "multlined"
        body = " ".join(parts) if goes_on else wrapped[2]
    body = _unaligned(body)
    return _END.sub("", " ".join(body.split()))


def _unaligned(body: str) -> str:
    """Drop the alignment marks that belong to no inner environment."""
    kept, depth = [], 0
    for piece in re.split(r"(\\begin\b|\\end\b|\\&|&)", body):
        depth += (piece == r"\begin") - (piece == r"\end")
        if piece != "&" or depth:
            kept.append(piece)
    return "".join(kept)


# ---------------------------------------------------------------- statements


def _theorems(flat: Flat, begin: int) -> Iterator[_Find]:
    own = [name for name, title in flat.theorems.items() if _STATEMENTS.search(title)]
    names = sorted({*own, *(name for name in _USUAL_STATEMENTS if name not in flat.theorems)})
    opening = re.compile(rf"\\begin\s*\{{({'|'.join(map(re.escape, names))})\}}\s*(?:\[[^\]]*\])?")
    for match in opening.finditer(flat.text, begin):
        closing = f"\\end{{{match[1]}}}"
        end = flat.text.find(closing, match.end())
        if end < 0:
            continue
        body = flat.text[match.end() : end]
        label = _LABEL.search(body)
        latex = " ".join(_DRESSING.sub(" ", body).split())
        yield _Find(match.start(), end + len(closing), match[1], latex, label[1] if label else None, True, kind="lemma")


_FINDERS = {"equation": _displays, "lemma": _theorems}


# ---------------------------------------------------------------- text around


def _begin(text: str) -> int:
    body = _BODY.search(text)
    return body.end() if body else 0


def _title(text: str, section: re.Match[str]) -> str:
    end = group_end(text, section.end())
    return " ".join(text[section.end() + 1 : end - 1].split()) if end else ""


def _tail(text: str) -> str:
    """Return the text from the first whole sentence or paragraph on."""
    start = re.search(r"\n\s*\n|(?<=[.!?])\s+(?=[A-Z\\])", text)
    return text[start.end() if start else 0 :].strip()


def _head(text: str) -> str:
    """Return the text up to the last whole sentence or paragraph."""
    ends = [match.start() for match in re.finditer(r"(?<=[.!?])\s|\n\s*\n", text)]
    return text[: ends[-1] if ends else len(text)].strip()

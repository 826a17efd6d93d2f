r"""Flat sources: macros as TeX expands them, files in their places, and the way back to what the authors wrote."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.construct.archives import document
from wmbxl.construct.flat import Flat, flatten
from wmbxl.construct.limits import Limits
from wmbxl.construct.tree import SourceTree
from wmbxl.errors import Unreadable

LIMITS = Limits(characters=100_000, expansions=10_000)


def flat(body: str, preamble: str = "", **files: str) -> Flat:
    texts = {"main.tex": document(body, preamble), **{f"{name}.tex": text for name, text in files.items()}}
    return flatten(SourceTree({name: text.encode() for name, text in texts.items()}), LIMITS)


def body(made: Flat) -> str:
    return made.text.partition("\\begin{document}")[2].strip()


@pytest.mark.parametrize(
    ("preamble", "source", "expanded"),
    [
        (r"\newcommand{\v}[1]{\mathbf{#1}}", r"\v{x} + \v y", r"\mathbf{x} + \mathbf{y}"),
        (r"\newcommand*\v[1]{\mathbf #1}", r"\v{x}", r"\mathbf x"),
        (r"\newcommand{\n}[2][2]{\|#2\|_{#1}}", r"\n{x} \n[1]{y}", r"\|x\|_{2} \|y\|_{1}"),
        (r"\def\v#1{\mathbf{#1}}\def\h{\v{h}}", r"\h^H\h", r"\mathbf{h}^H\mathbf{h}"),
        (r"\newcommand{\h}{\mathbf}", r"\h{x}", r"\mathbf{x}"),
        (r"\newcommand{\a}{\alpha}", r"\a x, \a\a, \alpha", r"\alpha x, \alpha\alpha, \alpha"),
        (r"\DeclareMathOperator{\tr}{tr}", r"\tr A", r"\operatorname{tr} A"),
        (r"\DeclareMathOperator*{\am}{arg\,min}", r"\am_x", r"\operatorname*{arg\,min}_x"),
        (r"\DeclarePairedDelimiter{\abs}{\lvert}{\rvert}", r"\abs{x}", r"\left\lvert x \right\rvert"),
        (r"\DeclarePairedDelimiter{\abs}{|}{|}", r"\abs*{y} \abs[\big]{z}", r"\left| y \right| \left| z \right|"),
        (r"\NewDocumentCommand{\e}{O{2} m}{#2^{#1}}", r"\e{x}\e[3]{y}", r"x^{2}y^{3}"),
        (r"\newenvironment{e}[1]{\begin{align}\label{#1}}{\end{align}}", r"\begin{e}{a}x\end{e}",
         r"\begin{align}\label{a}x\end{align}"),
        (r"\let\old\vec \renewcommand{\vec}[1]{\old{\mathbf{#1}}}", r"\vec{x}", r"\vec{\mathbf{x}}"),
        (r"\renewcommand{\phi}{\varphi}", r"\phi", r"\varphi"),
        (r"\newcommand{\x}{1}\renewcommand{\x}{2}", r"\x\renewcommand{\x}{3}\x", "23"),
        (r"\newcommand{\two}[2]{#2#1}", "\\two{a}\n  {b}", "ba"),
        (r"\def\half{\ensuremath{\frac12}}", r"\half", r"\frac12"),
    ],
)  # fmt: skip
def test_macros_are_written_out(preamble: str, source: str, expanded: str) -> None:
    assert body(flat(source, preamble)) == expanded


@pytest.mark.parametrize(
    ("preamble", "source"),
    [
        (r"\def\pair(#1,#2){<#1>}", r"\pair(a,b)"),  # delimited by text
        (r"\renewcommand{\section}[1]{\textbf{#1}}", r"\section{A}"),  # structure
        (r"\newcommand{\x}{\@ifnextchar[{\a}{\b}}", r"\x[1]"),  # programming
        (r"\newcommand{\v}[1]{\mathbf{#1}}", r"\v"),  # an argument lacks
    ],
)
def test_what_cannot_be_written_out_is_left_and_noted(preamble: str, source: str) -> None:
    made = flat(source, preamble)
    assert body(made) == source
    assert sum(made.notes.values()) == 1


def test_files_are_input_where_they_stand() -> None:
    made = flat("a \\input{one} d \\input two \\input{none}", one="b\\endinput no", two="e % no\n f")
    assert " ".join(body(made).split()) == "a b d e f"
    assert made.notes == {"missing_input": 1}


def test_definitions_of_an_input_hold_behind_it() -> None:
    assert body(flat("\\input{one}\\x", one="\\newcommand{\\x}{y}")) == "y"


def test_comments_conditions_and_verbatim_are_gone() -> None:
    source = "a% no\n  b\\% c\n\n\\iffalse no \\ifx\\a\\b no \\else no \\fi no \\fi d \\begin{comment}no\\end{comment}"
    source += " \\verb|no|e"
    assert " ".join(body(flat(source)).split()) == "ab\\% c d e"


def test_spans_lead_back_through_macros_and_files() -> None:
    preamble = (
        "\\newcommand{\\be}{\\begin{equation}}\\newcommand{\\ee}{\\end{equation}}\\newcommand{\\v}[1]{\\mathbf{#1}}"
    )
    made = flat("\\input{one}", preamble, one="Text. \\be \\v{x} = 1 \\ee More.")
    start, end = made.text.index("\\begin{equation}"), made.text.index("\\end{equation}") + len("\\end{equation}")
    span = made.span(start, end)
    assert span is not None
    assert (span.file, span.text) == ("one.tex", "\\be \\v{x} = 1 \\ee")
    assert made.span(0, end) is None  # begins in the main file


DOUBLED = "".join(
    f"\\def\\{y}{{{f'{chr(92)}{x}' * 2}}}" for x, y in zip("abcdefghijklmn", "bcdefghijklmno", strict=True)
)


@pytest.mark.parametrize(
    ("preamble", "source", "reason"),
    [
        ("\\def\\a{\\a}", "\\a", "recursive_macro"),
        ("\\def\\a{x\\b y}\\def\\b{\\a}", "\\a", "recursive_macro"),
        ("\\newenvironment{e}{\\begin{e}}{}", "\\begin{e}", "recursive_macro"),
        ("\\def\\a{}" + DOUBLED, "\\o\\o", "expansion_too_large"),
    ],
)  # fmt: skip
def test_macros_without_end_end_with_a_reason(preamble: str, source: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        flat(source, preamble)
    assert caught.value.reason == reason


def test_inputs_that_multiply_end_with_a_reason() -> None:
    with pytest.raises(Unreadable) as caught:
        flat("\\input{one}" * 10, one="\\input{two}" * 10, two="\\input{three}" * 10, three="word " * 1000)
    assert caught.value.reason == "expansion_too_large"


def test_inputs_of_comments_alone_that_multiply_end_with_a_reason() -> None:
    with pytest.raises(Unreadable) as caught:
        flat("\\input{one}" * 1000, one="%" * 1000)
    assert caught.value.reason == "expansion_too_large"


PIECES = st.sampled_from(
    ["\\newcommand{\\a}[1]{x#1}", "\\def\\b{\\a", "\\a", "\\b", "{", "}", "[", "]", "%", "\n", "\\", "\\begin{a}",
     "\\end{a}", "\\iffalse", "\\fi", "\\verb|", "\\input{main}", "$", "\\end{document}", "x", " ", "#1", "\\let\\a\\b",
     "\\begin{comment}", "\\newenvironment{a}{", "\\usepackage{a}", "é", "\\DeclareMathOperator{\\a}"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_source_breaks_it(source: str) -> None:
    """Whatever stands there, a flat text comes out, or a reason; and every part of it stands somewhere."""
    try:
        made = flat(source)
    except Unreadable as error:
        assert error.reason in ("recursive_macro", "input_loop", "expansion_too_large")
        return
    for position in range(len(made.text)):
        span = made.span(position, position + 1)
        assert span is None or span.end <= len(document(source))

"""Equations and statements: which are found, how they are tidied, and why others are passed over."""

from __future__ import annotations

import pytest

from tests.construct.archives import document
from wmbxl.construct.equations import Finding, find, tidy
from wmbxl.construct.flat import flatten
from wmbxl.construct.limits import Limits
from wmbxl.construct.records import Drop, Equation
from wmbxl.construct.tree import SourceTree

pytest.importorskip("pylatexenc", reason="needs the extra construct: pip install 'wmbxl[construct]'")


def found(body: str, preamble: str = "", **options: object) -> tuple[list[Equation], list[Drop]]:
    tree = SourceTree({"main.tex": document(body, preamble).encode()})
    return find(flatten(tree, Limits()), "p", Finding.model_validate(options))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"\begin{align} a &= b c d, \\ e &= f g h . \end{align}", ["a = b c d", "e = f g h"]),
        (r"\begin{align} a &= b c d \nonumber \\ &\quad + e f \end{align}", [r"a = b c d \quad + e f"]),
        (r"\begin{align} a &= b + c \\ &= d + e \end{align}", ["a = b + c = d + e"]),
        (r"\begin{eqnarray} y &=& H x + n \\ z &=& G y + w \end{eqnarray}", ["y = H x + n", "z = G y + w"]),
        (r"\begin{IEEEeqnarray}{rCl} y &=& H x + n \end{IEEEeqnarray}", ["y = H x + n"]),
        (r"\begin{equation}\begin{split} a &= b \\ &\quad - c \end{split}\end{equation}", [r"a = b \quad - c"]),
        (r"\begin{multline} a = b + \\ + c + d \end{multline}", ["a = b + + c + d"]),
        (r"\begin{gather} a = b + c \\ d = e + f \end{gather}", ["a = b + c", "d = e + f"]),
        (r"\begin{equation} f(x) = \begin{cases} 1 & x > 0 \\ 0 & x \le 0 \end{cases} \end{equation}",
         [r"f(x) = \begin{cases} 1 & x > 0 \\ 0 & x \le 0 \end{cases}"]),
        (r"\begin{equation*} a = b + c \tag{7} \end{equation*}", ["a = b + c"]),
        (r"\begin{alignat}{2} a &= b + c \end{alignat}", ["a = b + c"]),
    ],
)  # fmt: skip
def test_numbered_displays(body: str, expected: list[str]) -> None:
    assert [equation.latex for equation in found(body)[0]] == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (r"\[ a = b + c + d \]", "unnumbered"),
        (r"$$ a = b + c + d $$", "unnumbered"),
        (r"\begin{equation} a = b \end{equation}", "too_short"),
        (rf"\begin{{equation}} a = {'b + ' * 200} c \end{{equation}}", "too_long"),
        (r"\begin{equation} a = b \quad \text{by } \eqref{x} \end{equation}", "refers_elsewhere"),
        (r"\begin{equation} \begin{tikzpicture} a = b \end{tikzpicture} \end{equation}", "picture"),
        (r"\begin{equation} a + b + c + d \end{equation}", "no_relation"),
        (r"\begin{equation} a = \frac{b}{c + d \end{equation}", "not_parsed"),
        (r"\begin{equation}\begin{split} a &= b + c \\ d &= e + f \end{split}\end{equation}", "several_statements"),
    ],
)
def test_what_is_passed_over_has_a_reason(body: str, reason: str) -> None:
    equations, drops = found(body)
    assert equations == []
    assert [drop.reason for drop in drops] == [reason]


def test_displays_count_if_numbers_are_not_asked_for() -> None:
    equations, _ = found(r"\[ a = b + c + d \] text \\[2pt] more $$ e = f + g + h $$", numbered_only=False)
    assert [equation.latex for equation in equations] == ["a = b + c + d", "e = f + g + h"]


def test_repeats_and_the_most_of_a_paper() -> None:
    body = "".join(rf"\begin{{equation}} a = b + {c} \end{{equation}}" for c in "ccdefg")
    equations, drops = found(body, per_paper=3)
    assert [equation.equation_id for equation in equations] == ["p#1", "p#3", "p#4"]
    assert [drop.reason for drop in drops] == ["repeated", "beyond_per_paper", "beyond_per_paper"]


def test_statements_by_the_paper_s_own_names() -> None:
    body = r"\begin{satz}[Main] If $x>0$, then \begin{equation} y = x^2 + 1 \end{equation}\end{satz}"
    body += r"\begin{bem} No. \end{bem}"
    preamble = r"\newtheorem{satz}{Theorem}\newtheorem{bem}{Remark}"
    equations, _ = found(body, preamble, kinds=["lemma", "equation"])
    assert [(each.kind, each.environment) for each in equations] == [("lemma", "satz"), ("equation", "equation")]
    assert equations[0].latex.startswith("If $x>0$, then")


def test_context_is_whole_sentences_and_the_section() -> None:
    body = r"\section{Model} Cut here. The noise $n$ is white. \begin{equation} y = x + n \end{equation}"
    body += " It is small. Trailing wor"
    [equation], _ = found(body, context=40)
    assert equation.section == "Model"
    assert equation.before == "The noise $n$ is white."
    assert equation.after == "It is small."


def test_tidying_leaves_what_belongs_to_the_equation() -> None:
    assert tidy(r" x = \left\{ a, b \right\} \, . ") == r"x = \left\{ a, b \right\}"
    assert tidy(r"x = a \& b,\quad k = 1, \dots, K") == r"x = a \& b,\quad k = 1, \dots, K"

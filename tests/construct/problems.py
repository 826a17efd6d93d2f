"""Small equations and problems that several tests make."""

from __future__ import annotations

import random
from typing import Any

from wmbxl.construct import prompts
from wmbxl.construct.records import Extraction, Paper, Problem, SourceSpan, Variable

SPAN = SourceSpan(file="main.tex", start=10, end=60, text=r"\begin{equation} y = a x + b \end{equation}")
PAPER = Paper(paper_id="2401.00001v1", source="a.tar.gz", sha256="0" * 64, title="On lines", license="CC-BY-4.0")

_SYMBOLS = (
    "x", "y_k", r"\alpha", r"\mathbf{H}", r"\mathbf{h}_{k}^{H}", r"\hat{\boldsymbol{g}}_{i,j}", r"\sigma^{2}", "N",
    r"P_{\mathrm{tx}}", "v(t)", r"\bar{\phi}", "c'", "3", "0.5",
)  # fmt: skip
_SPACES = ("", " ", "  ", r"\,", "\n", r"\; ")


def random_equation(seed: int) -> str:
    """Return an equation without a meaning, of fractions, roots, sums, scripts and delimiters."""
    chooser = random.Random(seed)
    left = chooser.choice(("y", r"\mathbf{W}_{i,k}", "R(t)"))
    end = chooser.choice(("", ".", r" ,\quad k = 1, \ldots, K"))
    relation = chooser.choice(("=", r"\leq", r"\approx"))
    return f"{left} {relation} {_sum(chooser, 2)}{end}"


def _sum(chooser: random.Random, depth: int) -> str:
    terms = [_product(chooser, depth) for _ in range(chooser.randint(1, 3))]
    signs = [chooser.choice(("+", "-", r"\pm ")) for _ in terms[1:]]
    first = chooser.choice(("", "", "-"))
    return first + terms[0] + "".join(f" {sign} {term}" for sign, term in zip(signs, terms[1:], strict=True))


def _product(chooser: random.Random, depth: int) -> str:
    factors = [_factor(chooser, depth) for _ in range(chooser.randint(1, 3))]
    made = factors[0]
    for factor in factors[1:]:
        made += chooser.choice((*_SPACES, r" \cdot ", r"\otimes ", "/")) + " " + factor
    return made


def _factor(chooser: random.Random, depth: int) -> str:
    if depth == 0 or chooser.random() < 0.4:
        return chooser.choice(_SYMBOLS)
    inner = _sum(chooser, depth - 1)
    return chooser.choice(
        (
            rf"\frac{{ {inner} }}{{{_product(chooser, depth - 1)}}}",
            rf"\sqrt{{{inner}}}",
            rf"\left( {inner} \right)^{{-1}}",
            rf"\left\| {inner} \right\|_F^2",
            rf"\big[{inner}\big]",
            rf"\sum_{{k=1}}^{{K}} {_product(chooser, depth - 1)}",
            rf"\log_{{2}} (1 + {inner})",
            rf"e^{{{inner}}}",
            rf"\begin{{bmatrix}} {inner} & 0 \\ 0 & {inner} \end{{bmatrix}}",
            f"|{inner}|^2",
        )
    )


def make_extraction(equation: str, number: int = 1, **changes: Any) -> Extraction:
    """Return an extraction with an equation."""
    content = {
        "equation_id": f"2401.00001v1#{number}",
        "paper_id": "2401.00001v1",
        "kind": "equation",
        "background": "A channel $\\mathbf{h}_k$ carries a symbol $x$; $n$ is noise.",
        "variables": (Variable(symbol="x", meaning="symbol"),),
        "equation": equation,
        "span": SPAN,
    }
    return Extraction.model_validate(content | changes)


def make_problem(number: int = 1, **changes: Any) -> Problem:
    """Return a problem with one blank; its number is part of its text."""
    type_ = changes.get("type", "fill_blank_25")
    background = changes.get("background", f"Setting {number}: the line has slope $a_{{{number}}}$ and offset $b$.")
    equation = changes.get("equation", "$$y = [MASK] x + b$$")
    question = prompts.question(type_, equation.count("[MASK]"))
    content = {
        "problem_id": f"2401.{number:05}v1#1-{type_}",
        "paper_id": f"2401.{number:05}v1",
        "paper_title": "On lines",
        "type": type_,
        "background": background,
        "question_text": question,
        "equation": equation,
        "correct_answer": rf"\boxed{{a_{{{number}}}}}",
        "prompt": prompts.prompt(type_, background, question, equation, changes.get("options")),
        "text": prompts.surface(background, question, equation),
        "equation_id": f"2401.{number:05}v1#1",
        "kind": "equation",
        "span": SPAN,
    }
    return Problem.model_validate(content | changes)

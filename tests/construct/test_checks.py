"""Checks without a model: bad extractions are caught, each for its own reason."""

from __future__ import annotations

from typing import Any

import pytest

from wmbxl.construct.checks import check, undefined
from wmbxl.construct.records import Equation, Extraction, SourceSpan, Variable
from wmbxl.construct.sizes import clash

pytest.importorskip("pylatexenc", reason="needs the extra construct: pip install 'wmbxl[construct]'")

SPAN = SourceSpan(file="main.tex", start=0, end=1, text="…")
SYMBOLS = {"y": "1", r"\mathbf{h}_k": "N", r"\mathbf{w}": "N", "s": "1", "n": "1"}
LATEX = r"y = \mathbf{h}_k^{H} \mathbf{w} s + n, \quad k = 1, \dots, K"


def extraction(**changes: Any) -> Extraction:
    variables = tuple(Variable(symbol=name, meaning="-", dimension=size) for name, size in SYMBOLS.items())
    fields = {"equation_id": "p#1", "paper_id": "p", "kind": "equation", "background": "Given.", "span": SPAN}
    equation = r"y = \mathbf{h}_k^{H} \mathbf{w} s + n"
    return Extraction(**{**fields, "variables": variables, "equation": equation, **changes})


def found(kind: str = "equation", latex: str = LATEX) -> Equation:
    return Equation(equation_id="p#1", paper_id="p", kind=kind, environment=kind, latex=latex, span=SPAN)  # type: ignore[arg-type]


def test_a_faithful_extraction_passes() -> None:
    assert check(extraction(), found()) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"equation": r"y = \mathbf{h}_k^{T} \mathbf{w} s + n"}, "not_in_source"),
        ({"equation": r"y = \mathbf{w}^{H} \mathbf{h}_k s + n"}, "not_in_source"),
        ({"equation": r"\mathbf{h}_k^{H} \mathbf{w} s + n"}, "no_relation"),
        ({"variables": (Variable(symbol="y", meaning="signal"),)}, "undefined_symbol"),
        ({"variables": tuple(Variable(symbol=name, meaning="-", dimension="M" if name == r"\mathbf{w}" else size)
                             for name, size in SYMBOLS.items())}, "sizes_differ"),
    ],
)  # fmt: skip
def test_bad_extractions_are_caught(changes: dict[str, Any], reason: str) -> None:
    drop = check(extraction(**changes), found())
    assert drop is not None
    assert drop.reason == reason


def test_a_statement_keeps_the_formulas_of_the_paper() -> None:
    paper = found("lemma", r"If $x > 0$, then $f(x) \geq x$.")
    variables = (Variable(symbol="x", meaning="number"), Variable(symbol="f", meaning="function"))
    good = {"kind": "lemma", "variables": variables, "equation": r"Let $f(x) = x^2$. If $x > 0$, then $f(x) \geq x$."}
    assert check(extraction(**good), paper) is None
    changed = check(extraction(**{**good, "equation": r"If $x > 0$, then $f(x) \geq 2 x$."}), paper)
    lacking = check(extraction(**{**good, "variables": variables[:1]}), paper)
    assert changed is not None
    assert lacking is not None
    assert (changed.reason, lacking.reason) == ("not_in_source", "undefined_symbol")


@pytest.mark.parametrize(
    ("latex", "defined", "missing"),
    [
        (r"y = \sum_{k=1}^{K} h_k x_k", ["y", "h_k", "x_k", "K"], []),
        (r"y = \sum_{k=1}^{K} h_k x_k", ["y", "h_k", "x_k"], ["K"]),
        (r"y = \sum_{\substack{i=1 \\ i \ne k}} h_i", ["y", "h_k"], []),
        (r"R = \int_0^T r(t) \, \mathrm{d}t", ["R", "r(t)", "T"], []),
        (r"R = \int_0^T r(t) dt", ["R", "r", "T"], []),
        (r"P_{\mathrm{r}} = P_{\mathrm{t}} G", [r"P_{\mathrm{t}}", "G"], [r"P_{\mathrm{r}}"]),
        (r"h_j = g_j", ["h_k", "g_k"], []),
        (r"y = e^{-j 2\pi f \tau}", ["y", "f", r"\tau"], []),
        (r"y = \mathbb{E}[|x|^2] + \log_2 \det(\mathbf{I}_N + \mathbf{A})", ["y", "x", r"\mathbf{A}"], []),
        (r"y = \bar{x} + x", ["y", "x"], [r"\bar{x}"]),
        (r"\mathbf{y} = y", ["y"], [r"\mathbf{y}"]),
        (r"\hat{x} = \arg\max_{x} f(x)", [r"\hat{x}", "f(x)"], []),
    ],
)
def test_every_symbol_needs_a_definition(latex: str, defined: list[str], missing: list[str]) -> None:
    assert undefined([latex], defined) == missing


SIZES = {"A": "N x N", "B": "N x M", r"\mathbf{x}": "N", r"\mathbf{z}": r"\mathbb{C}^{M \times 1}", "c": "1", "u": ""}


@pytest.mark.parametrize(
    ("latex", "fits"),
    [
        (r"\mathbf{x} = A \mathbf{x} + B \mathbf{z}", True),
        (r"c = \mathbf{x}^H A \mathbf{x}", True),
        (r"A = \mathbf{x} \mathbf{x}^H + c A^{-1}", True),
        (r"\mathbf{x} = u \mathbf{z}", True),  # one size isn't known
        (r"c = \|B \mathbf{z}\|^2", True),
        (r"\mathbf{z} = (A + c A)^{-1} B \mathbf{z}", False),
        (r"\mathbf{x} = B^H \mathbf{z}", False),
        (r"c = \mathbf{x} \mathbf{x}^H", False),
        (r"c = \|B \mathbf{x}\|^2", False),
        (r"\mathbf{x} = A \mathbf{x} + c", False),
    ],
)
def test_sizes(latex: str, fits: bool) -> None:
    variables = [Variable(symbol=name, meaning="-", dimension=size) for name, size in SIZES.items()]
    assert (clash(latex, variables) == "") == fits

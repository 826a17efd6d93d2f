from __future__ import annotations

import pytest

from tests.construct.problems import random_equation

pytest.importorskip("pylatexenc", reason="equations are read with it: pip install '.[construct]'")

from wmbxl.construct.edits import edits
from wmbxl.construct.formula import parse
from wmbxl.construct.masks import mask


@pytest.mark.parametrize(
    ("latex", "rule", "expected"),
    [
        (r"\mathbf{A}\mathbf{B} x", "transposed_product", [r"\mathbf{B}\mathbf{A} x"]),
        ("a b", "transposed_product", []),
        (r"\mathbf{A}^{\mathsf{H}} b", "hermitian", [r"\mathbf{A} b"]),
        (r"\mathbf{A}^{\dagger}", "hermitian", [r"\mathbf{A}"]),
        (r"\mathbf{A} b", "hermitian", [r"\mathbf{A}^{H} b"]),
        ("-a + b", "sign", ["a + b", "-a - b"]),
        (r"a \pm b", "sign", [r"a \mp b"]),
        ("a_k b_{i,j}", "index", ["a_i b_{i,j}", "a_k b_{j,j}", "a_k b_{i,i}"]),
        (r"P_{Received} x_{\mathrm{tx}}", "index", []),
        ("a + b - c", "missing_term", ["b - c", "a - c", "a + b"]),
        ("-a + b", "missing_term", ["b", "-a"]),
        (r"\frac{a b}{c}", "missing_factor", [r"\frac{b}{c}", r"\frac{a}{c}"]),
        ("v(t) c", "missing_factor", ["v(t)"]),
        (r"\|x\|_F^2", "wrong_norm", [r"\|x\|_1^2", r"\|x\|_F"]),
        (r"\left|x\right|", "wrong_norm", [r"\left|x\right|^2"]),
        (r"\frac{a}{b} c", "fraction", [r"\frac{b}{a} c"]),
        (r"x^{2} + y^{-1}", "exponent", ["x + y^{-1}", "x^{2} + y"]),
    ],
)
def test_each_rule_makes_its_mistake(latex: str, rule: str, expected: list[str]) -> None:
    assert [edit.latex for edit in edits(latex) if edit.rule == rule] == expected


def test_a_command_does_not_swallow_the_letter_that_comes_behind_it() -> None:
    texts = {edit.latex for edit in edits(r"\frac{\alpha}{b}c")} | {edit.latex for edit in edits(r"\alpha\beta c")}
    assert {r"\frac{b}{\alpha}c", r"\alpha c", r"\beta c"} <= texts
    for text in texts:
        parse(text)


def test_edits_of_random_equations_are_formulas_and_differ() -> None:
    for seed in range(10):
        [latex] = mask(random_equation(seed), 100, 0).answers
        found = edits(latex)
        texts = [edit.latex for edit in found]
        assert len({*texts, latex}) == len(texts) + 1
        for text in texts:
            assert "  " not in text or "  " in latex, "a gap would tell where something is missing"
            parse(text)

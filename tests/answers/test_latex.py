from __future__ import annotations

import pytest

pytest.importorskip("pylatexenc", reason="needs the extra answers")

from wmbxl.answers.latex import NotUnderstood, canonical, tokenise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\left( \dfrac12 \right)", r"(\frac{1}{2})"),
        (r"{\bf H}_k", r"\mathbf{H}_{k}"),
        (r"\bm{h}^{\mathsf{H}}_{k}", r"\mathbf{h}_k^H"),
        (r"\mathbf{h}^\top", r"\mathbf{h}^{\mathrm T}"),
        (r"P_{\mathrm{tx}}", r"P_{tx}"),
        (r"P_{\rm tx}", r"P_{\text{tx}}"),
        (r"a \cdot b", "ab"),
        (r"\operatorname{tr}(x)", r"\mathrm{Tr}(x)"),
        (r"\lVert x \rVert", r"\|x\|"),
        (r"1{,}000", "1000"),
        (r"x\,.", "x"),
        (r"\widehat{x}", r"\hat x"),
    ],
)
def test_spellings_of_one_formula_are_the_same(one, other):
    assert canonical(tokenise(one)) == canonical(tokenise(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\mathbf{a}\cdot\mathbf{b}", r"\mathbf{a}\mathbf{b}"),
        (r"2\cdot 3", "23"),
        (r"{a+b}^2", "a+b^2"),
        (r"x^{12}", "x^12"),
        (r"\mathbf{H}", "H"),
        (r"\mathcal{H}", r"\mathbf{H}"),
        (r"x^\star", r"x^*"),
        (r"\mathbf{h}^T", r"\mathbf{h}^H"),
        (r"\hat{x}", r"\tilde{x}"),
        (r"\epsilon", r"\varepsilon"),
        ("1,2", "12"),
    ],
)
def test_what_may_differ_stays_apart(one, other):
    assert canonical(tokenise(one)) != canonical(tokenise(other))


@pytest.mark.parametrize(
    "latex",
    [
        r"\newcommand{\a}{\a}\a",
        r"\def\x{\x}\x",
        "{" * 5000,
        "}",
        r"\frac",
        "x^",
        r"\begin{cases}1\end{cases}",
        "∑",
        "\x00",
    ],
)
def test_what_is_not_understood_says_so(latex):
    with pytest.raises(NotUnderstood):
        tokenise(latex)

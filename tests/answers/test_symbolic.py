from __future__ import annotations

import pytest

pytest.importorskip("pylatexenc", reason="needs the extra answers")

from hypothesis import given, settings
from hypothesis import strategies as st

from wmbxl.answers.steps import compare


def relation(one: str, other: str) -> str:
    return compare("symbolic", one, other).relation


def test_matrices_do_not_commute_and_numbers_do():
    assert relation(r"\mathbf{A}\mathbf{B}", r"\mathbf{B}\mathbf{A}") == "different"
    assert relation(r"\mathcal{A}\mathcal{B}", r"\mathcal{B}\mathcal{A}") == "different"
    assert relation("ab", "ba") == "equivalent"
    assert relation(r"a\mathbf{B}", r"\mathbf{B}a") == "equivalent"


def test_sizes_are_free_unless_something_ties_them():
    left, right = r"(\mathbf{H}^H\mathbf{H})^{-1}\mathbf{H}^H", r"\mathbf{H}^H(\mathbf{H}\mathbf{H}^H)^{-1}"
    assert relation(left, right) != "equivalent"  # as it would be, if matrices were square
    assert relation(r"\mathbf{I}_N", r"\mathbf{I}_M") == "different"
    determinants = r"\det(\mathbf{I}_N+\mathbf{H}\mathbf{H}^H)", r"\det(\mathbf{I}_M+\mathbf{H}^H\mathbf{H})"
    assert relation(*determinants) == "equivalent"


def test_a_dagger_has_two_meanings_and_neither_is_assumed():
    assert relation(r"\mathbf{H}^\dagger", r"\mathbf{H}^H") == "undecided"
    assert relation(r"\mathbf{H}^\dagger", r"(\mathbf{H}^H\mathbf{H})^{-1}\mathbf{H}^H") == "undecided"
    assert relation(r"\mathbf{H}^\dagger", r"\mathbf{H}^T") == "different"


def test_the_base_of_a_logarithm_may_be_open():
    assert relation(r"\log x", r"\ln x") == relation(r"\log x", r"\log_2 x") == "undecided"
    assert relation(r"\log x", r"2\log x") == "different"
    assert relation(r"\log x^2", r"2\log x") == "equivalent"


def test_a_determinant_in_a_logarithm_is_positive():
    one = r"\log_2\left|\mathbf{I}+\mathbf{R}^{-1}\mathbf{H}\mathbf{Q}\mathbf{H}^H\right|"
    other = r"\log_2\det(\mathbf{R}+\mathbf{H}\mathbf{Q}\mathbf{H}^H)-\log_2\det(\mathbf{R})"
    assert relation(one, other) == "equivalent"


def test_a_bracket_after_a_symbol_has_two_readings():
    assert relation(r"x(t)^2", r"x(t)x(t)") == "equivalent"
    assert relation(r"\mathbf{a}^H(\theta)", r"(\mathbf{a}(\theta))^H") == "equivalent"
    assert (
        relation(r"\mathbf{A}(\mathbf{B}+\mathbf{C})^H", r"\mathbf{A}\mathbf{B}^H+\mathbf{A}\mathbf{C}^H")
        == "equivalent"
    )
    assert relation(r"\mathbf{A}(\mathbf{B})^H", r"\mathbf{A}\mathbf{B}^H") == "undecided"
    assert relation(r"x(t)", r"x(s)") == "different"
    assert relation("f(" * 30 + "x" + ")" * 30, "x") == "undecided"


def test_an_expectation_may_be_over_some_symbols_only():
    assert relation(r"\mathbb{E}[ax]", r"a\mathbb{E}[x]") == "undecided"
    assert relation(r"\mathbb{E}_x[ax]", r"a\mathbb{E}_x[x]") == "equivalent"
    assert relation(r"\mathbb{E}[x^2]", r"\mathbb{E}[x]^2") == "different"


def test_a_vector_may_be_a_row_but_a_column_is_usual():
    assert relation(r"\|\mathbf{h}\|^2", r"\mathbf{h}^H\mathbf{h}") == "equivalent"
    assert relation(r"\|\mathbf{h}\|^2", r"\mathbf{h}\mathbf{h}^H") == "undecided"
    assert relation(r"\mathbf{h}\mathbf{W}\mathbf{s}", r"\mathbf{s}^T\mathbf{W}^T\mathbf{h}^T") == "equivalent"


def test_running_indices_are_bound_and_free_ones_are_not():
    assert relation(r"\sum_{i=1}^{K} a_i b_k", r"\sum_{j=1}^{K} a_j b_k") == "equivalent"
    assert relation(r"\sum_{i=1}^{K} a_i b_k", r"\sum_{k=1}^{K} a_k b_k") == "different"
    assert relation(r"\sum_{i=1}^{K} P_{\mathrm{i}}", r"\sum_{i=1}^{K} P_i") == "different"


def test_symbols_that_the_second_lacks_are_named():
    found = compare("symbolic", r"\frac{P}{N_0 B}", r"\frac{P}{\sigma^2}")
    assert (found.relation, found.foreign) == ("different", ("B", "N"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.333", r"\frac13"),
        ("10", r"10\,\mathrm{MHz}"),
        ("|h|^2", "h^2"),
        ("a/bc", r"\frac{a}{bc}"),
        (r"\sum_k p_k", r"\sum_{k=1}^K p_k"),
        (r"\text{see above, or below}", "x"),
        (r"\otimes", r"\odot"),
        ("10^{1000000}", "10^{999999}"),
        ("2^{3^{4^{5^{6}}}}", "1"),
        (r"\sum_{i=1}^{9}" * 9 + "x_i", "1"),
        (r"\mathbf{A}\otimes" * 30 + r"\mathbf{B}", r"\mathbf{B}"),
    ],
)
def test_what_a_formula_does_not_tell_is_undecided(one, other):
    assert relation(one, other) == "undecided"


_ATOMS = st.sampled_from([r"\mathbf{A}", r"\mathbf{B}", r"\mathbf{C}", r"\mathbf{I}"])
_MATRICES = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]} {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} + {two[1]})"),
        inner.map(lambda one: f"{{{one}}}^H"),
        inner.map(lambda one: f"2{one}"),
    ),
    max_leaves=5,
)


@settings(max_examples=25, deadline=None)
@given(_MATRICES, _MATRICES)
def test_laws_of_matrices_hold_for_any_formulas(one, other):
    assert relation(f"({one}{other})^H", f"({other})^H({one})^H") == "equivalent"
    cycled = rf"\operatorname{{tr}}(\mathbf{{D}}{one}{other})", rf"\operatorname{{tr}}({other}\mathbf{{D}}{one})"
    assert relation(*cycled) == "equivalent"
    assert relation(f"({one}) + ({other})", f"({other}) + ({one})") == "equivalent"
    assert relation(rf"\mathbf{{D}} + {one}", rf"\mathbf{{D}} + 3({one})") == "different"

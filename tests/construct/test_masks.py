from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.construct.problems import random_equation

pytest.importorskip("pylatexenc", reason="equations are read with it: pip install '.[construct]'")

from wmbxl.answers.exact import boxed
from wmbxl.construct.formula import Unsuited, is_call, parse, right_side, symbols
from wmbxl.construct.masks import MASK, Masked, listed, mask, subtrees

SHARES = (25, 50, 75, 100)
LONG = r"y = \frac{a b + c}{d - e} f + g \sqrt{h + i} + \frac{j}{k} \left( l + m \right) + o p"


def masked_or_reason(latex: str, share: int, seed: int) -> Masked | str:
    try:
        return mask(latex, share, seed)  # type: ignore[arg-type]
    except Unsuited as error:
        return error.reason


def check_masked(latex: str, masked: Masked) -> None:
    """What holds for every equation with blanks."""
    assert masked.unmask() == latex
    assert masked.equation.count(MASK) == len(masked.answers) >= 1
    assert all(answer == answer.strip() != "" for answer in masked.answers)
    assert boxed(masked.key) == list(masked.answers)
    assert not re.search(r"\[MASK\]\s*\[MASK\]", masked.equation)
    for answer in masked.answers:
        parse(answer)  # balanced, so that it can be compared


def test_unmasking_gives_back_1000_random_equations() -> None:
    found: Counter[tuple[int, str]] = Counter()
    for seed in range(1000):
        latex, share = random_equation(seed), SHARES[seed % len(SHARES)]
        masked = masked_or_reason(latex, share, seed)
        if isinstance(masked, Masked):
            check_masked(latex, masked)
        found[share, masked if isinstance(masked, str) else "ok"] += 1
    assert {reason for _, reason in found} == {"ok", "no_such_share"}
    assert found[100, "ok"] == 250
    assert min(found[share, "ok"] for share in SHARES) > 125, found


def test_unmasking_gives_back_the_equations_of_real_papers(shared: Path) -> None:
    found: list[str] = []
    for text in pq.read_table(shared / "latex/latex-00000.parquet", columns=["text"])["text"].to_pylist():
        found += re.findall(r"\\begin\{equation\*?\}(.*?)\\end\{equation\*?\}", text, re.S)
    assert len(found) > 200
    made = 0
    for number, latex in enumerate(found[:200]):
        masked = masked_or_reason(latex, SHARES[number % len(SHARES)], 1)
        if isinstance(masked, Masked):
            made += 1
            check_masked(latex, masked)
    assert made > 50


def test_blanks_hold_the_share_and_the_number_grows_with_it() -> None:
    total = symbols(right_side(parse(LONG)).items)  # type: ignore[union-attr]
    for share in (25, 50, 75):
        masked = mask(LONG, share, 0)  # type: ignore[arg-type]
        held = sum(symbols(parse(answer).items) for answer in masked.answers)
        assert abs(held / total - share / 100) <= 1 / 8
        assert len(masked.answers) == share // 25


def test_the_same_seed_gives_the_same_blanks_and_another_seed_others() -> None:
    assert mask(LONG, 25, 7) == mask(LONG, 25, 7)
    assert len({mask(LONG, 25, seed).equation for seed in range(20)}) > 3


@pytest.mark.parametrize(
    ("latex", "share", "reason"),
    [
        ("a + b", 25, "no_right_side"),
        ("y = ", 25, "no_right_side"),
        ("y = [MASK]", 100, "masked_already"),
        (r"y = \frac{a}{b", 25, "not_parsed"),
        (r"y = \left\{ a \begin{x} b", 25, "not_parsed"),
        ("y = a^", 25, "not_parsed"),
        (r"y &= a \\ &\quad + b", 100, "several_lines"),
        ("y = a", 50, "no_such_share"),
        ("{" * 5000 + "}" * 5000, 50, "not_parsed"),
    ],
)
def test_what_can_not_be_masked_has_a_reason(latex: str, share: int, reason: str) -> None:
    assert masked_or_reason(latex, share, 0) == reason


@pytest.mark.parametrize(
    ("latex", "answer"),
    [
        (r"y_k = a x + b, \quad k = 1, 2", "a x + b"),
        (r"y = a = b x.", "b x"),
        (r"y \leq \frac{a}{b} \text{ if } c > 0", r"\frac{a}{b}"),
        (r"y &= a x + b", "a x + b"),
        ("y = f(a, b)", "f(a, b)"),
        (r"P = |x|^2 + \{ a, b \}", r"|x|^2 + \{ a, b \}"),
    ],
)
def test_the_right_side_is_what_the_equation_states(latex: str, answer: str) -> None:
    assert mask(latex, 100, 0).answers == (answer,)


def spans(latex: str) -> set[str]:
    right = right_side(parse(latex))
    assert right is not None
    return {latex[each.start : each.end] for each in subtrees(right, latex)}


def test_blanks_cut_through_nothing() -> None:
    assert "b - c" in spans("y = b - c + d")
    assert "b - c" not in spans("y = a - b - c"), "behind a minus, it would need parentheses"
    assert r"\sum_k a" not in spans(r"y = \sum_k a b"), "the sum goes on"
    assert r"\log" not in spans(r"y = \log x")
    assert not {"v", "(t)", "t"} & spans("y = v(t) c"), "a symbol and its arguments are one"
    assert not {"H", "-1"} & spans(r"y = A^{H} B^{-1} c"), "marks are no expressions"
    assert "a" not in spans("y = b a_{k}"), "a subscript belongs to its symbol"
    assert "n" in spans("y = x^{n} z") and "n" not in spans("y = x^n z"), "[MASK] needs braces around it"
    assert not {"[", "0, 1"} & spans("y = [0, 1) + a")
    assert "2" not in spans("y = 2 a"), "nobody can tell a bare number"


def test_no_two_blanks_can_be_exchanged_within_a_sum_or_product() -> None:
    for seed in range(50):
        masked = masked_or_reason("y = a + b + c + d", 50, seed)
        assert isinstance(masked, str) or len(masked.answers) == 1
        masked = masked_or_reason("y = a b c d", 50, seed)
        assert isinstance(masked, str) or len(masked.answers) == 1


def test_arguments_are_told_from_factors() -> None:
    call = parse("f(t)").items
    product = parse("f(a + b)").items
    assert is_call(*call)
    assert not is_call(*product)


def test_listed() -> None:
    assert [listed(parts) for parts in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]

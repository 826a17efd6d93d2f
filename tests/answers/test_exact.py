from __future__ import annotations

import pytest

from wmbxl.answers.exact import boxed, letters, normalise, score


@pytest.mark.parametrize(
    ("response", "last"),
    [
        ("The answer is B.", "B"),
        ("the correct answer is (C)", "C"),
        ("Answer: **D**", "D"),
        (r"final answer: $\boxed{A}$", "A"),
        (r"\boxed{\text{B}}", "B"),
        ("I weighed A and B.\n\nC", "C"),
        ("Option A fails. Option B holds.", "B"),
        ("**A** is tempting, yet\n**B)**", "B"),
        ("(D)", "D"),
    ],
)
def test_a_stated_letter_is_found(response, last):
    assert letters(response)[-1] == last
    assert score(response, last, "MCQ").correct


@pytest.mark.parametrize(
    "response",
    [
        "",
        "A channel with gain $B$.",
        "The answer is a matrix.",
        "Option Analysis",
        r"\boxed{AB}",
        "Options A to D differ in sign.",
    ],
)
def test_no_letter_is_stated(response):
    assert letters(response) == []
    found = score(response, "A", "MCQ")
    assert (found.correct, found.stated) == (False, ())


def test_boxes_nest_escape_and_may_never_close():
    assert boxed(r"\boxed{\frac{a}{\sqrt{b}}} then \boxed{\{x\}}") == [r"\frac{a}{\sqrt{b}}", r"\{x\}"]
    assert boxed(r"\boxed{done} \boxed{cut off") == ["done"]
    assert boxed("none") == []
    assert boxed(r"\boxed{a \\ {b}}") == [r"a \\ {b}"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\dfrac{a}{b}", r"\frac{a}{b}"),
        (r"\left(x\right)", "(x)"),
        (r"x_{k}", "x_k"),
        (r"\text{SNR}", r"\mathrm{SNR}"),
        (r"\bm{H}", r"\mathbf{H}"),
        (r"$a \, b$.", "ab"),
        (r"a \le b", r"a \leq b"),
    ],
)
def test_spelling_does_not_matter(one, other):
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("x_{kl}", "x_kl"), (r"\left", r"\leftarrow"), ("a+b", "b+a"), ("H", "h")])
def test_substance_does(one, other):
    assert normalise(one) != normalise(other)


def test_several_answers_count_in_order_and_from_the_end():
    key = r"\boxed{x}, \boxed{y}"
    assert score(r"\boxed{draft} so \boxed{x} and \boxed{ y }", key, "fill_blank_50").correct
    assert not score(r"\boxed{y} and \boxed{x}", key, "fill_blank_50").correct
    assert not score(r"\boxed{y}", key, "fill_blank_50").correct
    assert not score("x, y", key, "fill_blank_50").correct


def test_further_boxes_may_stand_between_but_not_after():
    key = r"\boxed{x}, \boxed{y}"
    assert score(r"\boxed{x}, a step \boxed{t}, \boxed{y}", key, "fill_blank_50").correct
    assert not score(r"\boxed{x} and \boxed{y}, or rather \boxed{z}", key, "fill_blank_50").correct
    assert not score(r"\boxed{x}? No, \boxed{z}", r"\boxed{x}", "fill_blank_25").correct
    assert score(r"\boxed{x}", key, "fill_blank_50").stated == ("x",)


def test_the_last_letter_counts_not_the_first():
    assert score("The answer is A. Wait: the answer is B", "B", "MCQ").correct
    assert not score("The answer is A. Wait: the answer is B", "A", "MCQ").correct


@pytest.mark.parametrize("piece", [" ", "\n", "answer ", "answer\n\n\n\n", "**", r"\boxed{ ", "{", r"\boxed{x} "])
def test_long_responses_end(piece):
    assert not score(piece * 100_000, "A", "MCQ").correct
    assert not score(piece * 100_000, r"\boxed{y}", "fill_blank_25").correct


def test_a_key_without_a_box():
    assert score(r"\boxed{\dfrac12}", r"\frac12", "fill_blank_25").correct

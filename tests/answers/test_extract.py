from __future__ import annotations

import pytest

from wmbxl.answers.extract import split, stated


@pytest.mark.parametrize(
    ("response", "wanted", "parts"),
    [
        (r"so \boxed{\frac{a}{\sqrt{b}}}.", 1, (r"\frac{a}{\sqrt{b}}",)),
        (r"\boxed{a}, \boxed{b} and \boxed{c}", 3, ("a", "b", "c")),
        (r"\boxed{draft} … \boxed{a}, then \boxed{b}", 2, ("a", "b")),
        (r"\boxed{a, f(b, c) \text{ and } d}", 3, ("a", "f(b, c)", "d")),
        (r"The final answer is $\frac{1}{2}$.", 1, (r"\frac{1}{2}",)),
        ("Answer: 42", 1, ("42",)),
        ("**Answer:** 42", 1, ("42",)),
        ("so she has 6 left\n#### 6", 1, ("6",)),
        (r"The answer is $a$, then $b$", 2, ("a", "b")),
        (r"first $x$, so \[ y = x^2 \]", 1, ("y = x^2",)),
        ("x + 1", 1, ("x + 1",)),
    ],
)
def test_the_last_statement_is_found(response, wanted, parts):
    assert stated(response, wanted).parts == parts


@pytest.mark.parametrize("response", ["", "   \n", "I cannot tell.", "Let me think about\nthis"])
def test_nothing_is_stated(response):
    assert stated(response, 1).parts == ()


def test_a_formula_in_passing_is_no_sure_statement():
    assert not stated("Let $x = 1$ be the gain.", 1).sure
    assert stated(r"\boxed{x}", 1).sure
    assert stated("answer: x", 1).sure


def test_fewer_boxes_than_wanted_are_returned_as_they_are():
    assert stated(r"\boxed{a}", 3).parts == ("a",)


def test_lists_split_outside_of_brackets():
    assert split(r"[0, 1), f(x, y); z and w") == ["[0, 1)", "f(x, y)", "z", "w"]
    assert split(r"\{a, b\}, c") == [r"\{a, b\}", "c"]


@pytest.mark.parametrize("piece", [r"\boxed{", "$", r"\[", "answer", "{", "(", "\n", "****", r"\\"])
def test_long_hostile_responses_end(piece):
    assert stated(piece * 200_000, 2) is not None

from __future__ import annotations

import pytest

from tests.construct.problems import make_problem

pytest.importorskip("pylatexenc", reason="equations are read with it: pip install '.[construct]'")

from wmbxl.construct.solvability import check, leak, near, other_answer


def test_a_background_that_holds_the_answer_is_a_leak() -> None:
    told = r"Let $R$ be \( \dfrac{a}{ b } \), as said."
    composite = make_problem(background=told, correct_answer=r"\boxed{\frac{a}{b}}")
    symbol = make_problem(background="Let $a$ be given.", correct_answer=r"\boxed{a}")
    assert leak(composite) == r"it holds \frac{a}{b}"
    assert leak(symbol) == "", "a symbol that is asked for has to be defined"
    option = {"A": r"\frac{a}{b}", "B": "a", "C": "b", "D": "a b"}
    assert leak(make_problem(type="MCQ", background=told, options=option, correct_answer="A"))


@pytest.mark.parametrize(
    ("equation", "key", "found"),
    [
        (r"$$y = \frac{[MASK] c}{2} [MASK]$$", r"\boxed{a} and \boxed{b}", "answers 1 and 2 can be exchanged"),
        (r"$$y = [MASK] [MASK] x$$", r"\boxed{a} and \boxed{b}", "two blanks touch"),
        (r"$$y = \frac{[MASK]}{[MASK]}$$", r"\boxed{a} and \boxed{b}", ""),
        (r"$$y = [MASK] + x^{[MASK]}$$", r"\boxed{a} and \boxed{b}", ""),
    ],
)
def test_blanks_whose_answers_can_be_exchanged(equation: str, key: str, found: str) -> None:
    assert other_answer(make_problem(equation=equation, correct_answer=key)) == found


def test_options_that_may_be_right_too() -> None:
    options = {"A": "a + b", "B": "b + a", "C": "a - b", "D": "a b"}
    assert other_answer(make_problem(type="MCQ", options=options, correct_answer="A")).startswith("option B")
    fine = options | {"B": "2 a + b"}
    assert other_answer(make_problem(type="MCQ", options=fine, correct_answer="A")) == ""


TEXT = (
    "the base station with many antennas sends a symbol to each of the users over a flat fading channel while a relay "
    "listens in the first slot and forwards what it heard in the second one with a fixed gain under a power constraint"
)


def test_repeats_are_found_across_the_set_and_the_first_stays() -> None:
    first = make_problem(1, background=TEXT)
    same = make_problem(1, background=TEXT.replace(" ", "  "), problem_id="2401.00009v1#1-x", equation_id="other")
    like = make_problem(1, background=TEXT + " today", problem_id="2401.00008v1#1-x", equation_id="another")
    sibling = make_problem(1, background=TEXT + " now", problem_id="2401.00001v1#1-y")
    unlike = make_problem(2, background=" ".join(reversed(TEXT.split())))
    kept, dropped = check([first, same, like, sibling, unlike])
    assert [each.problem_id for each in kept] == [first.problem_id, sibling.problem_id, unlike.problem_id]
    assert {drop.item: drop.reason for drop in dropped} == {
        same.problem_id: "duplicate",
        like.problem_id: "near_duplicate",
    }
    assert first.problem_id in dropped[0].detail


def test_similarity_is_that_of_shingles() -> None:
    one, other = make_problem(1, background=TEXT), make_problem(1, background=TEXT + " so")
    [(first, second, similarity)] = near([one, other.model_copy(update={"equation_id": "other"})])
    assert (first, second) == (0, 1)
    assert 0.8 < similarity < 1
    assert not [*near([])]

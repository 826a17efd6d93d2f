from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.construct.problems import PAPER, make_extraction

pytest.importorskip("pylatexenc", reason="equations are read with it: pip install '.[construct]'")

from wmbxl.construct.masks import MASK
from wmbxl.construct.tasks import SHARES, make_problems

EQUATIONS = (
    r"y = \mathbf{h}_{k}^{H} \mathbf{w}_k x + n",
    r"R = \frac{a b}{a + b} \left( 1 + c d \right)",
    r"z = \sqrt{P} \alpha_k + \beta",
)


def made_of(number: int) -> list[str]:
    problems, drops = make_problems(make_extraction(EQUATIONS[number], number), PAPER, [*SHARES, "proof"], 3)
    return [each.model_dump_json() for each in (*problems, *drops)]


def test_each_format_is_a_problem_or_a_drop_with_a_reason() -> None:
    problems, drops = make_problems(make_extraction(EQUATIONS[0]), PAPER, [*SHARES, "proof"], 0)
    assert sorted([*(each.type for each in problems), *(each.item.rpartition("-")[2] for each in drops)]) == sorted(
        SHARES
    )
    for problem in problems:
        assert problem.equation.startswith("$$y = ") and MASK in problem.equation
        assert problem.text.split("\n\n")[-1] == problem.equation
        assert problem.text in problem.prompt.replace("Background:\n", "").replace("Question:\n", "").replace(
            "Equation:\n", ""
        )
        assert problem.accepted_by is None
    [choice] = [each for each in problems if each.type == "MCQ"]
    assert choice.options is not None
    assert choice.options[choice.correct_answer] == r"\mathbf{h}_{k}^{H} \mathbf{w}_k x + n"
    assert all(f"{letter}) ${latex}$" in choice.prompt for letter, latex in choice.options.items())


def test_a_lemma_is_a_statement_to_prove() -> None:
    lemma = make_extraction("If $a > b$ then $b < a$.", kind="lemma")
    [problem], drops = make_problems(lemma, PAPER, [*SHARES, "proof"], 0)
    assert (problem.type, problem.correct_answer, drops) == ("proof", "", [])
    assert "If $a > b$ then $b < a$." in problem.prompt


def test_order_and_number_of_workers_change_no_byte() -> None:
    alone = [made_of(number) for number in range(len(EQUATIONS))]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert [*pool.map(made_of, reversed(range(len(EQUATIONS))))] == alone[::-1]

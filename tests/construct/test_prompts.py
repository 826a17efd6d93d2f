from __future__ import annotations

import pytest

from wmbxl.construct.prompts import prompt, question, surface


@pytest.mark.parametrize(
    ("blanks", "instruction"),
    [
        (1, r"one blank. Reason step by step, then end with your answer in this form: \boxed{answer}"),
        (2, r"two blanks. Reason step by step, then end with two answers in this form: \boxed{first}, \boxed{second}"),
        (3, r"three answers in this form: \boxed{first}, \boxed{second}, \boxed{next}"),
    ],
)
def test_the_instruction_names_the_number_of_blanks(blanks: int, instruction: str) -> None:
    equation = "$$y = " + " + ".join(["[MASK]"] * blanks) + "$$"
    written = prompt("fill_blank_75", "B.", question("fill_blank_75", blanks), equation)
    assert written.endswith(instruction)
    assert ("in the order in which they stand" in written) == (blanks > 1)


def test_sections_come_in_the_order_of_the_release() -> None:
    written = prompt("MCQ", " B. ", "Q?", "$$E$$", {"A": "x", "B": r"\frac{x}{2}"})
    titles = ["Background:", "Question:", "Equation:", "Options:", "Reason step by step"]
    assert [written.index(title) for title in titles] == sorted(written.index(title) for title in titles)
    assert "A) $x$\nB) $\\frac{x}{2}$" in written
    assert surface(" B. ", "Q?", "$$E$$") == "B.\n\nQ?\n\n$$E$$"

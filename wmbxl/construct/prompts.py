r"""The words of a problem: question, equation, options, rules, and what to do about the blanks.

The order is the release's: background, question, equation, then the rules of the format and the instruction. The first
three are the surface that an audit probes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wmbxl.construct.masks import MASK
from wmbxl.construct.records import ProblemType

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def question(type: ProblemType, blanks: int) -> str:
    """Ask for what is missing.

    Examples
    --------
    >>> question("fill_blank_50", 2)
    'Which two expressions belong in the blanks of the equation?'
    >>> question("fill_blank_100", 1)
    'What is the complete right-hand side of the equation?'
    """
    if type == "proof":
        return "Prove the following statement."
    if type == "MCQ":
        return "Which of the options completes the equation?"
    if type == "fill_blank_100":
        return "What is the complete right-hand side of the equation?"
    if blanks == 1:
        return "Which expression belongs in the blank of the equation?"
    return f"Which {_number(blanks)} expressions belong in the blanks of the equation?"


def surface(background: str, question: str, equation: str) -> str:
    """Join what an audit probes, by blank lines."""
    return "\n\n".join((background.strip(), question, equation))


def prompt(
    type: ProblemType, background: str, question: str, equation: str, options: Mapping[str, str] | None = None
) -> str:
    r"""Write everything that a model is shown.

    Parameters
    ----------
    type : str
        The release's name of the format.
    background, question : str
    equation : str
        With its ``[MASK]``s, between ``$$``; for a proof, the statement.
    options : mapping of str to str, optional
        For multiple choice, LaTeX without dollar signs by letter.

    Examples
    --------
    >>> print(prompt("fill_blank_25", "Let $P$ be a power.", question("fill_blank_25", 1), "$$E = [MASK] t$$"))
    Background:
    Let $P$ be a power.
    <BLANKLINE>
    Question:
    Which expression belongs in the blank of the equation?
    <BLANKLINE>
    Equation:
    $$E = [MASK] t$$
    <BLANKLINE>
    Rules:
    - Each [MASK] is a blank: one expression was taken out there, as a whole.
    - Use the symbols of the background, and no others.
    - Give what was taken out, and nothing that still stands in the equation.
    <BLANKLINE>
    The equation has one blank. Reason step by step, then end with your answer in this form: \boxed{answer}
    """
    sections = {"Background": background.strip(), "Question": question, "Statement": equation}
    if type == "proof":
        return _sections(sections, "Give a complete proof.")
    sections["Equation"] = sections.pop("Statement")
    if type == "MCQ":
        sections["Options"] = "\n".join(f"{letter}) ${latex}$" for letter, latex in (options or {}).items())
        return _sections(sections, r"Reason step by step, then end with the letter of one option: \boxed{letter}")
    blanks = equation.count(MASK)
    sections["Rules"] = "\n".join(f"- {rule}" for rule in _rules(blanks))
    return _sections(sections, _instruction(blanks))


def _rules(blanks: int) -> Sequence[str]:
    rules = [
        f"Each {MASK} is a blank: one expression was taken out there, as a whole.",
        "Use the symbols of the background, and no others.",
        "Give what was taken out, and nothing that still stands in the equation.",
    ]
    return rules if blanks == 1 else [*rules, "Answer for every blank, in the order in which they stand."]


def _instruction(blanks: int) -> str:
    if blanks == 1:
        return (
            r"The equation has one blank. Reason step by step, then end with your answer in this form: \boxed{answer}"
        )
    number = _number(blanks)
    form = ", ".join([r"\boxed{first}", r"\boxed{second}", *[r"\boxed{next}"] * (blanks - 2)])
    return f"The equation has {number} blanks. Reason step by step, then end with {number} answers in this form: {form}"


def _sections(sections: Mapping[str, str], instruction: str) -> str:
    return "\n\n".join([*(f"{title}:\n{text}" for title, text in sections.items()), instruction])


def _number(blanks: int) -> str:
    return NUMBERS[blanks] if blanks < len(NUMBERS) else str(blanks)

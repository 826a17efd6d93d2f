"""Prompts, keys and types from benchmark records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wmbxl.errors import BenchmarkError, FieldNotFound, UsageError
from wmbxl.evaluate.questions import read_questions


def written(folder: Path, *records: dict[str, Any]) -> str:
    path = folder / "problems.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records))
    return str(path)


CHOICE = {"problem_id": "a", "text": "Which {x}?", "type": "MCQ", "correct_answer": "B"}
BLANK = {"problem_id": "b", "text": r"$\mathbf{H} = [MASK]$", "type": "fill_blank_25", "correct_answer": r"\boxed{G}"}


def test_each_format_is_told_how_to_answer(tmp_path: Path) -> None:
    choice, blank = read_questions(written(tmp_path, CHOICE, BLANK)).questions
    assert choice.prompt.startswith("Which {x}?\n\n")
    assert "The answer is X." in choice.prompt
    assert blank.prompt.startswith(r"$\mathbf{H} = [MASK]$")
    assert r"\boxed{}" in blank.prompt
    assert (blank.answer, blank.type) == (r"\boxed{G}", "fill_blank_25")


def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    [question] = read_questions(written(tmp_path, BLANK), template=r"Solve {text} in \frac{1}{2} a minute.").questions
    assert question.prompt == r"Solve $\mathbf{H} = [MASK]$ in \frac{1}{2} a minute."
    with pytest.raises(UsageError, match=r"\{text\}"):
        read_questions(written(tmp_path, BLANK), template="Solve it.")


def test_numbers_are_keys_and_types_may_be_absent(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": 1, "question": "6 times 7?", "answer": 42})
    [question] = read_questions(path, id_field="id", text_fields=["question"], answer_field="answer").questions
    assert (question.problem_id, question.answer, question.type) == ("1", "42", "")


def test_what_is_no_unicode_is_replaced(tmp_path: Path) -> None:
    [question] = read_questions(written(tmp_path, {**BLANK, "text": "\ud835?", "correct_answer": "\ud835"})).questions
    assert question.prompt.startswith("\ufffd?")
    assert question.answer == "\ufffd"


def test_problems_without_a_key_are_all_named(tmp_path: Path) -> None:
    path = written(
        tmp_path, CHOICE, {**BLANK, "correct_answer": ""}, {**BLANK, "problem_id": "c", "correct_answer": None}
    )
    with pytest.raises(BenchmarkError) as error:
        read_questions(path)
    assert [issue.split(":")[0] for issue in error.value.issues] == ["problem 'b'", "problem 'c'"]


def test_a_type_field_that_no_record_has_is_named(tmp_path: Path) -> None:
    with pytest.raises(FieldNotFound, match="--type-field"):
        read_questions(written(tmp_path, CHOICE), type_field="kind")

"""A benchmark's problems as questions to a model: prompt, key and type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wmbxl.answers.exact import CHOICE
from wmbxl.benchmark import ANSWER, PROMPT, Benchmark, read_benchmark
from wmbxl.errors import BenchmarkError, FieldNotFound, UsageError
from wmbxl.records import get_field
from wmbxl.text import replace_surrogates

PLACE = "{text}"
CHOICE_TEMPLATE = (
    "{text}\n\nThink step by step. End with a line that says: The answer is X. "
    "X stands for the letter of the right option."
)
BOXED_TEMPLATE = (
    "{text}\n\nThink step by step. Then give the answer in \\boxed{}. If several are asked for, put each into a "
    "\\boxed{} of its own, in the order in which they are asked for."
)


@dataclass(frozen=True)
class Question:
    """What a model is asked, and the key to it.

    Attributes
    ----------
    problem_id : str
        The problem.
    prompt : str
        The whole message that the model gets.
    answer : str
        The key.
    type : str
        Task format; ``"MCQ"`` is multiple choice.
    record : mapping
        The benchmark's record.
    """

    problem_id: str
    prompt: str
    answer: str
    type: str
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class QuestionSet:
    """All questions of a benchmark, in its order.

    Attributes
    ----------
    questions : tuple of Question
        The questions.
    source, sha256 : str
        The file that they are from, and its digest.
    """

    questions: tuple[Question, ...]
    source: str
    sha256: str


def read_questions(
    path: str,
    *,
    id_field: str = "problem_id",
    text_fields: Sequence[str] = ("text",),
    answer_field: str = "correct_answer",
    type_field: str | None = None,
    template: str | None = None,
) -> QuestionSet:
    """Read a benchmark and write its prompts.

    Parameters
    ----------
    path, id_field, text_fields, answer_field
        As for `wmbxl.read_benchmark`.
    type_field : str, optional
        The field with the task format; by default ``type`` where records have it. Problems without a type are
        compared as mathematics.
    template : str, optional
        The prompt, with ``{text}`` where the problem goes. By default one for multiple choice and one for the rest.

    Returns
    -------
    QuestionSet
        One question per problem.

    Raises
    ------
    FieldNotFound
        No record has one of the fields.
    BenchmarkError
        There are bad records, or problems without a key.
    UsageError
        The template lacks ``{text}``.
    """
    if template is not None and PLACE not in template:
        raise UsageError(f"the prompt has no {PLACE}, where the problem's text goes: add it to the file of --prompt")
    benchmark = read_benchmark(path, id_field, text_fields, answer_field)
    _check(benchmark, path, answer_field, type_field)
    return QuestionSet(
        tuple(
            _question(problem.id, problem.surfaces, problem.record, type_field or "type", template)
            for problem in benchmark.problems
        ),
        path,
        benchmark.sha256,
    )


def _check(benchmark: Benchmark, path: str, answer_field: str, type_field: str | None) -> None:
    lacking = [problem.id for problem in benchmark.problems if not problem.surfaces[ANSWER].strip()]
    if lacking:
        raise BenchmarkError(
            path, [f"problem {name!r}: no {answer_field}, so no answer can be right" for name in lacking]
        )
    if type_field and all(get_field(problem.record, type_field) is None for problem in benchmark.problems):
        raise FieldNotFound(path, type_field, benchmark.problems[0].record, "--type-field")


def _question(
    name: str, surfaces: Mapping[str, str], record: Mapping[str, Any], type_field: str, template: str | None
) -> Question:
    kind = str(get_field(record, type_field) or "")
    wording = template or (CHOICE_TEMPLATE if kind == CHOICE else BOXED_TEMPLATE)
    prompt = replace_surrogates(wording.replace(PLACE, surfaces[PROMPT]))  # requests and records are UTF-8
    return Question(name, prompt, replace_surrogates(surfaces[ANSWER]), kind, record)

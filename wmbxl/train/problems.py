"""The problems of a training: which are trained on, which tell checkpoints apart, and which are left for the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from wmbxl.benchmark import PROMPT, read_benchmark
from wmbxl.errors import BenchmarkError, UsageError
from wmbxl.evaluate.questions import Question, read_questions
from wmbxl.papers import paper_disjoint_split
from wmbxl.records import get_field
from wmbxl.tables import read_ids
from wmbxl.train.settings import DataConfig, ProblemsConfig


@dataclass(frozen=True)
class Item:
    """A problem, and what decides whether it may be trained on.

    Attributes
    ----------
    question : Question
        What the model is asked, and the key.
    text : str
        What is compared with other problems, without instructions that all prompts share.
    paper : str or None
        Its source.
    split : str or None
        The split that its record names.
    """

    question: Question
    text: str
    paper: str | None
    split: str | None

    @property
    def id(self) -> str:
        """The problem's id."""
        return self.question.problem_id


def read_items(name: str, chosen: ProblemsConfig, data: DataConfig) -> list[Item]:
    """Read the problems that a section of the settings chooses.

    Parameters
    ----------
    name : str
        The section's name, for messages.
    chosen : ProblemsConfig
        The files, and which of their records.
    data : DataConfig
        How records are read.

    Returns
    -------
    list of Item
        In the files' order.

    Raises
    ------
    FieldNotFound, BenchmarkError
        As for `wmbxl.read_benchmark`; besides, an id that stands in two files.
    UsageError
        No record is chosen, or an id of the list is in no file.
    """
    items = [item for path in chosen.paths for item in _read_file(path, data)]
    names = pd.Series([item.id for item in items])
    twice = sorted(set(names[names.duplicated()]))
    if twice:
        raise BenchmarkError(f"data.{name}", [f"problem {name!r} stands in more than one file" for name in twice])
    if chosen.split is not None:
        items = [item for item in items if item.split == chosen.split]
    if chosen.ids is not None:
        listed = set(read_ids(chosen.ids, f"data.{name}.ids"))
        strange = sorted(listed - set(names))
        if strange:
            raise UsageError(
                f"{chosen.ids}: {len(strange)} id(s) are in no file of data.{name}.paths, such as {strange[0]!r}"
            )
        items = [item for item in items if item.id in listed]
    if not items:
        raise UsageError(f"data.{name}: no record is chosen: check its split ({chosen.split!r}) and ids")
    return items


def _read_file(path: str, data: DataConfig) -> list[Item]:
    questions = read_questions(
        path,
        id_field=data.id_field,
        text_fields=data.prompt_fields,
        answer_field=data.answer_field,
        type_field=data.type_field,
        template=data.prompt,
    )
    compared = read_benchmark(path, data.id_field, data.text_fields)
    return [
        Item(
            question,
            problem.surfaces[PROMPT],
            _text(get_field(problem.record, data.paper_field)),
            _text(get_field(problem.record, data.split_field)) if data.split_field else None,
        )
        for question, problem in zip(questions.questions, compared.problems, strict=True)
    ]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def hold_out(items: Sequence[Item], data: DataConfig, seed: int) -> tuple[list[Item], list[Item]]:
    """Set problems apart that tell checkpoints apart, so that the test need not.

    Returns
    -------
    (train, validation) : tuple of list of Item
        No source paper is on both sides; formats are balanced.

    Raises
    ------
    UsageError
        Problems have no paper, or there are too few papers.
    """
    records = pd.DataFrame(
        {"problem_id": item.id, data.paper_field: item.paper, "type": item.question.type} for item in items
    )
    split = paper_disjoint_split(records, data.validation, seed, data.paper_field)
    if not len(split.train) or not len(split.test):
        raise UsageError(
            f"data.validation = {data.validation:g} leaves nothing to train on or nothing to validate with: "
            f"{len(items)} problem(s) come from {records[data.paper_field].nunique()} paper(s), and a paper stays whole"
        )
    held_out = set(split.test.ids)
    return [item for item in items if item.id not in held_out], [item for item in items if item.id in held_out]

"""A table of verdicts in which a judge decides what is still open."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from wmbxl.answers.judge import PROMPT_VERSION, Case, ModelJudge
from wmbxl.errors import FieldNotFound, UsageError
from wmbxl.evaluate.questions import QuestionSet

MEANING = {"correct": True, "incorrect": False, "undecided": None}


def open_rows(table: pd.DataFrame) -> pd.Series[bool]:
    """Mark the rows without a verdict that have a response.

    Examples
    --------
    >>> rows = pd.DataFrame({"is_correct": [True, None, None], "response": ["1", "2", " "]}, dtype=object)
    >>> open_rows(rows).tolist()
    [False, True, False]
    """
    undecided = table["is_correct"].isna() if "is_correct" in table else pd.Series(True, index=table.index)
    said: pd.Series[bool] = table["response"].fillna("").astype(str).str.strip() != ""
    return undecided & said


def judge_table(
    table: pd.DataFrame, questions: QuestionSet, judge: ModelJudge, told: Callable[[], None] | None = None
) -> pd.DataFrame:
    """Ask a judge about the responses that have no verdict yet.

    Parameters
    ----------
    table : pandas.DataFrame
        ``model, problem_id, response``, and ``is_correct`` if some answers are decided already.
    questions : QuestionSet
        The benchmark, with the problem's bare text as prompt.
    judge : ModelJudge
        Who is asked.
    told : callable, optional
        As for `wmbxl.answers.judge.ModelJudge.decide`.

    Returns
    -------
    pandas.DataFrame
        The table with the judge's verdicts in ``is_correct, step, reason``; ``judge`` and ``judge_prompt``, the version
        of the prompt, tell where it was asked.

    Raises
    ------
    FieldNotFound
        The table lacks a column.
    UsageError
        Problems are not in the benchmark, or nothing is open.
    """
    for name in ("model", "problem_id", "response"):
        if name not in table:
            raise FieldNotFound("answers", name, table.columns, f"its proper name, {name!r}")
    known = {question.problem_id: question for question in questions.questions}
    asked = table[open_rows(table)]
    strange = sorted(set(asked["problem_id"].astype(str)) - known.keys())
    if strange:
        raise UsageError(
            f"{len(strange)} problem(s) with open answers are not in {questions.source}, such as {strange[0]!r}. Give "
            "--benchmark the file that was evaluated."
        )
    cases = [
        Case(known[str(name)].prompt, str(response), known[str(name)].answer)
        for name, response in zip(asked["problem_id"], asked["response"], strict=True)
    ]
    verdicts = judge.decide(cases, told)
    columns = {
        "is_correct": [MEANING[verdict.outcome] for verdict in verdicts],
        "step": [verdict.step for verdict in verdicts],
        "reason": [verdict.reason for verdict in verdicts],
        "judge": judge.model,
        "judge_prompt": PROMPT_VERSION,
    }
    filled = table.reindex(columns=list(dict.fromkeys([*table.columns, *columns]))).astype(object)
    filled = filled.where(filled.notna(), None)
    for name, values in columns.items():
        filled.loc[asked.index, name] = pd.Series(values, index=asked.index, dtype=object)
    return filled

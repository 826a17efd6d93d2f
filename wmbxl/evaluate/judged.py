"""A table of verdicts in which a judge decides what is still open."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from wmbxl.answers.judge import PROMPT_VERSION, Case, ModelJudge
from wmbxl.errors import FieldNotFound, UsageError, VerdictError
from wmbxl.evaluate.questions import QuestionSet
from wmbxl.models.asking import Outcome
from wmbxl.models.call import Call
from wmbxl.stats.verdicts import as_verdict
from wmbxl.tables import read_records

MEANING = {"correct": True, "incorrect": False, "undecided": None}


def read_answers(path: str) -> pd.DataFrame:
    """Read a table of answers.

    Parameters
    ----------
    path : str
        A ``.jsonl``, ``.csv`` or ``.parquet`` file with ``model, problem_id, response``, and ``is_correct`` if some
        answers are decided already; ``wmbxl evaluate`` and ``wmbxl import`` write such files.

    Returns
    -------
    pandas.DataFrame
        All columns, with ``is_correct`` as True, False or None.

    Raises
    ------
    FieldNotFound
        A column is absent.
    VerdictError
        Some ``is_correct`` say neither right nor wrong; every one of them is listed.
    UsageError
        The file is no table.
    """
    table = pd.DataFrame(read_records(path, "ANSWERS"), dtype=object)
    for name in ("model", "problem_id", "response"):
        if name not in table:
            raise FieldNotFound(path, name, table.columns, f"its proper name, {name!r}")
    if "is_correct" not in table:
        return table.assign(is_correct=None)
    verdicts, issues = [], []
    for number, value in enumerate(table["is_correct"], start=1):
        try:
            verdicts.append(as_verdict(value))
        except ValueError as error:
            issues.append(f"record {number}: is_correct: {error}")
    if issues:
        raise VerdictError(path, issues)
    return table.assign(is_correct=pd.Series(verdicts, dtype=object))


def open_rows(table: pd.DataFrame) -> pd.Series[bool]:
    """Mark the rows without a verdict that have a response.

    Examples
    --------
    >>> rows = pd.DataFrame({"is_correct": [True, None, None], "response": ["1", "2", " "]}, dtype=object)
    >>> open_rows(rows).tolist()
    [False, True, False]
    """
    said: pd.Series[bool] = table["response"].fillna("").astype(str).str.strip() != ""
    return table["is_correct"].isna() & said


def judge_table(
    table: pd.DataFrame,
    questions: QuestionSet,
    judge: ModelJudge,
    told: Callable[[Call, Outcome], None] | None = None,
) -> pd.DataFrame:
    """Ask a judge about the responses that have no verdict yet.

    Parameters
    ----------
    table : pandas.DataFrame
        What `read_answers` returns.
    questions : QuestionSet
        The benchmark, with the problem's bare text as prompt.
    judge : ModelJudge
        Who is asked.
    told : callable, optional
        As for `wmbxl.models.asking.ask_all`.

    Returns
    -------
    pandas.DataFrame
        The table with the judge's verdicts in ``is_correct, outcome, step, reason``. Where it was asked, ``judge`` is
        its name and ``judge_prompt`` the version of its prompt.

    Raises
    ------
    UsageError
        Problems with open answers are not in the benchmark.
    """
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
        "outcome": [verdict.outcome for verdict in verdicts],
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

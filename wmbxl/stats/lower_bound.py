"""Accuracy by exact format beside accuracy by judge."""

from __future__ import annotations

import pandas as pd

from wmbxl.answers.exact import score
from wmbxl.errors import FieldNotFound, UsageError


def score_responses(
    responses: pd.DataFrame,
    benchmark: pd.DataFrame,
    response_field: str = "response",
    answer_field: str = "correct_answer",
    type_field: str = "type",
) -> pd.DataFrame:
    r"""Score responses by their format alone.

    Parameters
    ----------
    responses : pandas.DataFrame
        ``model, problem_id`` and `response_field`; a null response is a missing verdict.
    benchmark : pandas.DataFrame
        ``problem_id``, `answer_field` and `type_field`.
    response_field, answer_field, type_field : str
        Columns with the response, the key and the task format.

    Returns
    -------
    pandas.DataFrame
        ``model, problem_id, is_correct``, ready for `wmbxl.stats.verdicts.verdicts_from_frame`.

    Raises
    ------
    FieldNotFound
        A column is absent.
    UsageError
        A response belongs to a problem that the benchmark lacks.

    Examples
    --------
    >>> responses = pd.DataFrame({"model": ["m"], "problem_id": ["a"], "response": ["So the answer is B."]})
    >>> benchmark = pd.DataFrame({"problem_id": ["a"], "correct_answer": ["B"], "type": ["MCQ"]})
    >>> score_responses(responses, benchmark)["is_correct"].tolist()
    [True]
    """
    if response_field not in responses.columns:
        raise FieldNotFound("verdicts", response_field, responses.columns, "--response-field")
    for name in (answer_field, type_field):
        if name not in benchmark.columns:
            raise FieldNotFound("benchmark records", name, benchmark.columns, f"its proper name, {name!r}")
    keys = benchmark.set_index("problem_id")[[answer_field, type_field]]
    unknown = sorted(set(responses["problem_id"]) - set(keys.index))
    if unknown:
        raise UsageError(
            f"{len(unknown)} problem(s) with responses have no benchmark record, such as {unknown[0]!r}. "
            "Give --benchmark the file that was evaluated."
        )
    answers, types = keys[answer_field].to_dict(), keys[type_field].to_dict()
    verdicts = [
        None if pd.isna(text) else score(text, str(answers[problem]), str(types[problem])).correct
        for problem, text in zip(responses["problem_id"], responses[response_field], strict=True)
    ]
    table = responses[["model", "problem_id"]].copy()
    table["is_correct"] = pd.Series(verdicts, index=table.index, dtype=object)
    return table


def exact_format(judged: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Put deltas by judge and by exact format side by side.

    Parameters
    ----------
    judged, exact : pandas.DataFrame
        What `wmbxl.stats.compare.full_vs_view` gave for judged verdicts, and for those of `score_responses`.

    Returns
    -------
    pandas.DataFrame
        ``view, model``, and after ``judge_`` and ``exact_``: ``n_full, acc_full, n_view, acc_view, delta_pp,
        ci_low_pp, ci_high_pp``.
    """
    keys = ["view", "model"]
    columns = ["n_full", "acc_full", "n_view", "acc_view", "delta_pp", "ci_low_pp", "ci_high_pp"]
    by_judge, by_format = (
        table.set_index(keys)[columns].add_prefix(prefix) for table, prefix in ((judged, "judge_"), (exact, "exact_"))
    )
    return by_judge.join(by_format).reset_index()

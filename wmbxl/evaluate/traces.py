"""Traces: what was asked, what came back, and the verdict on it; one row per problem and sample."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

import orjson
import pandas as pd
import pyarrow as pa

from wmbxl.__about__ import __version__
from wmbxl.answers import verify
from wmbxl.errors import CallFailed
from wmbxl.evaluate.questions import Question
from wmbxl.models.asking import Outcome
from wmbxl.models.call import Call
from wmbxl.tables import Record

State = Literal["answered", "empty", "refused", "failed"]
Invalid = Literal["missing", "wrong"]

SCHEMA = pa.schema(
    {
        "model": pa.string(),  # the name in tables
        "api_model": pa.string(),  # the name under which it was asked
        "problem_id": pa.string(),
        "sample": pa.int64(),  # from 0
        "type": pa.string(),
        "prompt": pa.string(),
        "parameters": pa.string(),  # JSON
        "max_tokens": pa.int64(),
        "state": pa.string(),
        "error": pa.string(),  # why the call failed
        "response": pa.string(),
        "reasoning": pa.string(),
        "refusal": pa.string(),
        "finish_reason": pa.string(),
        "truncated": pa.bool_(),
        "prompt_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
        "latency": pa.float64(),  # seconds
        "tries": pa.int64(),
        "served_by": pa.string(),
        "fingerprint": pa.string(),
        "answer": pa.string(),  # the key
        "outcome": pa.string(),
        "step": pa.string(),
        "reason": pa.string(),
        "stated": pa.list_(pa.string()),
        "expected": pa.list_(pa.string()),
        "version": pa.string(),  # of wmbxl, when it gave the verdict
    }
)


def trace(name: str, question: Question, call: Call, outcome: Outcome, max_tokens: int) -> Record:
    """Judge what came back for a question, and put everything into one row.

    Parameters
    ----------
    name : str
        The model's name in tables.
    question : Question
        What was to be answered.
    call : Call
        How it was asked.
    outcome : Reply or CallFailed
        What came back.
    max_tokens : int
        The budget of the answer.

    Returns
    -------
    dict
        The columns of `SCHEMA`; those that don't apply, such as the verdict on an empty reply, are None.
    """
    row: Record = dict.fromkeys(SCHEMA.names)
    row |= {
        "model": name,
        "api_model": call.model,
        "problem_id": question.problem_id,
        "sample": call.sample,
        "type": question.type,
        "prompt": question.prompt,
        "parameters": orjson.dumps(call.parameters, option=orjson.OPT_SORT_KEYS).decode(),
        "max_tokens": max_tokens,
        "state": _state(outcome),
        "truncated": False,
        "answer": question.answer,
        "version": __version__,
    }
    if isinstance(outcome, CallFailed):
        return row | {"error": str(outcome)}
    reply = asdict(outcome)
    row |= {"response": reply.pop("text"), "truncated": outcome.truncated, **reply}
    if row["state"] == "answered":
        row |= asdict(verify(outcome.text, question.answer, question.type))
    return row


def _state(outcome: Outcome) -> State:
    if isinstance(outcome, CallFailed):
        return "failed"
    if outcome.refused:
        return "refused"
    return "answered" if outcome.text.strip() else "empty"


def verdict_rows(traces: pd.DataFrame, invalid: Invalid) -> pd.DataFrame:
    """Make the verdicts that ``wmbxl bootstrap`` reads: one for each model and problem, that of its first sample.

    Parameters
    ----------
    traces : pandas.DataFrame
        Columns of `SCHEMA`.
    invalid : {"missing", "wrong"}
        What an empty reply and a refusal count as. Undecided answers and failed calls are always missing.

    Returns
    -------
    pandas.DataFrame
        ``model, problem_id, is_correct, outcome, step, state, truncated, type, response``.

    Examples
    --------
    >>> rows = pd.DataFrame({"model": "m", "problem_id": ["a", "b", "c"], "sample": 0, "truncated": False, "type": "",
    ...                      "state": ["answered", "answered", "empty"], "outcome": ["correct", "undecided", None],
    ...                      "step": ["exact", "symbolic", None], "response": ["1", "2", ""]})
    >>> verdict_rows(rows, "missing")["is_correct"].tolist()
    [True, None, None]
    >>> verdict_rows(rows, "wrong")["is_correct"].tolist()
    [True, None, False]
    """
    first = traces[traces["sample"] == 0]
    meaning = {"correct": True, "incorrect": False}
    if invalid == "wrong":
        meaning |= {"empty": False, "refused": False}
    said = first["outcome"].where(first["state"] == "answered", first["state"])
    columns = ["model", "problem_id", "outcome", "step", "state", "truncated", "type", "response"]
    table = first[columns].copy()
    table.insert(2, "is_correct", pd.Series([meaning.get(word) for word in said], index=first.index, dtype=object))
    return table

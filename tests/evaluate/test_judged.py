"""A table in which a judge decides what is open, over real HTTP."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.endpoint import Say, ScriptedServer
from wmbxl.answers.judge import PROMPT_VERSION, ModelJudge
from wmbxl.errors import FieldNotFound, UsageError, VerdictError
from wmbxl.evaluate.judged import judge_table, read_answers
from wmbxl.evaluate.questions import Question, QuestionSet
from wmbxl.models.endpoint import Endpoint
from wmbxl.tables import write_table

pytest.importorskip("openai", reason="the judge is not tested: pip install 'wmbxl[models]'")

QUESTIONS = QuestionSet(tuple(Question(f"p{k}", f"What is {k}?", str(k), "") for k in range(4)), "bench.jsonl", "")
TABLE = pd.DataFrame(
    {"model": "m", "problem_id": ["p0", "p1", "p2", "p3"], "is_correct": [True, None, None, None],
     "outcome": ["correct", "undecided", "undecided", None], "step": ["exact", "symbolic", "symbolic", None],
     "response": [r"\boxed{0}", r"\boxed{one}", r"\boxed{7}", None]},
    dtype=object, index=[3, 1, 2, 0],
)  # fmt: skip


def opinion(request, number):
    relation = "equivalent" if "one" in request["messages"][-1]["content"] else "different"
    return Say(json.dumps({"reason": "so", "relation": relation}))


def test_only_what_is_open_is_asked_and_the_rest_stays():
    with ScriptedServer(opinion) as server:
        found = judge_table(TABLE, QUESTIONS, ModelJudge("j", Endpoint(server.url)))
        assert sorted(prompt.count("What is") for prompt in server.prompts()) == [1, 1]
    assert found["is_correct"].tolist() == [True, True, False, None]
    assert found["step"].tolist() == ["exact", "judge", "judge", None]
    assert found["outcome"].tolist() == ["correct", "correct", "incorrect", None]
    assert found["judge"].tolist() == [None, "j", "j", None]
    assert found["judge_prompt"].tolist() == [None, PROMPT_VERSION, PROMPT_VERSION, None]
    assert found["response"].tolist() == TABLE["response"].tolist()
    assert TABLE["is_correct"].tolist() == [True, None, None, None]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_without_verdicts_every_response_is_asked(tmp_path, suffix):
    path = f"{tmp_path}/answers.{suffix}"
    write_table(path, TABLE.drop(columns=["is_correct", "step"]), "--out")
    with ScriptedServer(opinion) as server:
        found = judge_table(read_answers(path), QUESTIONS, ModelJudge("j", Endpoint(server.url)))
        assert len(server.requests) == 3
    assert found["is_correct"].tolist() == [False, True, False, None]


def test_words_for_verdicts_are_understood(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("model,problem_id,response,is_correct\nm,p0,x,True\nm,p1,y,\nm,p2,z,0\n")
    assert read_answers(str(path))["is_correct"].tolist() == [True, None, False]


def test_wrong_tables_say_what_to_do(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("model,problem_id\nm,p0\n")
    with pytest.raises(FieldNotFound, match="no record has the field 'response'"):
        read_answers(str(path))
    path.write_text("model,problem_id,response,is_correct\nm,p0,x,perhaps\nm,p1,y,1\n")
    with pytest.raises(VerdictError, match="record 1: is_correct: expected true, false, 1, 0 or null, found 'perhaps'"):
        read_answers(str(path))
    with pytest.raises(UsageError, match=r"1 problem.s. with open answers are not in bench.jsonl, such as 'p9'"):
        judge_table(TABLE.replace({"problem_id": {"p1": "p9"}}), QUESTIONS, ModelJudge("j", None))

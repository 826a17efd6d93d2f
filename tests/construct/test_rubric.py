from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.construct.problems import make_problem
from tests.endpoint import Act, Fail, Request, Say, ScriptedServer
from wmbxl.construct import proposals, rubric
from wmbxl.construct.forms import Clerk, Unfilled
from wmbxl.construct.rubric import DIMENSIONS, Marks, Rubric
from wmbxl.models.endpoint import Endpoint
from wmbxl.models.record import Record

pytest.importorskip("openai", reason="the client of endpoints: pip install '.[models]'")


def answer(**scores: int) -> str:
    marks = {name: {"score": scores.get(name, 4), "reason": f"about {name}"} for name in DIMENSIONS}
    return f"Here it is: {json.dumps(marks)} That is all."


def test_marks_are_repaired_twice_at_most_and_become_a_review(tmp_path: Path) -> None:
    def script(request: Request, number: int) -> Act:
        turns = len(request["messages"])
        about = request["messages"][1]["content"]
        if "a_{1}" in about:  # fits at the second repair
            return Say({2: "no object", 4: answer(clarity=9), 6: answer(clarity=3)}[turns])
        return Say(answer() if "a_{2}" in about else "never")

    asked = [rubric.messages(make_problem(number)) for number in (1, 2, 3)]
    record = Record(tmp_path / "calls.jsonl")
    with ScriptedServer(script) as server:
        marks = Clerk(Rubric, "m", Endpoint(server.url), record).fill(asked)
        sent = len(server.requests)
        sent_back = [request["messages"][-1]["content"] for request in server.requests]
    assert [type(each) for each in marks] == [Rubric, Rubric, Unfilled]
    assert marks[2].reason == "not_valid"  # type: ignore[union-attr]
    assert sent == 3 + 1 + 3
    assert any("clarity.score: Input should be less than or equal to 5" in text for text in sent_back)

    assert isinstance(marks[0], Marks)
    review = rubric.review("p", "m", marks[0])
    assert (review.tier, review.level, review.decision) == (1, 3, "accept")
    assert (review.scores["clarity"], review.reasons["rigour"]) == (3, "about rigour")

    replayed = Clerk(Rubric, "m", None, Record(tmp_path / "calls.jsonl")).fill(asked)
    assert replayed == marks, "the record holds every call, repairs too"


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (Fail(400), "call_failed"),
        (Say(answer(), finish_reason="length"), "cut_off"),
        (Say("", refusal="no"), "refused"),
    ],
)
def test_why_there_is_no_form(act: Act, reason: str) -> None:
    with ScriptedServer([act]) as server:
        [found] = Clerk(Rubric, "m", Endpoint(server.url, tries=1)).fill([rubric.messages(make_problem())])
        assert len(server.requests) == 1
    assert isinstance(found, Unfilled)
    assert found.reason == reason


@pytest.mark.parametrize(("lowest", "decision"), [(1, "reject"), (2, "revise"), (3, "accept")])
def test_the_lowest_score_decides(lowest: int, decision: str) -> None:
    marks = {name: {"score": 5, "reason": "x"} for name in DIMENSIONS} | {"rigour": {"score": lowest, "reason": "x"}}
    assert rubric.review("p", "m", Rubric.model_validate(marks)).decision == decision


def test_the_reviewer_sees_problem_key_and_passage() -> None:
    problem = make_problem()
    _, user = rubric.messages(problem)
    assert all(text in user["content"] for text in (problem.prompt, problem.correct_answer, problem.span.text))


def test_proposals_are_a_form_too() -> None:
    with ScriptedServer([Say('{"distractors": ["a - b", "a b"]}')]) as server:
        asked = [proposals.messages("Background.", "y = [MASK]", "a + b")]
        [found] = Clerk(proposals.Proposals, "m", Endpoint(server.url)).fill(asked)
    assert isinstance(found, proposals.Proposals)
    assert found.distractors == ["a - b", "a b"]

"""Evaluations against a scripted server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
import tenacity

from tests.endpoint import FINGERPRINT, Act, Fail, HalfStream, Say, ScriptedServer
from wmbxl.errors import RunMismatch, UsageError
from wmbxl.evaluate.questions import QuestionSet, read_questions
from wmbxl.evaluate.run import Evaluation, Sampling, evaluate
from wmbxl.evaluate.traces import SCHEMA
from wmbxl.models import endpoint as endpoints
from wmbxl.models.asking import Budget
from wmbxl.models.endpoint import Endpoint
from wmbxl.stats.verdicts import read_verdicts

pytest.importorskip("openai", reason="needs the extra models: pip install 'wmbxl[models]'")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_backoff", tenacity.wait_none())


@pytest.fixture
def questions(tmp_path: Path) -> QuestionSet:
    """Twelve questions with options; the key of each is B."""
    rows = [
        {"problem_id": f"p{k:02d}", "text": f"Problem {k}?", "type": "MCQ", "correct_answer": "B"} for k in range(12)
    ]
    path = tmp_path / "problems.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return read_questions(str(path))


def number(request: dict[str, Any]) -> int:
    """Say which problem a request is about."""
    found = re.search(r"Problem (\d+)", request["messages"][-1]["content"])
    assert found
    return int(found[1])


def run(server: ScriptedServer, questions: QuestionSet, out: Path, **options: Any) -> Evaluation:
    return evaluate(questions, "some-model", Endpoint(server.url, tries=2), out, **options)


def test_a_trace_holds_all_that_was_said(questions: QuestionSet, tmp_path: Path) -> None:
    with ScriptedServer(
        lambda request, _: Say("The answer is B." if number(request) else "The answer is A.")
    ) as server:
        evaluation = run(server, questions, tmp_path / "out", sampling=Sampling(max_tokens=99, seed=5))
    assert evaluation.complete
    traces = pq.read_table(tmp_path / "out" / "traces.parquet")
    assert traces.schema.equals(SCHEMA)
    wrong, right = traces.to_pylist()[:2]
    assert (wrong["outcome"], right["outcome"], right["step"]) == ("incorrect", "correct", "exact")
    assert right["prompt"] == questions.questions[1].prompt
    assert right["response"] == "The answer is B."
    assert (right["finish_reason"], right["prompt_tokens"], right["completion_tokens"]) == ("stop", 10, 5)
    assert json.loads(right["parameters"]) == {"max_tokens": 99, "temperature": 0.6, "seed": 5}
    assert (right["fingerprint"], right["served_by"], right["tries"]) == (FINGERPRINT, "some-model", 1)
    assert right["stated"] == right["expected"] == ["B"]
    lines = [json.loads(line) for line in (tmp_path / "out" / "traces.jsonl").read_text().splitlines()]
    assert lines == traces.to_pylist()


def test_verdicts_are_what_the_bootstrap_reads(questions: QuestionSet, tmp_path: Path) -> None:
    def script(request: dict[str, Any], _: int) -> Act:
        acts = {0: Say(""), 1: Say("", refusal="I can't help with that."), 2: Say("The ans", "length"), 3: Fail(400)}
        return acts.get(number(request), Say("**B**"))

    with ScriptedServer(script) as server:
        evaluation = run(server, questions, tmp_path / "out")
    assert not evaluation.complete
    assert evaluation.traces["state"].tolist()[:5] == ["empty", "refused", "answered", "failed", "answered"]
    assert evaluation.traces["truncated"].tolist()[:4] == [False, False, True, False]
    found = read_verdicts(str(tmp_path / "out" / "verdicts.jsonl"), ["type"])
    assert found.verdicts.observed[:, 0].tolist() == [False, False, True, False] + [True] * 8
    assert found.verdicts.correct[:, 0].tolist() == [False] * 4 + [True] * 8
    assert "3 verdict(s) are null" in found.remarks()[0]


def test_a_second_run_asks_only_what_has_no_answer(questions: QuestionSet, tmp_path: Path) -> None:
    with ScriptedServer(lambda request, _: HalfStream() if number(request) % 3 == 0 else Say("**B**")) as server:
        first = run(server, questions, tmp_path / "out")
    assert (first.asked, first.failed) == (12, 4)
    with ScriptedServer([Say("**B**")]) as server:
        second = run(server, questions, tmp_path / "out")
    assert sorted(number(request) for request in server.requests) == [0, 3, 6, 9]
    assert second.complete
    assert len(second.traces) == 12


def test_a_budget_is_kept_and_raised_later(questions: QuestionSet, tmp_path: Path) -> None:
    with ScriptedServer([Say("**B**")]) as server:
        first = run(server, questions, tmp_path / "out", budget=Budget(calls=5))
        assert (len(server.requests), first.failed) == (5, 7)
        second = run(server, questions, tmp_path / "out", budget=Budget(calls=7))
    assert len(server.requests) == 12
    assert second.complete


def test_samples_have_seeds_of_their_own_and_more_can_be_drawn(questions: QuestionSet, tmp_path: Path) -> None:
    with ScriptedServer([Say("**B**")]) as server:
        run(server, questions, tmp_path / "out", sampling=Sampling(samples=2, seed=7))
        assert sorted({request["seed"] for request in server.requests}) == [7, 8]
        evaluation = run(server, questions, tmp_path / "out", sampling=Sampling(samples=3, seed=7))
    assert len(server.requests) == 36
    assert evaluation.traces.groupby("problem_id")["sample"].nunique().eq(3).all()
    assert len(read_verdicts(str(tmp_path / "out" / "verdicts.jsonl")).verdicts) == 12


def test_a_folder_holds_many_models(questions: QuestionSet, tmp_path: Path) -> None:
    with ScriptedServer([Say("**B**")]) as server:
        run(server, questions, tmp_path / "out", name="small", sampling=Sampling(max_tokens=16))
        evaluation = run(server, questions, tmp_path / "out", name="large", sampling=Sampling(max_tokens=64))
    assert evaluation.traces.groupby("model", sort=False)["max_tokens"].first().to_dict() == {"small": 16, "large": 64}
    assert read_verdicts(str(tmp_path / "out" / "verdicts.jsonl")).verdicts.models == ("small", "large")


def test_other_answers_under_the_same_name_are_refused(questions: QuestionSet, tmp_path: Path) -> None:
    with ScriptedServer([Say("**B**")]) as server:
        run(server, questions, tmp_path / "out")
        with pytest.raises(RunMismatch, match=r"max_tokens was 2048 and is 16384.*--name 'some-model@16384'"):
            run(server, questions, tmp_path / "out", sampling=Sampling(max_tokens=16384))
    assert len(server.requests) == 12


def test_another_benchmark_is_refused(questions: QuestionSet, tmp_path: Path) -> None:
    path = tmp_path / "others.jsonl"
    path.write_text('{"problem_id": "x", "text": "?", "type": "MCQ", "correct_answer": "A"}')
    with ScriptedServer([Say("**B**")]) as server:
        run(server, questions, tmp_path / "out")
        with pytest.raises(RunMismatch, match="another benchmark"):
            run(server, read_questions(str(path)), tmp_path / "out")


def test_the_record_alone_gives_the_same_traces(questions: QuestionSet, tmp_path: Path) -> None:
    with ScriptedServer([Say("**B**")]) as server:
        evaluation = run(server, questions, tmp_path / "out")
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "calls.jsonl").write_bytes((tmp_path / "out" / "calls.jsonl").read_bytes())
    replayed = evaluate(questions, "some-model", None, tmp_path / "again")
    pd.testing.assert_frame_equal(replayed.traces, evaluation.traces)


def test_parameters_can_be_added_renamed_and_left_out() -> None:
    sampling = Sampling(limit_field="max_completion_tokens", more={"temperature": None, "reasoning_effort": "low"})
    assert sampling.parameters(0) == {"max_completion_tokens": 2048, "reasoning_effort": "low"}
    with pytest.raises(UsageError, match="--samples"):
        Sampling(samples=0)

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pylatexenc", reason="needs the extra answers")

from wmbxl import extras
from wmbxl.answers import Verdict, chain, equivalent, verify
from wmbxl.errors import UsageError

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "pairs.jsonl").read_text().splitlines()]


def _boxed(text: str) -> str:
    return text if r"\boxed" in text else rf"\boxed{{{text}}}"


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return [verify(_boxed(pair["response"]), _boxed(pair["answer"]), "fill_blank_50") for pair in PAIRS]


def test_the_labelled_set_is_as_large_as_it_is_said_to_be():
    assert len(PAIRS) >= 400
    assert len({pair["category"] for pair in PAIRS}) >= 15
    assert sum(pair["part"] != "develop" for pair in PAIRS) >= len(PAIRS) / 3
    assert len({(pair["response"], pair["answer"]) for pair in PAIRS}) == len(PAIRS)


def test_labelled_pairs_are_accepted_if_they_are_equivalent_and_only_then(verdicts):
    accepted = Counter(
        (verdict.step, pair["label"])
        for pair, verdict in zip(PAIRS, verdicts, strict=True)
        if verdict.outcome == "correct"
    )
    wrongly = {key: count for key, count in accepted.items() if key[1] != "equivalent"}
    others = sum(pair["label"] != "equivalent" for pair in PAIRS)
    assert {step for step, _ in wrongly} <= {"symbolic"}
    assert sum(wrongly.values()) <= 0.01 * others
    right = sum(count for (_, label), count in accepted.items() if label == "equivalent")
    assert right >= 0.9 * sum(pair["label"] == "equivalent" for pair in PAIRS)


def test_equivalent_pairs_are_not_called_incorrect(verdicts):
    rejected = [pair for pair, verdict in zip(PAIRS, verdicts, strict=True) if verdict.outcome == "incorrect"]
    assert [pair for pair in rejected if pair["label"] == "equivalent"] == []


@pytest.mark.parametrize(
    ("response", "answer", "kind", "outcome", "step"),
    [
        ("So the answer is (C).", "C", "MCQ", "correct", "exact"),
        ("So the answer is (C).", "B", "MCQ", "incorrect", "exact"),
        ("No idea", "B", "MCQ", "incorrect", "extract"),
        ("", r"\boxed{x}", "fill_blank_25", "incorrect", "extract"),
        (r"\boxed{ x }", r"\boxed{x}", "fill_blank_25", "correct", "exact"),
        (r"\boxed{{\bf x}}", r"\boxed{\mathbf{x}}", "fill_blank_25", "correct", "canonical"),
        (r"\boxed{a+b}, \boxed{c}", r"\boxed{b+a} and \boxed{c}", "fill_blank_50", "correct", "symbolic"),
        (r"\boxed{a-b}", r"\boxed{b-a}", "fill_blank_25", "incorrect", "symbolic"),
        (r"\boxed{b}, \boxed{a}", r"\boxed{a}, \boxed{b}", "fill_blank_50", "undecided", "symbolic"),
        (r"\boxed{a}", r"\boxed{a}, \boxed{b}", "fill_blank_50", "undecided", "extract"),
        (r"\boxed{y}", r"\boxed{x}", "fill_blank_25", "undecided", "symbolic"),
        ("Here $x = 2$ is used.", "3", "fill_blank_25", "undecided", "symbolic"),
        ("#### 1,234", "1234", "open", "correct", "canonical"),
    ],
)
def test_the_first_step_that_decides_has_the_say(response, answer, kind, outcome, step):
    verdict = verify(response, answer, kind)
    assert (verdict.outcome, verdict.step) == (outcome, step)


def test_a_judge_is_asked_only_if_nothing_else_decided():
    asked = []

    def judge(response: str, answer: str) -> Verdict:
        asked.append(response)
        return Verdict("correct", "judge", "it says so", (response,), (answer,))

    assert verify(r"\boxed{a-b}", r"\boxed{b-a}", "f", judge=judge).outcome == "incorrect"
    assert verify(r"\boxed{a}", r"\boxed{a}", "f", judge=judge).step == "exact"
    assert asked == []
    assert verify(r"\boxed{N_0}", r"\boxed{\sigma^2}", "f", judge=judge).step == "judge"
    assert asked == [r"\boxed{N_0}"]


def test_a_long_formula_is_not_parsed():
    found = equivalent("a+" * chain.LONGEST + "b", "b")
    assert (found.relation, found.reason) == ("undecided", "longer than 4,000 characters")


def test_a_step_that_takes_too_long_is_undecided(monkeypatch):
    monkeypatch.setattr(chain, "SYMBOLIC_SECONDS", 0.0)
    assert equivalent("a+b", "b+a").reason == "no answer in time"
    monkeypatch.undo()
    assert equivalent("a+b", "b+a").relation == "equivalent"


def test_a_missing_package_is_named(monkeypatch):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(chain, "_sandboxes", {})
    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(UsageError, match=r"pip install 'wmbxl\[answers\]'"):
        equivalent("a", "b")


def test_answers_of_real_problems_are_understood(shared):
    lines = (shared / "bench" / "wmbxl_sample.jsonl").read_text().splitlines()
    keys = [record["correct_answer"] for record in map(json.loads, lines) if record["type"] != "MCQ"]
    assert [verify(key, key, "fill_blank_50").step for key in keys] == ["exact"] * len(keys)

"""The reward: 1 for what the verifier calls correct, 0 for the rest, and undecided answers counted apart."""

from __future__ import annotations

from typing import Any

import pytest

from wmbxl.answers import chain
from wmbxl.train.reward import verified

pytest.importorskip("pylatexenc", reason="needs the extra answers: pip install 'wmbxl[answers]'")


def rewards(*answers: tuple[Any, str, str]) -> tuple[list[float], dict[str, Any]]:
    logged: dict[str, Any] = {}
    completions, keys, types = zip(*answers, strict=True)
    return verified(completions, keys, types, logged.__setitem__, logged.__setitem__, prompts=None), logged


def test_nothing_but_correct_is_rewarded() -> None:
    found, logged = rewards(
        ("The answer is B.", "B", "MCQ"),
        ("The answer is C.", "B", "MCQ"),
        (r"\boxed{b + a}", r"\boxed{a + b}", "fill_blank_25"),
        (r"\boxed{q}", r"\boxed{a + b}", "fill_blank_25"),  # q may mean a + b in the problem
        ("", r"\boxed{a}", "fill_blank_25"),
    )
    assert found == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert logged["outcome"] == ["correct", "incorrect", "correct", "undecided", "incorrect"]
    assert {name: logged[f"verdict/{name}"] for name in ("correct", "incorrect", "undecided")} == {
        "correct": 0.4,
        "incorrect": 0.4,
        "undecided": 0.2,
    }


def test_conversations_are_judged_by_their_last_message() -> None:
    message = [{"role": "assistant", "content": "The answer is B."}]
    assert rewards((message, "B", "MCQ"), (message, "A", "MCQ"))[0] == [1.0, 0.0]


def test_a_verdict_that_takes_too_long_is_no_reward_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "SYMBOLIC_SECONDS", 0.0)
    found, logged = rewards(
        (r"\boxed{b + a}", r"\boxed{a + b}", "fill_blank_25"),
        (r"\boxed{a + b}", r"\boxed{a + b}", "fill_blank_25"),
    )
    assert found == [0.0, 1.0]
    assert (logged["outcome"], logged["reason"][0]) == (["undecided", "correct"], "no answer in time")

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
    terms = [f"a_{{{i}}}" for i in range(300)]  # which takes longer than no time
    monkeypatch.setattr(chain, "SYMBOLIC_SECONDS", 0.0)
    assert equivalent("+".join(terms), "+".join(terms[::-1])).reason == "no answer in time"
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


@pytest.mark.parametrize(
    ("response", "answer", "outcome"),
    [
        ("**Answer: B**\n\nOption A ignores noise. Option D has the wrong sign.", "B", "correct"),
        ("**Answer: B**\n\nOption A ignores noise. Option D has the wrong sign.", "D", "incorrect"),
        ("**A)** no\n**B)** yes\n**D)** no\n\nSo the answer is B", "D", "incorrect"),
        ("**Answer**: B", "B", "correct"),
        ("The answer is (c).", "C", "correct"),
        (r"\boxed{\text{B. } x^2}", "B", "correct"),
        (r"\boxed{A^{-1}}", "A", "incorrect"),
        (r"\boxed{A+B}", "A", "incorrect"),
        ("The answer is I don't know", "I", "incorrect"),
        ("The answer is A or C", "A", "incorrect"),
        ("The answer is A+B", "A", "incorrect"),
        ("Not option D", "D", "incorrect"),
        ("I would not choose option D.", "D", "incorrect"),
        ("Option D is wrong.", "D", "incorrect"),
        ("Perhaps option D?", "D", "incorrect"),
        ("Is it B? No. Or C? I choose option D", "D", "correct"),
        ("Not that one. I choose option D - 5 dB", "D", "correct"),
        (r"\boxed{C, A}", "A and C", "correct"),
        (r"\boxed{C}", "A and C", "incorrect"),
        ("The answer is B.", r"\boxed{B}", "correct"),
        ("The answer is B.", "(B)", "correct"),
        ("The answer is B.", "B) 5 dB", "correct"),
        ("The answer is B.", "5 dB", "undecided"),
    ],
)
def test_the_option_that_is_chosen_counts_not_the_one_that_is_named_last(response, answer, outcome):
    assert verify(response, answer, "MCQ").outcome == outcome


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("The answer is not $5$.", "5"),
        ("The answer is -$5$.", "5"),
        ("It can't be $5$.", "5"),
        ("First we get $5$.\nI stop here.", "5"),
        (r"\boxed{5=7=9}", "9"),
        (r"\boxed{2x=10}", "10"),
        (r"\boxed{5 % + x}", "5"),
        (r"\boxed{50%}", "0.6"),
        (r"\boxed{2\frac{1}{2}}", "1"),
        (r"\boxed{1 1/2}", "5.5"),
        (r"\boxed{.}", r"\boxed{}"),
        (r"\boxed{\sum_{n=0}^{8}x^n}", r"\sum_{n=0}^{\infty}x^n"),
        (r"\boxed{\max(0,x)}", "x"),
        (r"\boxed{x+10^{-15}}", "x"),
        (r"\boxed{\mathcal{HG}}", "HG"),
        (r"\boxed{\frac{df}{dx}}", "f/x"),
        (r"\boxed{F^{-1}(x)}", "1/F(x)"),
        (r"\boxed{\mathbb{C}^{M\times N}}", r"\mathbb{C}^{N\times M}"),
        (r"\boxed{M\times N}", r"N\times M"),
        (r"\boxed{\mathbf{A}(i,j)}", r"\mathbf{A}(j,i)"),
        (r"\boxed{h*x}", "hx"),
    ],
)
def test_what_says_something_else_or_nothing_is_not_correct(response, answer):
    assert verify(response, answer, "fill_blank_25").outcome != "correct"


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"\boxed{50%}", "0.5"),
        (r"\boxed{5\%}", "5"),
        (r"\boxed{2\frac{1}{2}}", "2.5"),
        (r"\boxed{5\text{ Mbps}}", r"5\text{ Mb}/\text{s}"),
        (r"\boxed{P^*}", r"P^\star"),
        (r"\boxed{1}", "(-1)^{2n}"),
        (r"\boxed{0}", r"\sin(\pi n)"),
        (r"\boxed{0}", r"\sin^2 x+\cos^2 x-1"),
        (r"\boxed{0}", r"\mathbf{A}\mathbf{A}^{-1}-\mathbf{I}"),
    ],
)
def test_what_may_mean_the_same_is_not_incorrect(response, answer):
    assert verify(response, answer, "fill_blank_25").outcome != "incorrect"

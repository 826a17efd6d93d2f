"""Tables against numbers worked out by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from wmbxl.evaluate.tables import by_budget, by_group, by_samples, pass_at, summary
from wmbxl.evaluate.traces import verdict_rows
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.verdicts import verdicts_from_frame

BOOTSTRAP = Bootstrap(replicates=500)
RIGHT, WRONG, OPEN = "correct", "incorrect", "undecided"


def traces(answers: dict[str, list[str]], **columns: Any) -> pd.DataFrame:
    """Traces of one model: for each problem what came of its samples."""
    rows = []
    for problem, samples in answers.items():
        for sample, word in enumerate(samples):
            judged = word in (RIGHT, WRONG, OPEN)
            state, outcome = ("answered", word) if judged else (word, None)
            rows.append(
                {
                    "model": "m",
                    "api_model": "m",
                    "max_tokens": 2048,
                    "problem_id": problem,
                    "sample": sample,
                    "type": "",
                    "truncated": False,
                    "state": state,
                    "outcome": outcome,
                    "step": None,
                    "response": word,
                    "prompt_tokens": 10,
                    "completion_tokens": 5,
                    **columns,
                }
            )
    return pd.DataFrame(rows)


def test_what_came_back_is_counted_as_what_it_is() -> None:
    words = [RIGHT] * 6 + [WRONG] * 2 + [OPEN] + ["empty"] * 5 + ["refused"] * 4 + ["failed"] * 2
    table = traces({f"p{k}": [word] for k, word in enumerate(words)})
    table.loc[[0, 9], "truncated"] = True  # an answer and an empty body, both cut at the budget
    [row] = summary(table, BOOTSTRAP).to_dict("records")
    counts = {"n_total": 20, "failed": 2, "empty": 5, "refused": 4, "n_valid": 9, "undecided": 1, "correct": 6,
              "truncated": 2, "truncated_pct": 10.0, "empty_pct": 25.0, "prompt_tokens": 200}  # fmt: skip
    assert {name: row[name] for name in counts} == counts
    assert row["acc"] == 75  # 6 of the 8 that are valid and decided
    assert row["acc_total"] == 30  # 6 of 20
    assert row["ci_low"] < 75 < row["ci_high"]
    assert "1 undecided" in row["note"]
    assert "2 failed" in row["note"]


def test_the_papers_table_of_empty_bodies_comes_out() -> None:
    """Table 16 of the WirelessMathBench-XL paper: 800 asked, 604 bodies, accuracy on these."""
    words = [RIGHT] * 541 + [WRONG] * 63 + ["empty"] * 196
    [row] = summary(traces({f"p{k}": [word] for k, word in enumerate(words)}), BOOTSTRAP).to_dict("records")
    assert (row["n_total"], row["n_valid"]) == (800, 604)
    assert round(row["empty_pct"], 1) == 24.5
    assert round(row["acc"], 1) == 89.6


def test_groups_may_overlap() -> None:
    table = traces({"a": [RIGHT], "b": [WRONG], "c": [RIGHT], "d": ["empty"]})
    found = by_group(table, {"MIMO": ["a", "b"], "RIS": ["b", "c", "d"]}, BOOTSTRAP).set_index("group")
    assert found.loc["MIMO", ["problems", "share_pct", "n_valid", "acc"]].tolist() == [2, 50, 2, 50]
    assert found.loc["RIS", ["problems", "share_pct", "n_valid", "acc"]].tolist() == [3, 75, 2, 50]
    assert found["delta_pp"].tolist() == pytest.approx([50 - 200 / 3] * 2)


def test_a_group_without_answers_has_no_accuracy() -> None:
    [row] = by_group(traces({"a": [RIGHT]}), {"other": ["z"]}, BOOTSTRAP).to_dict("records")
    assert row["problems"] == 0
    assert np.isnan(row["acc"])


def test_pass_at_is_the_share_of_draws_with_a_right_one() -> None:
    for tried, right, k in itertools.product([4, 6], [0, 1, 3], [1, 2, 4]):
        marks = [True] * right + [False] * (tried - right)
        draws = list(itertools.combinations(marks, k))
        expected = sum(map(any, draws)) / len(draws)
        assert pass_at(k, np.array([float(right)]), np.array([float(tried)])).item() == pytest.approx(expected)


def test_samples_give_avg_and_pass() -> None:
    table = traces(
        {"a": [RIGHT, WRONG, WRONG, WRONG], "b": [RIGHT] * 4, "c": [WRONG] * 4, "d": [RIGHT, OPEN, OPEN, RIGHT]}
    )
    found = by_samples(table, BOOTSTRAP).set_index("metric")
    assert found.index.tolist() == ["avg@4", "pass@1", "pass@2", "pass@4"]
    assert found.loc["avg@4", "value"] == pytest.approx(100 * 7 / 14)
    assert found.loc["pass@1", "value"] == pytest.approx(100 * (1 / 4 + 1 + 0 + 1) / 4, abs=1e-3)
    assert found.loc["pass@2", "value"] == pytest.approx(100 * (1 / 2 + 1 + 0 + 1) / 4, abs=1e-3)
    assert found.loc["pass@4", ["value", "problems"]].tolist() == pytest.approx([100 * 2 / 3, 3], abs=1e-3)
    assert (found["ci_low"] <= found["value"]).all()
    assert (found["value"] <= found["ci_high"]).all()


def test_one_sample_each_has_no_pass() -> None:
    assert by_samples(traces({"a": [RIGHT], "b": [WRONG]}), BOOTSTRAP).empty


def test_samples_of_a_problem_stay_together() -> None:
    """Eight equal samples of a problem tell no more than one, so the interval is as wide."""
    once = traces({f"p{k}": [RIGHT if k % 2 else WRONG] for k in range(40)})
    often = traces({f"p{k}": [RIGHT if k % 2 else WRONG] * 8 for k in range(40)})
    ends = ["acc", "ci_low", "ci_high"]
    assert summary(once, BOOTSTRAP)[ends].equals(summary(often, BOOTSTRAP)[ends])


def test_budgets_stand_side_by_side() -> None:
    small = traces({"a": ["empty"], "b": [RIGHT]}, model="m@2048").assign(truncated=[True, False])
    large = traces({"a": [RIGHT], "b": [RIGHT]}, model="m@16384", max_tokens=16384)
    other = traces({"a": [RIGHT], "b": [RIGHT]}, model="n", api_model="n")
    found = by_budget(summary(pd.concat([large, small, other]), BOOTSTRAP))
    assert found["model"].tolist() == ["m@2048", "m@16384"]
    assert found["truncated_pct"].tolist() == [50, 0]


def test_verdicts_are_those_of_the_first_sample_and_fit_the_bootstrap() -> None:
    table = traces(
        {"a": [RIGHT, WRONG], "b": [WRONG, RIGHT], "c": [OPEN, RIGHT], "d": ["empty", RIGHT], "e": ["failed"] * 2}
    )
    found = verdicts_from_frame(verdict_rows(table, "missing"), ["type"])
    assert found.verdicts.correct[:, 0].tolist() == [True, False, False, False, False]
    assert found.verdicts.observed[:, 0].tolist() == [True, True, False, False, False]
    strict = verdicts_from_frame(verdict_rows(table, "wrong"))
    assert strict.verdicts.observed[:, 0].tolist() == [True, True, False, True, False]

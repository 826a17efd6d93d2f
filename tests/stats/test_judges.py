from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from wmbxl.errors import UsageError
from wmbxl.stats.compare import full_vs_view
from wmbxl.stats.judges import compare_judges
from wmbxl.stats.resample import Bootstrap

FAST = Bootstrap(replicates=200)
NO_GROUPS = pd.DataFrame(columns=["model", "problem_id"])


@pytest.fixture
def panel(simulated):
    """Three judges of two models on 60 problems: one strict, one that missed ten problems of the first model."""
    plain, view = simulated(models=2)
    rng = np.random.default_rng(1)
    strict = replace(plain, correct=plain.correct & (rng.random(plain.correct.shape) < 0.8))
    observed = plain.observed.copy()
    observed[:10, 0] = False
    partial = replace(plain, observed=observed, correct=plain.correct & observed)
    return {"plain": plain, "strict": strict, "partial": partial}, view


def test_every_table(panel):
    judges, view = panel
    found = compare_judges(judges, [view], NO_GROUPS, FAST)
    assert set(found.tables) == {
        "agreement", "agreement_of_pairs", "judge_range", "judge_pairs", "judge_accuracy", "judge_deltas", "notes",
    }  # fmt: skip
    [together] = found.tables["agreement"].to_dict("records")
    assert (together["judges"], together["n"], together["n_complete"]) == (3, 120, 110)
    assert found.remarks == [
        "partial: no verdict on 10 of 120 answers; they are left out where this judge is concerned.",
        "110 of 120 answers have a verdict of every judge.",
    ]
    assert "note" not in found.tables["judge_pairs"].columns


def test_agreement_is_over_answers_that_both_judged(panel):
    judges, _ = panel
    table = compare_judges(judges, [], NO_GROUPS, FAST).tables["agreement_of_pairs"]
    by_pair = table.set_index(["judge_a", "judge_b"])
    assert by_pair["n"].to_dict() == {("plain", "strict"): 120, ("plain", "partial"): 110, ("strict", "partial"): 110}
    a, b = (judges[name].correct.ravel() for name in ("plain", "strict"))
    row = by_pair.loc[("plain", "strict")]
    assert row["agree"] == pytest.approx(100 * (a == b).mean())
    assert row["kappa"] == pytest.approx(cohens_kappa(pd.crosstab(a, b).to_numpy(), return_results=False))
    assert by_pair.loc[("plain", "partial"), "kappa"] == 1


def test_agreement_by_group_and_lists_count_for_each_value(panel):
    judges, _ = panel
    ids = judges["plain"].ids
    groups = pd.DataFrame(
        {"model": ["m0"] * 60 + ["m1"] * 60, "problem_id": [*ids, *ids],
         "type": [["MCQ"]] * 40 + [["MCQ", "blank"]] * 20 + [["blank"]] * 60}
    )  # fmt: skip
    table = compare_judges(judges, [], groups, FAST).tables["agreement"]
    assert table[["column", "group", "n"]].to_numpy().tolist() == [
        ["", "all", 120], ["type", "MCQ", 60], ["type", "blank", 80],
    ]  # fmt: skip


def test_what_the_choice_of_judge_does(panel):
    judges, view = panel
    tables = compare_judges(judges, [view], NO_GROUPS, FAST).tables
    ranges = tables["judge_range"].set_index(["view", "model"])
    plain, strict = (judges[name].correct[10:, 0] for name in ("plain", "strict"))
    row = ranges.loc[("full", "m0")]
    assert (row["n"], row["acc_lowest_by"], row["acc_highest_by"]) == (50, "strict", "plain")
    assert row["acc_range_pp"] == pytest.approx(100 * (plain.mean() - strict.mean()))
    inside = judges["plain"].contains(view.ids)[10:]
    deltas = [100 * (right.mean() - right[inside].mean()) for right in (plain, strict)]
    row = ranges.loc[(view.name, "m0")]
    assert (row["delta_lowest"], row["delta_highest"]) == pytest.approx((min(deltas), max(deltas)))
    assert row["sign_changes"] == (min(deltas) < 0 < max(deltas))
    pair = tables["judge_pairs"].query("view == 'full' and model == 'm1' and judge_b == 'strict'").iloc[0]
    difference = 100 * (judges["plain"].correct[:, 1].mean() - judges["strict"].correct[:, 1].mean())
    assert pair["delta_pp"] == pytest.approx(difference)
    assert pair["ci_low_pp"] < difference < pair["ci_high_pp"]


def test_deltas_are_those_of_each_judge_alone(panel):
    judges, view = panel
    table = compare_judges(judges, [view], NO_GROUPS, FAST).tables["judge_deltas"]
    for name, verdicts in judges.items():
        alone = full_vs_view(verdicts, [view], FAST).drop(columns="note")
        rows = table[table["judge"] == name].drop(columns="judge").reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone)


def test_judges_without_an_answer_in_common(simulated):
    verdicts, _ = simulated(models=1)
    other = replace(verdicts, models=("another",))
    with pytest.raises(UsageError, match=r"no answer has verdicts of two judges.*a: 'm0' on 'p00000'; b: 'another'"):
        compare_judges({"a": verdicts, "b": other}, [], NO_GROUPS, FAST)
    with pytest.raises(UsageError, match="found 1 judge"):
        compare_judges({"a": verdicts}, [], NO_GROUPS, FAST)

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wmbxl.stats.compare import full_vs_view
from wmbxl.stats.counterfactual import counterfactuals, power
from wmbxl.stats.resample import Bootstrap
from wmbxl.views import View


def test_bounds_are_reached_by_the_verdicts_they_assume(simulated, rebuilt):
    n_full, n_view, right = 60, 50, 31
    for outside, column in ((10, "if_all_right_pp"), (0, "if_all_wrong_pp")):
        verdicts, view = rebuilt(["m"], (n_full, [right + outside]), (n_view, [right]))
        found = counterfactuals(verdicts, [view])
        assert found[column].item() == pytest.approx(found["delta_pp"].item())
        assert found["if_all_wrong_pp"].item() <= found["delta_pp"].item() <= found["if_all_right_pp"].item()


def test_power_is_that_of_a_two_sided_test(simulated):
    verdicts, view = simulated(items=200, view=150, models=2)
    bootstrap = Bootstrap(replicates=500)
    table = power(full_vs_view(verdicts, [view], bootstrap), counterfactuals(verdicts, [view]), bootstrap)
    shift, limit = table["smallest_pp"] / table["se_pp"], stats.norm.ppf(0.975)
    found = stats.norm.sf(limit - shift) + stats.norm.cdf(-limit - shift)
    np.testing.assert_allclose(found, 0.8, atol=1e-6)
    np.testing.assert_allclose(table["smallest_on_flagged_pp"], table["smallest_pp"] * 200 / 50)
    assert (table["smallest_p"] == 2 / 501).all()
    assert (table["resolvable"] == (table["largest_possible_pp"] >= table["smallest_pp"])).all()


def test_the_error_of_an_interval_s_end(simulated):
    verdicts, view = simulated(items=200, view=150, models=1)
    ends = []
    for seed in range(60):
        bootstrap = Bootstrap(replicates=400, seed=seed)
        table = full_vs_view(verdicts, [view], bootstrap)
        ends.append(table["ci_low_pp"].item())
    predicted = power(table, counterfactuals(verdicts, [view]), bootstrap)["end_error_pp"].item()
    assert np.std(ends) == pytest.approx(predicted, rel=0.4)


def test_power_does_not_trust_resamples_that_hardly_differ(rebuilt):
    verdicts, view = rebuilt(["m"], (800, [718]), (770, [688]))
    bootstrap = Bootstrap(replicates=300)
    compared = full_vs_view(verdicts, [view], bootstrap)
    found = power(compared, counterfactuals(verdicts, [view]), bootstrap)
    share = 718 / 800
    expected = 100 * 30 / 800 * np.sqrt(share * (1 - share) * (1 / 30 + 1 / 770))
    assert compared["se_pp"].item() < 0.7 * expected
    assert found["se_pp"].item() == pytest.approx(expected)


def test_no_problem_is_flagged(simulated):
    verdicts, _ = simulated(models=1)
    view = View("all", verdicts.ids, "x")
    [row] = counterfactuals(verdicts, [view]).to_dict("records")
    assert (row["n_flagged"], row["if_all_right_pp"], row["if_all_wrong_pp"]) == (0, 0, 0)
    bootstrap = Bootstrap(replicates=50)
    [row] = power(full_vs_view(verdicts, [view], bootstrap), counterfactuals(verdicts, [view]), bootstrap).to_dict(
        "records"
    )
    assert np.isnan(row["smallest_on_flagged_pp"])

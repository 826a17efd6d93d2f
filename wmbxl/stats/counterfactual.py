"""What the overlap could do to a score at most, and what the data could show of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from statsmodels.stats.power import NormalIndPower

from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View


def counterfactuals(verdicts: Verdicts, views: Iterable[View]) -> pd.DataFrame:
    """Bound the inflation by flagged problems: as if all their answers had been right, and as if all wrong.

    Parameters
    ----------
    verdicts : Verdicts
        The verdicts.
    views : iterable of View
        Flagged problems are those outside the view; undecided ones are on neither side.

    Returns
    -------
    pandas.DataFrame
        ``view, model, n_full, n_flagged, acc_view, delta_pp, if_all_right_pp, if_all_wrong_pp``. Inflation is
        full minus view, in percentage points, over problems with a verdict.

    Examples
    --------
    >>> right = np.array([[True], [False], [True]])
    >>> found = Verdicts(("a", "b", "c"), ("m",), right, np.ones_like(right))
    >>> table = counterfactuals(found, [View("clean", ("a", "b"), "by hand")])
    >>> table[["n_flagged", "if_all_right_pp", "if_all_wrong_pp"]].round(2)
       n_flagged  if_all_right_pp  if_all_wrong_pp
    0          1            16.67           -16.67
    """
    rows = [row for view in views for row in _bounds(verdicts, view)]
    return pd.DataFrame(rows)


def _bounds(verdicts: Verdicts, view: View) -> list[dict[str, Any]]:
    base = verdicts.take(~verdicts.contains(view.undecided))
    inside = base.contains(view.ids)
    n_full, n_view = base.observed.sum(axis=0), base.observed[inside].sum(axis=0)
    right_full, right_view = base.correct.sum(axis=0), base.correct[inside].sum(axis=0)
    flagged = n_full - n_view
    with np.errstate(invalid="ignore"):
        acc_view = right_view / n_view * 100
        columns = {
            "n_full": n_full,
            "n_flagged": flagged,
            "acc_view": acc_view,
            "delta_pp": right_full / n_full * 100 - acc_view,
            "if_all_right_pp": (right_view + flagged) / n_full * 100 - acc_view,
            "if_all_wrong_pp": right_view / n_full * 100 - acc_view,
        }
    return [
        {"view": view.name, "model": model} | {name: values[k].item() for name, values in columns.items()}
        for k, model in enumerate(base.models)
    ]


def power(compared: pd.DataFrame, bounds: pd.DataFrame, bootstrap: Bootstrap, wanted: float = 0.8) -> pd.DataFrame:
    """Find the smallest inflation that a comparison of full with view could resolve.

    A two-sided test at one minus the bootstrap's level finds an effect of so many standard errors with
    the wanted probability (normal approximation). The standard error is the bootstrap's, or that of two
    sides of these sizes answered equally well if it is larger: where flagged problems are nearly all
    answered right, resamples hardly differ and the bootstrap's is too small.

    Parameters
    ----------
    compared : pandas.DataFrame
        What `wmbxl.stats.compare.full_vs_view` gave.
    bounds : pandas.DataFrame
        What `counterfactuals` gave for the same views.
    bootstrap : Bootstrap
        The protocol of `compared`.
    wanted : float
        Probability to find the effect.

    Returns
    -------
    pandas.DataFrame
        ``view, model, n_view, n_flagged, se_pp``, then

        * ``smallest_pp``: the smallest resolvable inflation, and ``smallest_on_flagged_pp``, the same as a
          difference in accuracy between flagged problems and the view;
        * ``largest_possible_pp``: the inflation if all flagged answers had been right; ``resolvable``:
          whether it is at least ``smallest_pp``, so that the comparison could show inflation at all;
        * ``end_error_pp``: Monte-Carlo standard error of an interval's end with this many replicates;
        * ``smallest_p``: the smallest p-value that they can give. A test needs it to be below its level.
    """
    table = compared[["view", "model", "n_full", "acc_full", "n_view", "se_pp"]].merge(
        bounds[["view", "model", "n_flagged", "if_all_right_pp"]], on=["view", "model"]
    )
    tail = (1 - bootstrap.level) / 2
    effect = NormalIndPower().solve_power(nobs1=1, ratio=0, alpha=2 * tail, power=wanted)
    flagged = table["n_flagged"].replace(0, np.nan)
    spread = table["acc_full"] * (100 - table["acc_full"])
    inside = table["n_view"].replace(0, np.nan)
    equal_sides = flagged / table["n_full"] * np.sqrt(spread * (1 / flagged + 1 / inside))
    error = np.fmax(table["se_pp"], equal_sides)
    smallest = effect * error
    quantile_error = np.sqrt(tail * (1 - tail) / bootstrap.replicates) / norm.pdf(norm.ppf(tail))
    return table[["view", "model", "n_view", "n_flagged"]].assign(
        se_pp=error,
        smallest_pp=smallest,
        smallest_on_flagged_pp=smallest * table["n_full"] / flagged,
        largest_possible_pp=table["if_all_right_pp"],
        resolvable=table["if_all_right_pp"] >= smallest,
        end_error_pp=quantile_error * table["se_pp"],
        smallest_p=2 / (bootstrap.replicates + 1),
    )

"""Tables of an evaluation: what came back, how much of it is right, and for which problems.

References
----------
Chen, M. et al. (2021). Evaluating Large Language Models Trained on Code. arXiv:2107.03374 (the estimator of pass@k).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import comb

from wmbxl.stats.compare import shares
from wmbxl.stats.intervals import intervals
from wmbxl.stats.remarks import about_accuracy
from wmbxl.stats.resample import Bootstrap, Floats, replicate

# Resamples add up whole numbers, so a probability is written as so many parts of this.
_PARTS = 2**20


def summary(traces: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """Count what each model gave back, and take its accuracy.

    Parameters
    ----------
    traces : pandas.DataFrame
        Columns of `wmbxl.evaluate.traces.SCHEMA`.
    bootstrap : Bootstrap
        How problems are resampled; samples of one problem stay together.

    Returns
    -------
    pandas.DataFrame
        For each model: ``api_model, max_tokens, samples``; ``n_total`` (answers asked for), ``failed`` (calls without a
        reply), ``empty, empty_pct, refused``, ``n_valid`` (replies with a body that is no refusal), ``truncated,
        truncated_pct, undecided, correct``; ``acc, ci_low, ci_high`` on what is valid and decided; ``acc_total``, where
        all that is not correct counts as wrong; ``prompt_tokens, completion_tokens, note``.
    """
    return _by_model(traces, partial(_counts, bootstrap=bootstrap))


def by_budget(table: pd.DataFrame) -> pd.DataFrame:
    """Put the rows of models that were asked with more than one budget of tokens side by side.

    Parameters
    ----------
    table : pandas.DataFrame
        As `summary` returns it.

    Returns
    -------
    pandas.DataFrame
        ``api_model, max_tokens, model, n_valid, empty_pct, truncated_pct, acc, ci_low, ci_high, acc_total,
        completion_tokens``, by rising budget; no rows if there is one budget each.
    """
    several = table[table.groupby("api_model")["max_tokens"].transform("nunique") > 1]
    columns = ["api_model", "max_tokens", "model", "n_valid", "empty_pct", "truncated_pct", "acc", "ci_low", "ci_high"]
    columns += ["acc_total", "completion_tokens"]
    return several[columns].sort_values(["api_model", "max_tokens"], ignore_index=True)


def by_group(traces: pd.DataFrame, groups: Mapping[str, Sequence[str]], bootstrap: Bootstrap) -> pd.DataFrame:
    """Take each model's accuracy on each of several groups of problems, which may overlap.

    Parameters
    ----------
    traces, bootstrap
        As for `summary`.
    groups : mapping of str to sequence of str
        Ids of the problems in each group; at least one group.

    Returns
    -------
    pandas.DataFrame
        ``group, model, problems, share_pct`` (of all its problems), ``n_valid, truncated_pct, acc, ci_low, ci_high``
        (the group's own problems are resampled), ``delta_pp`` (accuracy minus that on all problems).
    """
    tables = [
        _by_model(traces, partial(_group, ids=ids, bootstrap=bootstrap)).assign(group=group)
        for group, ids in groups.items()
    ]
    columns = ["group", "model", "problems", "share_pct", "n_valid", "truncated_pct", "acc", "ci_low", "ci_high"]
    return pd.concat(tables, ignore_index=True)[[*columns, "delta_pp"]]


def by_samples(traces: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """Estimate avg@k and pass@k of the models that were asked each problem several times.

    Parameters
    ----------
    traces, bootstrap
        As for `summary`.

    Returns
    -------
    pandas.DataFrame
        ``model, metric, problems, value, ci_low, ci_high``, in percent. ``avg@k`` is the share of right ones among all
        decided samples. ``pass@j`` is the unbiased estimate of the chance that one of j samples is right, for j = 1, 2,
        4, … and k, over the problems with at least j decided samples. No rows if there is one sample each.
    """
    repeated = traces[traces.groupby("model")["sample"].transform("max") > 0]
    rows = [
        {"model": name, **row}
        for name, part in repeated.groupby("model", sort=False)
        for row in _passes(part, bootstrap)
    ]
    return pd.DataFrame(rows, columns=["model", "metric", "problems", "value", "ci_low", "ci_high"])


def _by_model(traces: pd.DataFrame, describe: Callable[[pd.DataFrame], dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame([{"model": name, **describe(part)} for name, part in traces.groupby("model", sort=False)])


def _counts(part: pd.DataFrame, bootstrap: Bootstrap) -> dict[str, Any]:
    states = part["state"].value_counts()
    total, truncated = len(part), int(part["truncated"].sum())
    correct = int((part["outcome"] == "correct").sum())
    return {
        "api_model": part["api_model"].iloc[0],
        "max_tokens": int(part["max_tokens"].iloc[0]),
        "samples": int(part["sample"].max()) + 1,
        "n_total": total,
        "failed": int(states.get("failed", 0)),
        "empty": int(states.get("empty", 0)),
        "empty_pct": 100 * states.get("empty", 0) / total,
        "refused": int(states.get("refused", 0)),
        "n_valid": int(states.get("answered", 0)),
        "truncated": truncated,
        "truncated_pct": 100 * truncated / total,
        "undecided": int((part["outcome"] == "undecided").sum()),
        "correct": correct,
        **_interval(_right_of_decided(part), bootstrap, "acc"),
        "acc_total": 100 * correct / total,
        "prompt_tokens": int(part["prompt_tokens"].sum()),
        "completion_tokens": int(part["completion_tokens"].sum()),
        "note": _note(part, bootstrap),
    }


def _note(part: pd.DataFrame, bootstrap: Bootstrap) -> str:
    outcomes, states = part["outcome"].value_counts(), part["state"].value_counts()
    correct, incorrect = (int(outcomes.get(name, 0)) for name in ("correct", "incorrect"))
    undecided = int(outcomes.get("undecided", 0))
    left_out = [f"{undecided} undecided answer(s) are left out of acc, not counted as wrong"] * bool(undecided)
    left_out += [f"{states[name]} {name} are left out of acc" for name in ("refused", "failed") if name in states]
    return "; ".join([*about_accuracy(correct, correct + incorrect, bootstrap.level), *left_out])


def _group(part: pd.DataFrame, ids: Sequence[str], bootstrap: Bootstrap) -> dict[str, Any]:
    inside = part[part["problem_id"].isin(ids)]
    totals = _right_of_decided(inside)
    found = _interval(totals, bootstrap, "acc")
    everything = shares(_right_of_decided(part).sum(axis=0, keepdims=True)).item()
    return {
        "problems": inside["problem_id"].nunique(),
        "share_pct": 100 * inside["problem_id"].nunique() / part["problem_id"].nunique(),
        "n_valid": int((inside["state"] == "answered").sum()),
        "truncated_pct": 100 * inside["truncated"].mean(),
        **found,
        "delta_pp": found["acc"] - everything,
    }


def _right_of_decided(part: pd.DataFrame) -> Floats:
    """Return for each problem how many of its samples are right, and how many are decided; shape (problems, 2)."""
    marks = pd.DataFrame(
        {
            "problem_id": part["problem_id"],
            "right": part["outcome"] == "correct",
            "decided": part["outcome"].isin(["correct", "incorrect"]),
        }
    )
    return marks.groupby("problem_id").sum().to_numpy(dtype=np.float64)


def _interval(totals: Floats, bootstrap: Bootstrap, name: str) -> dict[str, float]:
    [found] = intervals(replicate(totals, shares, bootstrap), bootstrap)
    return {name: found.estimate, "ci_low": found.low, "ci_high": found.high}


def _passes(part: pd.DataFrame, bootstrap: Bootstrap) -> list[dict[str, Any]]:
    totals = _right_of_decided(part)
    samples = int(part["sample"].max()) + 1
    rows = [{"metric": f"avg@{samples}", "problems": len(totals), **_interval(totals, bootstrap, "value")}]
    for k in [*(2**power for power in range(samples.bit_length()) if 2**power < samples), samples]:
        right, tried = totals[totals[:, 1] >= k].T
        chance = np.round(_PARTS * pass_at(k, right, tried))
        scaled = np.stack([chance, np.full(len(chance), _PARTS)], axis=1)
        rows.append({"metric": f"pass@{k}", "problems": len(chance), **_interval(scaled, bootstrap, "value")})
    return rows


def pass_at(k: int, right: Floats, tried: Floats) -> Floats:
    """Estimate without bias the chance that at least one of k samples is right.

    Parameters
    ----------
    k : int
        At most the smallest of `tried`.
    right, tried : ndarray, shape (N,)
        How many samples of each problem are right, and how many there are.

    Returns
    -------
    ndarray of float64, shape (N,)
        One minus the chance that k of the samples, drawn without replacement, are all wrong.

    Examples
    --------
    >>> pass_at(2, np.array([0.0, 1.0, 4.0]), np.array([4.0, 4.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    chance: Floats = 1 - comb(tried - right, k) / comb(tried, k)
    return chance

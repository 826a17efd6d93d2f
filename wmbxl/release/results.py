"""Tables of results, with the column names of the paper's release."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from wmbxl.benchmark import ANSWER
from wmbxl.release.settings import ReleaseConfig
from wmbxl.release.sources import Sources
from wmbxl.stats.compare import accuracy, everything
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.sensitivity import deltas_by_n
from wmbxl.stats.verdicts import Verdicts, read_verdicts
from wmbxl.views import View

Tables = dict[str, pd.DataFrame]


def result_tables(config: ReleaseConfig, sources: Sources, public: Sequence[str]) -> tuple[Tables, list[str]]:
    """Analyse each group of verdicts on the test problems.

    Returns
    -------
    tables : dict of str to pandas.DataFrame
        ``public_subset_results``; ``<group>_multin_delta`` for each group; ``answer_surface_n<n>_delta`` if answers
        were audited too. Empty without verdicts; the first is absent if no test problem is public.
    remarks : list of str
        What is odd about the verdicts.
    """
    bootstrap = Bootstrap(**config.bootstrap.model_dump())
    tests = set(sources.frame.loc[sources.frame["split"] == "test", "problem_id"])
    metadata = sources.audit.metadata[sources.audit.metadata["problem_id"].isin(tests)]
    answers = metadata[(metadata["channel"] == ANSWER) & (metadata["n"] == config.n)]
    subset = View("public", tuple(public), "released test problems")
    results, surfaces, remarks = [], [], []
    tables: Tables = {}
    for group, path in config.verdicts.items():
        source = read_verdicts(path)
        verdicts = source.verdicts.take(source.verdicts.contains(tests))
        remarks += [f"{path}: {line}" for line in source.remarks()]
        if public:
            results.append(_public(verdicts, subset, len(tests), bootstrap).assign(group=group))
        tables[f"{group}_multin_delta"] = _deltas(verdicts, metadata, bootstrap, config.channel)
        if len(answers):
            surfaces.append(_deltas(verdicts, answers, bootstrap, ANSWER))
    if results:
        table = pd.concat(results, ignore_index=True)
        tables["public_subset_results"] = table[["group", *table.columns.drop("group")]]
    if surfaces:
        tables[f"answer_surface_n{config.n}_delta"] = pd.concat(surfaces, ignore_index=True)
    return tables, remarks


def _public(verdicts: Verdicts, public: View, tests: int, bootstrap: Bootstrap) -> pd.DataFrame:
    full = accuracy(verdicts, [everything(verdicts)], bootstrap)
    part = accuracy(verdicts, [public], bootstrap)
    return pd.DataFrame(
        {
            "model": full["model"],
            f"acc_full{tests}": full["acc"],
            f"acc_public{len(public)}": part["acc"],
            "ci_low": part["ci_low"],
            "ci_high": part["ci_high"],
            "delta_pp": part["acc"] - full["acc"],
        }
    )


def _deltas(verdicts: Verdicts, metadata: pd.DataFrame, bootstrap: Bootstrap, channel: str) -> pd.DataFrame:
    found = deltas_by_n(verdicts, metadata, bootstrap, channel, undecided="exclude")
    names = {"n_view": "n_S0", "acc_view": "acc_S0", "largest_pp": "bootstrap_max_abs_pp"}
    table = found.rename(columns=names).assign(s0_pct=100 * found["n_view"] / found["n_full"])
    return table[
        ["n", "model", "n_full", "acc_full", "n_S0", "s0_pct", "acc_S0", "delta_pp", "ci_low_pp", "ci_high_pp",
         "bootstrap_max_abs_pp"]
    ]  # fmt: skip

"""The numbers behind the figures: small frames from an audit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd

from wmbxl.audit import REFERENCE_N, Audit
from wmbxl.benchmark import PROMPT
from wmbxl.errors import UsageError
from wmbxl.views import arxiv_month, audit_rows

_BINS = {"1": 1, "2": 2, "3–5": 5, "6–10": 10, "11–100": 100, "> 100": np.inf}
GROUPS_SHOWN = 30  # a figure of thousands is higher than a browser draws
_YEAR = re.compile(r"(19|20)\d\d(?=-|$)")


def reference(audit: Audit, n: int | None = None, channel: str | None = None) -> tuple[int, str]:
    """Return the n and the channel that a page is about.

    Parameters
    ----------
    audit : Audit
    n : int, optional
        By default 13, or the largest if the audit has no 13.
    channel : str, optional
        By default the prompt, or the first channel.

    Raises
    ------
    UsageError
        If the audit has no such n or channel.
    """
    lengths, channels = audit.info["ns"], audit.info["channels"]
    chosen_n = n if n is not None else REFERENCE_N if REFERENCE_N in lengths else max(lengths)
    chosen_channel = channel if channel is not None else PROMPT if PROMPT in channels else channels[0]
    if chosen_n not in lengths or chosen_channel not in channels:
        raise UsageError(
            f"{audit.folder.url}: no n = {chosen_n} with the channel {chosen_channel!r}: it holds n = "
            f"{', '.join(map(str, lengths))} and {', '.join(channels)}; choose with -n and --channel"
        )
    return chosen_n, chosen_channel


def sensitivity(audit: Audit, channel: str = PROMPT) -> pd.DataFrame:
    """Return S0 and S1 at each n, with and without problems that are too short to have an n-gram.

    Returns
    -------
    pandas.DataFrame
        ``n, problems, auditable, flagged, S0, S1, S0_auditable, S1_auditable, undecided``, and the four views in
        percent of the problems that they are taken from: ``S0_pct, S1_pct, S0_auditable_pct, S1_auditable_pct``.
    """
    rows = pd.DataFrame([row for row in audit.info["summary"] if row["channel"] == channel])
    frame = rows[["n", "problems", "auditable", "flagged", "S0", "S1", "S0_auditable", "S1_auditable"]].copy()
    frame["undecided"] = rows[["S0_undecided", "S1_undecided"]].max(axis=1)
    for name in ("S0", "S1", "S0_auditable", "S1_auditable"):
        whole = frame["auditable" if name.endswith("auditable") else "problems"]
        frame[f"{name}_pct"] = 100 * frame[name] / whole.where(whole > 0)
    return frame


def documents(audit: Audit, n: int = REFERENCE_N, channel: str = PROMPT) -> pd.DataFrame:
    """Return how many flagged problems are in how many documents: ``documents`` (a range), ``problems``."""
    counts = audit_rows(audit.metadata, n, channel)["docs_total"]
    edges = [0, *_BINS.values()]
    problems = pd.cut(counts[counts > 0], edges, labels=list(_BINS)).value_counts(sort=False)
    return pd.DataFrame({"documents": list(_BINS), "problems": problems.to_numpy()})


def found_share(audit: Audit, n: int = REFERENCE_N, channel: str = PROMPT) -> pd.DataFrame:
    """Return which share of flagged problems' distinct n-grams was found: ``share`` (a range), ``problems``."""
    rows = audit_rows(audit.metadata, n, channel)
    rows = rows[rows["docs_total"] > 0]
    share = 100 * rows["unique_ngrams_total"] / rows["n_grams_unique"]
    labels = [*(f"{low}–{low + 10} %" for low in range(0, 100, 10)), "all"]
    tenth = np.where(share >= 100, 10, share // 10).astype(int)
    return pd.DataFrame({"share": labels, "problems": np.bincount(tenth, minlength=len(labels))})


def by_group(
    audit: Audit, column: Literal["format", "year"], n: int = REFERENCE_N, channel: str = PROMPT
) -> pd.DataFrame:
    """Return how many problems of each task format, or year of the source, were found.

    Returns
    -------
    pandas.DataFrame
        ``group, problems, flagged, flagged_pct``; empty if the benchmark has no such field. Formats come by number
        of problems, years in order; problems without the field come last, as ``(none)`` (in further parentheses
        if a group of the benchmark is called so).
    """
    problems = audit.problems[audit.problems["channel"] == channel].set_index("problem_id")
    groups = problems["format"] if column == "format" else problems["date"].map(year_of).astype("Int64")
    if groups.isna().all():
        return pd.DataFrame(columns=["group", "problems", "flagged", "flagged_pct"])
    rows = audit_rows(audit.metadata, n, channel).set_index("problem_id")
    table = pd.DataFrame({"group": groups.reindex(rows.index), "flagged": rows["docs_total"] > 0})
    known = table.groupby("group")["flagged"].agg(["size", "sum"])
    known = known.sort_index() if column == "year" else known.sort_values("size", ascending=False, kind="stable")
    known.index = known.index.map(str)
    missing = table[table["group"].isna()]
    if len(missing):
        known.loc[_unused("(none)", known.index)] = [len(missing), missing["flagged"].sum()]
    return _with_share(known.reset_index().set_axis(["group", "problems", "flagged"], axis=1))


def largest(groups: pd.DataFrame, most: int = GROUPS_SHOWN) -> pd.DataFrame:
    """Return the groups with most problems, in their order, and the rest as one group that tells how many it is of.

    Parameters
    ----------
    groups : pandas.DataFrame
        From `by_group`.
    most : int
        Rows to return, the rest being one of them.
    """
    if len(groups) <= most:
        return groups
    kept = groups.index.isin(groups["problems"].nlargest(most - 1).index)
    rest = groups[~kept]
    name = _unused(f"({len(rest):,} others)", groups["group"])
    others = pd.DataFrame({"group": [name], "problems": [rest["problems"].sum()], "flagged": [rest["flagged"].sum()]})
    return _with_share(pd.concat([groups[kept].drop(columns="flagged_pct"), others], ignore_index=True))


def _with_share(groups: pd.DataFrame) -> pd.DataFrame:
    return groups.assign(flagged_pct=100 * groups["flagged"] / groups["problems"])


def _unused(name: str, names: Iterable[str]) -> str:
    """Put a name into parentheses until none of `names` is the same."""
    taken = set(names)
    while name in taken:
        name = f"({name})"
    return name


def year_of(date: Any) -> int | None:
    """Return the year of a date or an arXiv id, or None.

    Examples
    --------
    >>> year_of("2019"), year_of("2411.02757v1"), year_of("2021-03-05"), year_of("unknown")
    (2019, 2024, 2021, None)
    """
    text = str(date).strip()
    match = _YEAR.match(arxiv_month(text) or text)
    return int(match[0]) if match else None


def by_corpus(audit: Audit, n: int = REFERENCE_N, channel: str = PROMPT) -> pd.DataFrame:
    """Return what each corpus holds of the benchmark.

    Returns
    -------
    pandas.DataFrame
        ``corpus, role, problems, only_here, hits, documents``: problems found in it, and in no other corpus; windows
        found; and (problem, document) pairs.
    """
    frame = audit.metadata_by_corpus
    frame = frame[(frame["n"] == n) & (frame["channel"] == channel)]
    found = frame[frame["docs_total"] > 0]
    corpora = found.groupby("problem_id")["corpus"].transform("size")
    rows = []
    for corpus in audit.info["corpora"]:
        here = found["corpus"] == corpus["name"]
        rows.append(
            {
                "corpus": corpus["name"],
                "role": corpus["role"],
                "problems": int(here.sum()),
                "only_here": int((here & (corpora == 1)).sum()),
                "hits": int(found.loc[here, "hits_total"].sum()),
                "documents": int(found.loc[here, "docs_total"].sum()),
            }
        )
    return pd.DataFrame(rows)

"""An audit in other people's formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from wmbxl.audit import Audit
from wmbxl.folder import RunFolder
from wmbxl.views import audit_rows

EXAMPLES = 20
_TABLES = ("metadata", "metadata_by_corpus", "ngrams", "evidence", "spans", "ledger")
_BINS = (0, 1, 2, 5, 10, 100, 1000)


def export_csv(audit: Audit, out: RunFolder) -> list[str]:
    """Write every table of the audit as CSV; return the names of the files."""
    for name in _TABLES:
        out.write(f"{name}.csv", getattr(audit, name).to_csv(index=False).encode())
    return [f"{name}.csv" for name in _TABLES]


def export_release(audit: Audit, out: RunFolder, n: int, channel: str | None = None) -> list[str]:
    """Write the audit in the layout of the WirelessMathBench-XL release; return the names of the files.

    Parameters
    ----------
    audit : Audit
    out : RunFolder
    n : int
        The layout holds one n.
    channel : str, optional
        And one channel; may be left out if the audit has only one.

    Raises
    ------
    UsageError
        If the audit has no such n or channel.
    """
    rows = audit_rows(audit.metadata, n, channel)
    channel = str(rows["channel"].iloc[0])
    table = _flat(audit, rows, n, channel)
    records = _nested(audit, table, n, channel)
    out.write("contamination-audit.csv", table.to_csv(index=False).encode())
    out.write(
        "contamination-audit.jsonl",
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode(),
    )
    out.write("contamination-audit.md", _page(audit, table, n, channel).encode())
    return [f"contamination-audit.{suffix}" for suffix in ("csv", "jsonl", "md")]


def _corpora(audit: Audit) -> list[str]:
    return [corpus["name"] for corpus in audit.info["corpora"]]


def _flat(audit: Audit, rows: pd.DataFrame, n: int, channel: str) -> pd.DataFrame:
    """Return a row for each problem; a label that nobody can know is empty."""
    frame = audit.metadata_by_corpus
    frame = frame[(frame["n"] == n) & (frame["channel"] == channel)]
    table = rows[["problem_id", "n_grams_total"]].reset_index(drop=True)
    for name, column in (
        ("hits", "hits_total"),
        ("docs", "docs_total"),
        ("unique_ngrams", "unique_ngrams_total"),
    ):
        for corpus in _corpora(audit):
            counts = frame[frame["corpus"] == corpus].set_index("problem_id")[column]
            table[f"{name}_{corpus}"] = counts.loc[table["problem_id"]].to_numpy()
    for column in ("hits_total", "docs_total", "unique_ngrams_total", "in_S0", "in_S1"):
        table[column] = rows[column].array
    return table.assign(in_S0_docs=table["in_S0"], in_S1_docs=table["in_S1"])


def _nested(audit: Audit, table: pd.DataFrame, n: int, channel: str) -> Iterator[dict[str, Any]]:
    evidence = audit.evidence
    evidence = evidence[(evidence["n"] == n) & (evidence["channel"] == channel)]
    examples = {
        key: list(dict.fromkeys(part["ngram"]))[:EXAMPLES] for key, part in evidence.groupby(["problem_id", "corpus"])
    }
    slices = _corpora(audit)
    for row in table.astype(object).where(table.notna(), None).to_dict("records"):
        yield {
            "problem_id": row["problem_id"],
            "n_grams_total": row["n_grams_total"],
            "per_slice_hits": {name: row[f"hits_{name}"] for name in slices},
            "per_slice_docs": {name: row[f"docs_{name}"] for name in slices},
            "per_slice_unique_ngrams": {name: row[f"unique_ngrams_{name}"] for name in slices},
            "per_slice_examples": {name: examples.get((row["problem_id"], name), []) for name in slices},
            **{
                name: row[name]
                for name in (
                    "hits_total", "docs_total", "unique_ngrams_total", "in_S0", "in_S1", "in_S0_docs", "in_S1_docs",
                )
            },
        }  # fmt: skip


def _page(audit: Audit, table: pd.DataFrame, n: int, channel: str) -> str:
    release = [corpus["name"] for corpus in audit.info["corpora"] if corpus["role"] == "release"]
    lines = [
        "# Contamination audit",
        "",
        f"{len(table)} problems, channel {channel}, n = {n}, against {', '.join(release)}. Status: {audit.status}.",
        "",
        "| view | rule | problems | undecided |",
        "|---|---|---:|---:|",
    ]
    for name, rule in (("S0", "docs_total = 0"), ("S1", "docs_total ≤ 2")):
        label = table[f"in_{name}"]
        lines.append(f"| \\|{name}\\| | {rule} | {int(label.fillna(False).sum())} | {int(label.isna().sum())} |")
    for column, title in (("docs_total", "Documents"), ("hits_total", "Hits")):
        lines += ["", f"## {title} per problem", "", f"| {title.lower()} | problems |", "|---|---:|"]
        lines += [f"| {label} | {count} |" for label, count in _histogram(table[column].to_numpy())]
    return "\n".join(lines) + "\n"


def _histogram(values: np.ndarray[Any, Any]) -> Iterator[tuple[str, int]]:
    """Yield bins and their counts: 0, 1, 2, 3–5, …"""
    for low, high in zip((-1, *_BINS), (*_BINS, None), strict=False):
        first = low + 1
        if high is None:
            yield f"> {low}", int((values > low).sum())
        else:
            label = str(high) if first == high else f"{first}–{high}"
            yield label, int(((values >= first) & (values <= high)).sum())

"""Do views and splits hold what their rules say?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from wmbxl.papers import paper_disjoint_slice
from wmbxl.release import layout
from wmbxl.release.checks.joins import differing_ids
from wmbxl.release.opened import Issue, Tables


def wrong_views(tables: Tables) -> Iterator[Issue]:
    """Yield problems that a view lacks or should not have, and records that it changed."""
    disjoint = {row.value["problem_id"] for _, row in tables.placed(layout.DISJOINT)}
    labels = {name: tables.records[name]["contamination"] for name in tables.public if name in tables.records}
    rules = {
        layout.S0_VIEW: {name for name, label in labels.items() if label["in_S0"]},
        layout.S1_VIEW: {name for name, label in labels.items() if label["in_S1"]},
        layout.DISJOINT_VIEW: set(labels) & disjoint,
    }
    for path, expected in rules.items():
        for issue in differing_ids(path, tables.placed(path), expected, "the public test problems by the view's rule"):
            yield replace(issue, check="views")
        for _, row in tables.placed(path):
            name = row.value["problem_id"]
            if name in tables.records and row.value != tables.records[name]:
                yield Issue("views", path, f"record {name!r} is not the one in the file of problems", row.line)


def wrong_splits(tables: Tables) -> Iterator[Issue]:
    """Yield papers on both sides of the split by paper, and errors in the slice without shared papers."""
    sides: dict[str, str] = {}
    for path, row in tables.placed(tables.split_path):
        paper, side = row.value["paper_id"], row.value["paper_disjoint_split"]
        if sides.setdefault(paper, side) != side:
            yield Issue("splits", path, f"paper {paper!r} is in train and in test", row.line)
    frame = pd.DataFrame(list(tables.flags.values()))
    if {"train", "test"} <= set(frame["split"]):
        expected = set(paper_disjoint_slice(frame).ids)
        rule = "the test problems whose paper has no training problem"
        for issue in differing_ids(layout.DISJOINT, tables.placed(layout.DISJOINT), expected, rule):
            yield replace(issue, check="splits")

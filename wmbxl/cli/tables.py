"""Frames as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from rich.markup import escape
from rich.table import Table

from wmbxl.tables import show


def rich_table(name: str, frame: pd.DataFrame, columns: Sequence[str] = ()) -> Table:
    """Lay out some columns of a frame, or all of them; the two ends of an interval share one."""
    shown = frame[[column for column in columns or frame.columns if column in frame.columns]]
    lows = [column for column in shown.columns if column.startswith("ci_low")]
    for low in lows:
        high = low.replace("ci_low", "ci_high")
        ends = [(show(a), show(b)) for a, b in zip(shown[low], shown[high], strict=True)]
        shown = shown.assign(**{low: [f"{a} to {b}" if a else "" for a, b in ends]}).drop(columns=high)
    table = Table(title=name, title_justify="left")
    for column in shown.columns:
        right = column in lows or pd.api.types.is_numeric_dtype(shown[column])
        header = "interval" if column in lows else str(column).replace("_", " ")
        table.add_column(header, justify="right" if right else "left", overflow="fold")
    for row in shown.itertuples(index=False):
        table.add_row(*(escape(show(value)) for value in row))
    return table

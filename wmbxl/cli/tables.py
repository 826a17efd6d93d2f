"""Frames as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wmbxl.stats.study import Analysis
from wmbxl.tables import show, table_files, write_files


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


def publish(
    tables: Mapping[str, pd.DataFrame],
    shown: Mapping[str, Sequence[str]],
    out: str,
    formats: Sequence[str],
    remarks: Sequence[str] = (),
) -> None:
    """Write all tables into a folder; print some columns of some of them, and remarks."""
    write_files(out, table_files(dict(tables), formats))
    console = Console()
    for name in [name for name in shown if name in tables]:
        console.print(rich_table(name, tables[name], shown[name]))
    for line in remarks:
        console.print(f"- {line}", markup=False, highlight=False)
    console.print(f"Wrote {', '.join(tables)} to {out}", markup=False, highlight=False)


def notes_in_words(analysis: Analysis, table: str) -> list[str]:
    """Say the notes on one table, those that are alike together, and how many there are on others."""
    notes = analysis.tables["notes"]
    here = notes["table"] == table
    lines = [
        f"{rows.iloc[0]}{f' and {len(rows) - 1} more' if len(rows) > 1 else ''}: {note}"
        for note, rows in notes[here].groupby("note", sort=False)["row"]
    ]
    others = int((~here).sum())
    return [*lines, f"{others} note(s) on the other tables are in the table 'notes'."] if others else lines

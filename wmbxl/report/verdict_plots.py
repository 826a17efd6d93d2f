"""Figures of models' verdicts. Each takes a table of `wmbxl.stats.study.analyse` and returns a Bokeh figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import Span, Whisker
from bokeh.palettes import Cividis256, PuOr11
from bokeh.plotting import figure
from bokeh.transform import linear_cmap

from wmbxl.errors import UsageError
from wmbxl.report.style import BLUE, GREY, ORANGE, chart, columns, factors, tell, write


def forest(full_vs_view: pd.DataFrame, view: str) -> figure:
    """Draw each model's accuracy on everything minus that on a view, with its interval.

    Parameters
    ----------
    full_vs_view : pandas.DataFrame
        The table of this name.
    view : str
        A view of the table, such as ``S0-n13``.

    Raises
    ------
    UsageError
        The table has no such view.
    """
    rows = _of_view(full_vs_view, view)
    made = _by_model(rows, "percentage points")
    source = columns(rows)
    made.add_layout(_zero())
    made.add_layout(
        Whisker(
            base="model", lower="ci_low_pp", upper="ci_high_pp", dimension="width", source=source, line_color=BLUE,
            line_width=2, upper_head=None, lower_head=None,
        )
    )  # fmt: skip
    points = made.scatter("delta_pp", "model", source=source, size=10, color=BLUE)
    tell(
        made,
        [
            ("", "@model"),
            ("everything", "@acc_full{0.0} % of @n_full"),
            (view, "@acc_view{0.0} % of @n_view"),
            ("difference", "@delta_pp{0.00} (@ci_low_pp{0.00} to @ci_high_pp{0.00})"),
        ],
        points,
    )
    _show(made, rows[["ci_low_pp", "ci_high_pp"]])
    return made


def deltas_by_n(deltas: pd.DataFrame) -> figure:
    """Draw model × n: accuracy on everything minus accuracy on S0, percentage points.

    Parameters
    ----------
    deltas : pandas.DataFrame
        The table ``deltas_by_n``.
    """
    widest = max(0.1, float(deltas["delta_pp"].abs().max()))
    rows = deltas.assign(
        model=factors(deltas["model"]),
        column=deltas["n"].astype(str),
        label=["" if pd.isna(value) else f"{value:+.2f}" for value in deltas["delta_pp"]],
        ink=_ink(np.abs(deltas["delta_pp"]) > 7 / 11 * widest),
    )
    made = _tiles(rows, "n (tokens)")
    _fill(made, rows, linear_cmap("delta_pp", PuOr11, -widest, widest))
    tell(
        made,
        [
            ("", "@model"),
            ("n", "@n"),
            ("problems in S0", "@n_view"),
            ("difference", "@delta_pp{0.00} (@ci_low_pp{0.00} to @ci_high_pp{0.00})"),
        ],
        made.renderers[0],
    )
    return made


def buckets(table: pd.DataFrame) -> figure:
    """Draw model × number of hits: accuracy in percent.

    Parameters
    ----------
    table : pandas.DataFrame
        The table ``buckets``.
    """
    known = table["n"] > 0
    rows = table.assign(
        model=factors(table["model"]),
        column=table["bucket"],
        label=[f"{acc:.0f}" if some else "" for acc, some in zip(table["acc"], known, strict=True)],
        ink=_ink(table["acc"] < 55),
    )
    made = _tiles(rows, "hits of the problem")
    _fill(made, rows[known], linear_cmap("acc", Cividis256, 0, 100))
    tell(
        made,
        [
            ("", "@model"),
            ("hits", "@bucket"),
            ("problems", "@n"),
            ("accuracy", "@acc{0.0} % (@ci_low{0.0} to @ci_high{0.0})"),
        ],
        made.renderers[0],
    )
    return made


def counterfactual(table: pd.DataFrame, view: str) -> figure:
    """Draw how large the inflation is, and how large and small it could have been.

    Parameters
    ----------
    table : pandas.DataFrame
        The table ``counterfactual``.
    view : str
        A view of the table, such as ``S0-n13``.

    Raises
    ------
    UsageError
        The table has no such view.
    """
    rows = _of_view(table, view)
    made = _by_model(rows, "percentage points")
    source = columns(rows)
    made.add_layout(_zero())
    made.segment(
        "if_all_wrong_pp", "model", "if_all_right_pp", "model", source=source, line_color=GREY, line_width=3,
        legend_label="all flagged wrong … all right",
    )  # fmt: skip
    points = made.scatter("delta_pp", "model", source=source, size=10, color=ORANGE, legend_label="as it is")
    tell(
        made,
        [
            ("", "@model"),
            ("flagged problems", "@n_flagged of @n_full"),
            ("as it is", "@delta_pp{0.00}"),
            ("had all been wrong … right", "@if_all_wrong_pp{0.00} … @if_all_right_pp{0.00}"),
        ],
        points,
    )
    made.add_layout(made.legend[0], "below")
    made.legend.orientation = "horizontal"
    _show(made, rows[["if_all_wrong_pp", "if_all_right_pp", "delta_pp"]])
    return made


def _of_view(table: pd.DataFrame, view: str) -> pd.DataFrame:
    rows = table[table["view"] == view]
    if rows.empty:
        raise UsageError(f"no view {view!r} in this table: it holds {', '.join(table['view'].unique())}")
    return rows.assign(model=factors(rows["model"]))


def _by_model(rows: pd.DataFrame, label: str) -> figure:
    return chart(height=110 + 26 * len(rows), y_factors=list(rows["model"]), x_label=label)


def _zero() -> Span:
    return Span(location=0, dimension="height", line_color=GREY, line_dash="dashed")


def _show(made: figure, values: pd.DataFrame) -> None:
    """Show all values and zero, with room on either side."""
    low, high = min(0.0, float(values.min().min())), max(0.0, float(values.max().max()))
    room = 0.08 * (high - low) or 1.0
    made.x_range.start, made.x_range.end = low - room, high + room


def _ink(strong: Any) -> list[str]:
    """Return the colour of text on tiles, white on strong ones."""
    return ["#ffffff" if value else "#14171c" for value in strong]


def _tiles(rows: pd.DataFrame, label: str) -> figure:
    across = list(dict.fromkeys(rows["column"]))
    models = list(dict.fromkeys(rows["model"]))
    made = chart(height=90 + 28 * len(models), x_factors=across, y_factors=models, x_label=label)
    made.grid.visible = False
    return made


def _fill(made: figure, rows: pd.DataFrame, colour: Any) -> None:
    source = columns(rows)
    made.rect("column", "model", width=0.96, height=0.92, source=source, fill_color=colour, line_color=None)
    write(made, source, x="column", y="model", text_color="ink", text_align="center", text_baseline="middle")

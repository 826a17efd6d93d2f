"""How figures look: colours that the colour-blind can tell apart, one shape of figure, a light and a dark theme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from bokeh.models import AdaptiveTicker, ColumnDataSource, FactorRange, HoverTool, NumeralTickFormatter, Text
from bokeh.plotting import figure
from bokeh.themes import Theme

# After Okabe and Ito; each has a contrast of at least 3 with white and with the dark page.
BLUE, ORANGE, GREEN, GREY = "#0f7fc4", "#d55e00", "#009e73", "#808894"
HIGHEST = 8000  # pixels; a canvas is drawn up to 16,384, and twice as many are needed on a fine screen
FONT = "system-ui, sans-serif"


def _theme(text: str, line: str) -> Theme:
    axis = {
        "axis_label_text_color": text,
        "major_label_text_color": text,
        "axis_line_color": line,
        "major_tick_line_color": line,
        "minor_tick_line_color": None,
        "axis_label_text_font": FONT,
        "axis_label_text_font_style": "normal",
        "axis_label_text_font_size": "13px",
        "major_label_text_font": FONT,
        "major_label_text_font_size": "12px",
    }
    return Theme(
        json={
            "attrs": {
                "Plot": {
                    "background_fill_color": None,
                    "border_fill_color": None,
                    "outline_line_color": None,
                },
                "Axis": axis,
                "Grid": {"grid_line_color": line, "grid_line_alpha": 0.5},
                "Legend": {
                    "background_fill_color": None,
                    "border_line_color": None,
                    "label_text_color": text,
                    "label_text_font": FONT,
                    "label_text_font_size": "12px",
                },
                "Text": {
                    "text_color": {"value": text},
                    "text_font": {"value": FONT},
                    "text_font_size": {"value": "12px"},
                },
            }
        }
    )


LIGHT = _theme(text="#3b4250", line="#c9ced6")
DARK = _theme(text="#c6ccd6", line="#434b59")


def plain(label: Any) -> str:
    """Return a label that Bokeh shows as it is: two dollar signs would make it typeset mathematics.

    Examples
    --------
    >>> plain("$$x$$")
    '$\u200b$x$\u200b$'
    """
    return str(label).replace("$$", "$\u200b$")


def factors(labels: Iterable[Any]) -> list[str]:
    """Return labels as categories of an axis: plain, and different ones different even where they look the same.

    Examples
    --------
    >>> [len(label) for label in factors(["$$", "$\u200b$", "$$"])]
    [3, 4, 3]
    """
    shown: dict[str, str] = {}
    taken: set[str] = set()
    names = [str(label) for label in labels]
    for name in dict.fromkeys(names):
        text = plain(name)
        while text in taken:
            text += "\u200b"  # a space without width
        taken.add(text)
        shown[name] = text
    return [shown[name] for name in names]


def chart(
    *,
    height: int = 260,
    x_factors: Sequence[str] | None = None,
    y_factors: Sequence[str] | None = None,
    x_label: str = "",
    y_label: str = "",
) -> figure:
    """Return an empty figure as wide as its place, without a toolbar.

    Parameters
    ----------
    height : int
        Pixels; at most `HIGHEST` are taken, and labels are then close to one another.
    x_factors, y_factors : sequence of str, optional
        Categories of an axis, from the left and from the top.
    x_label, y_label : str
    """
    ranges: dict[str, Any] = {}
    if x_factors is not None:
        ranges["x_range"] = FactorRange(factors=list(x_factors))
    if y_factors is not None:
        ranges["y_range"] = FactorRange(factors=list(reversed(y_factors)))
    made = figure(height=min(height, HIGHEST), sizing_mode="stretch_width", toolbar_location=None, tools="", **ranges)
    made.xaxis.axis_label, made.yaxis.axis_label = x_label or None, y_label or None
    (made.xgrid if y_factors is None else made.ygrid).visible = False
    for axis, factors in ((made.xaxis, x_factors), (made.yaxis, y_factors)):
        if factors is None:
            axis.formatter = NumeralTickFormatter(format="0,0.[00]")
    return made


def columns(frame: pd.DataFrame) -> ColumnDataSource:
    """Return a frame's columns, without its index."""
    return ColumnDataSource({str(name): frame[name].tolist() for name in frame.columns})


def count(axis: Any) -> None:
    """Label whole numbers only."""
    axis.ticker = AdaptiveTicker(min_interval=1)


def write(made: figure, source: ColumnDataSource, **placed: Any) -> None:
    """Write a column of texts; as a model and not by ``figure.text``, so that the theme chooses its colour."""
    made.add_glyph(source, Text(text="label", **placed))


def tell(made: figure, rows: Sequence[tuple[str, str]], renderer: Any) -> None:
    """Show rows of (name, field) when the pointer is over a mark."""
    made.add_tools(HoverTool(tooltips=list(rows), renderers=[renderer]))

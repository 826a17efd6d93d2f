"""Figures of an audit. Each takes a frame of `wmbxl.report.frames` and returns a Bokeh figure to show or compose."""

from __future__ import annotations

import pandas as pd
from bokeh.plotting import figure

from wmbxl.report.style import BLUE, GREEN, ORANGE, chart, columns, count, factors, tell, write

_SERIES = {
    "S0": ("S0: in no document", BLUE, "solid", "circle"),
    "S1": ("S1: in at most two", ORANGE, "solid", "square"),
    "S0_auditable": ("S0, long enough", BLUE, "dashed", "circle"),
    "S1_auditable": ("S1, long enough", ORANGE, "dashed", "square"),
}


def sensitivity(frame: pd.DataFrame) -> figure:
    """Draw the share of problems in S0 and S1 at each n.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `wmbxl.report.frames.sensitivity`.
    """
    made = chart(height=320, x_factors=[str(n) for n in frame["n"]], x_label="n (tokens)", y_label="% of problems")
    made.y_range.start, made.y_range.end = 0, 105
    for name, (label, colour, dash, marker) in _SERIES.items():
        source = columns(pd.DataFrame({"n": frame["n"].map(str), "pct": frame[f"{name}_pct"], "problems": frame[name]}))
        made.line("n", "pct", source=source, color=colour, line_dash=dash, line_width=2, legend_label=label)
        fill = colour if dash == "solid" else None
        marks = made.scatter(
            "n", "pct", source=source, marker=marker, size=9, line_color=colour, fill_color=fill, legend_label=label
        )
        tell(made, [("", label), ("n", "@n"), ("problems", "@problems (@pct{0.0} %)")], marks)
    made.add_layout(made.legend[0], "below")
    made.legend.ncols = 2
    return made


def documents(frame: pd.DataFrame) -> figure:
    """Draw how many flagged problems are in how many documents.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `wmbxl.report.frames.documents`.
    """
    return _columns(frame, "documents", "documents that hold it", ORANGE)


def found_share(frame: pd.DataFrame) -> figure:
    """Draw which share of flagged problems' n-grams was found.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `wmbxl.report.frames.found_share`.
    """
    made = _columns(frame, "share", "of its n-grams were found", ORANGE)
    made.xaxis.major_label_orientation = 0.9
    return made


def _columns(frame: pd.DataFrame, category: str, label: str, colour: str) -> figure:
    made = chart(x_factors=list(frame[category]), x_label=label, y_label="problems")
    source = columns(frame.assign(label=[f"{found:,}" if found else "" for found in frame["problems"]]))
    bars = made.vbar(category, top="problems", width=0.8, source=source, color=colour)
    write(made, source, x=category, y="problems", y_offset=-3, text_align="center")
    count(made.yaxis)
    tell(made, [(label, f"@{category}"), ("problems", "@problems")], bars)
    made.y_range.start, made.y_range.end = 0, max(1.0, 1.15 * float(frame["problems"].max()))
    return made


def by_group(frame: pd.DataFrame) -> figure:
    """Draw the share of flagged problems by task format or year.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `wmbxl.report.frames.by_group`.
    """
    groups = factors(frame["group"])
    made = chart(height=90 + 28 * len(groups), y_factors=groups, x_label="% of its problems that were found")
    source = columns(
        frame.assign(
            group=groups,
            label=[
                f"{flagged:,} of {total:,}" for flagged, total in zip(frame["flagged"], frame["problems"], strict=True)
            ],
        )
    )
    bars = made.hbar("group", right="flagged_pct", height=0.7, source=source, color=BLUE)
    write(made, source, x="flagged_pct", y="group", x_offset=6, text_baseline="middle")
    tell(made, [("", "@group"), ("found", "@label (@flagged_pct{0.0} %)")], bars)
    made.x_range.start, made.x_range.end = 0, max(5.0, 1.35 * float(frame["flagged_pct"].max()))
    made.xaxis.bounds = (0, 100)
    return made


def by_corpus(frame: pd.DataFrame) -> figure:
    """Draw how many problems were found in each corpus, and in no other.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `wmbxl.report.frames.by_corpus`.
    """
    names = factors(frame["corpus"])
    made = chart(height=110 + 36 * len(names), y_factors=names, x_label="problems that were found")
    source = columns(frame.assign(corpus=names, shared=frame["problems"] - frame["only_here"]))
    bars = made.hbar_stack(
        ["only_here", "shared"], y="corpus", height=0.6, source=source, color=[BLUE, GREEN],
        legend_label=["in this corpus only", "in others too"],
    )  # fmt: skip
    for renderer in bars:
        tell(made, [("", "@corpus (@role)"), ("problems", "@problems"), ("only here", "@only_here")], renderer)
    made.add_layout(made.legend[0], "below")
    made.legend.orientation = "horizontal"
    made.x_range.start, made.x_range.end = 0, max(1.0, 1.1 * float(frame["problems"].max()))
    count(made.xaxis)
    return made

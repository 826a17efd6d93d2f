"""The report of an audit: one HTML file that needs no network and no server."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
from bokeh.embed import json_item
from bokeh.plotting import figure
from bokeh.resources import Resources
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wmbxl.audit import Audit
from wmbxl.folder import REPORT
from wmbxl.report import frames, plots, verdict_plots
from wmbxl.report.evidence import Found, found_problems
from wmbxl.report.style import DARK, LIGHT
from wmbxl.stats.study import Analysis
from wmbxl.tables import show
from wmbxl.units import percent, size
from wmbxl.words import SKIPPED, bytes_read, doubts, status


@dataclass(frozen=True)
class Panel:
    """A figure with what it says, and its numbers for those who can't see it or want them."""

    id: str
    title: str
    text: str
    figure: figure
    frame: pd.DataFrame


def write_report(
    audit: Audit, n: int | None = None, channel: str | None = None, analysis: Analysis | None = None
) -> str:
    """Write ``report.html`` into the folder of an audit.

    Parameters
    ----------
    audit : Audit
    n : int, optional
        The n whose flagged problems are shown; by default 13, or the largest if the audit has no 13.
    channel : str, optional
        The channel that the figures are about; by default the prompt. The table of problems has all.
    analysis : Analysis, optional
        Of models' verdicts, from `wmbxl.stats.study.analyse`.

    Returns
    -------
    str
        Where the file is.

    Raises
    ------
    UsageError
        If the audit has no such n or channel, or was made before wmbxl kept the problems' texts.
    """
    audit.folder.write(REPORT, render(audit, n, channel, analysis).encode())
    return f"{audit.folder.url}/{REPORT}"


def render(audit: Audit, n: int | None = None, channel: str | None = None, analysis: Analysis | None = None) -> str:
    """Return the report as HTML; parameters as for `write_report`."""
    n, channel = frames.reference(audit, n, channel)
    problems = found_problems(audit, n)
    panels = list(_panels(audit, n, channel))
    view = audit.view("S0", n, channel, undecided="exclude").name
    verdict_panels = list(_verdict_panels(analysis, view, f"S0 at n = {n}")) if analysis else []
    environment = Environment(
        loader=PackageLoader("wmbxl.report", "page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"size": size, "percent": percent, "cell": _cell, "bytes_read": bytes_read}
    # Bokeh's figures refer to what stands before: their keys must keep their order.
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    library, *_ = Resources(mode="inline", components=["bokeh"]).js_raw  # the rest sets the level of its log
    code = files("wmbxl.report").joinpath("page/page.js").read_text(encoding="utf-8")
    return environment.get_template("page.html").render(
        info=audit.info,
        source=PurePosixPath(audit.info["benchmark"]["source"]).name or "a benchmark in memory",
        n=n,
        channel=channel,
        status=status(audit.info),
        warnings=list(doubts(audit.info)),
        gaps=list(_gaps(audit.info)),
        numbers=frames.sensitivity(audit, channel).set_index("n").loc[n].to_dict(),
        problems=problems,
        has=_columns(audit, problems),
        panels=panels,
        verdict_panels=verdict_panels,
        remarks=analysis.remarks if analysis else [],
        notes=analysis.tables["notes"] if analysis else None,
        figures={panel.id: _themed(panel) for panel in (*panels, *verdict_panels)},
        evidence=_evidence(problems),
        style=Markup(files("wmbxl.report").joinpath("page/page.css").read_text(encoding="utf-8")),
        scripts=[Markup(script) for script in (library, code)],
        policy=_policy([library, code]),
    )


def _policy(scripts: Sequence[str]) -> str:
    """Allow these scripts and nothing from outside, so that a text that slipped through could still do nothing."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"


def _cell(value: Any) -> str:
    """Write a number for a reader."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else show(value)


def _themed(panel: Panel) -> dict[str, Any]:
    return {name: json_item(panel.figure, theme=theme) for name, theme in (("light", LIGHT), ("dark", DARK))}


def _gaps(info: dict[str, Any]) -> Iterator[str]:
    """Yield what was not read, or not audited, and why."""
    for corpus in info["corpora"]:
        for reason, amount in corpus["faults"].items():
            yield (
                f"{corpus['name']}: {amount['pieces']:,} piece(s) not read to the end: {reason} "
                f"({size(amount['bytes'])}); the ledger names them"
            )
        for reason, amount in corpus["skipped"].items():
            yield f"{corpus['name']}: {amount['records']:,} {SKIPPED[reason]} ({reason}, {size(amount['bytes'])})"
        if corpus["left_out"]:
            examples = ", ".join(item["url"].rsplit("/", 1)[-1] for item in corpus["left_out"][:3])
            yield f"{corpus['name']}: {len(corpus['left_out']):,} file(s) left out, such as {examples}"


def _columns(audit: Audit, problems: Sequence[Found]) -> dict[str, bool]:
    """Return which columns of the table of problems say something."""
    return {
        "channel": len(audit.info["channels"]) > 1,
        "format": any(problem.format for problem in problems),
        "year": any(problem.year for problem in problems),
        "elsewhere": any(corpus["role"] != "release" for corpus in audit.info["corpora"]),
    }


def _evidence(problems: Sequence[Found]) -> dict[str, Any]:
    """Return what the page's script shows of each problem. Numbers of 64 bits go as text: JavaScript has none."""
    shards: dict[str, int] = {}
    shown = []
    for problem in problems:
        passages = []
        for passage in problem.passages:
            content = asdict(passage)
            content["shard"] = shards.setdefault(passage.shard, len(shards))
            content["matches"] = [[match.start, match.end, str(match.xxh64), match.others] for match in passage.matches]
            passages.append(content)
        shown.append({"text": problem.text, "found": problem.found, "passages": passages})
    return {"shards": list(shards), "problems": shown}


def _panels(audit: Audit, n: int, channel: str) -> Iterator[Panel]:
    """Yield the figures of the audit."""
    by_n = frames.sensitivity(audit, channel)
    yield Panel(
        "sensitivity", "S0 and S1 by length of n-gram",
        "Short n-grams match by chance, long ones miss edited copies. Dashed: without problems that are too short.",
        plots.sensitivity(by_n), by_n,
    )  # fmt: skip
    documents = frames.documents(audit, n, channel)
    yield Panel(
        "documents", "Documents per flagged problem", "How many documents of the corpora hold a flagged problem.",
        plots.documents(documents), documents,
    )  # fmt: skip
    shares = frames.found_share(audit, n, channel)
    yield Panel(
        "share", "How much of a flagged problem was found",
        "A single shared phrase is on the left, a verbatim copy on the right.",
        plots.found_share(shares), shares,
    )  # fmt: skip
    for column, title, what in (
        ("format", "By task format", "Which share of the problems of each format was found."),
        ("year", "By year of the source", "Which share of the problems of each year was found."),
    ):
        groups = frames.by_group(audit, column, n, channel)  # type: ignore[arg-type]
        shown, text = frames.largest(groups), what
        if len(shown) < len(groups):
            text = f"{what} The {len(shown) - 1} largest of {len(groups):,} groups; the others are one."
        if len(shown):
            yield Panel(column, title, text, plots.by_group(shown), shown)
    corpora = frames.by_corpus(audit, n, channel)
    yield Panel(
        "corpus", "By corpus", "How many problems each corpus holds, and how many of them no other corpus holds.",
        plots.by_corpus(corpora), corpora,
    )  # fmt: skip


def _verdict_panels(analysis: Analysis, view: str, name: str) -> Iterator[Panel]:
    """Yield the figures of models' verdicts."""
    tables = analysis.tables
    yield Panel(
        "forest", "Would the scores change without the flagged problems?",
        f"Accuracy on all problems minus accuracy on {name}, with its interval. An interval that contains zero "
        "is no sign of inflation.",
        verdict_plots.forest(tables["full_vs_view"], view), tables["full_vs_view"],
    )  # fmt: skip
    yield Panel(
        "deltas", "Does that depend on n?", "The same difference at each n, percentage points.",
        verdict_plots.deltas_by_n(tables["deltas_by_n"]), tables["deltas_by_n"],
    )  # fmt: skip
    yield Panel(
        "buckets", "Are problems with more hits answered better?",
        "Accuracy in percent by number of hits. An empty tile has no problems.",
        verdict_plots.buckets(tables["buckets"]), tables["buckets"],
    )  # fmt: skip
    yield Panel(
        "counterfactual", "How large could the inflation be at most?",
        f"Accuracy on all problems minus accuracy on {name}: as it is, and had all flagged answers been wrong, or all "
        "right.",
        verdict_plots.counterfactual(tables["counterfactual"], view), tables["counterfactual"],
    )  # fmt: skip

"""The live page: a Bokeh document for each browser that looks, drawn anew every second while an audit runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bokeh.document import Document
from bokeh.models import (
    AdaptiveTicker,
    BasicTicker,
    ColumnDataSource,
    Div,
    HoverTool,
    NumeralTickFormatter,
    Range1d,
    Select,
)
from bokeh.plotting import figure
from distributed import Scheduler
from distributed.http import utils as dask_site
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader

from wmbxl.dashboard.run import Outcome, Reading, Run
from wmbxl.units import duration, size

DRAW_EVERY = 1000  # milliseconds
ROWS_SHOWN = 50
LINES_SHOWN = 24  # workers with a line of their own

BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito's colours, which the colour-blind can tell apart
LATEST = ("", "the latest")

_frame = Environment(  # Dask's navigation bar around it; nothing of a run is put into it
    loader=ChoiceLoader([PackageLoader("wmbxl.dashboard"), FileSystemLoader(Path(dask_site.dirname) / "templates")])
)
_blocks = Environment(loader=PackageLoader("wmbxl.dashboard"), autoescape=True)  # what names and errors hold is text
_blocks.filters.update(
    size=size,
    duration=duration,
    count=lambda number: f"{number:,.0f}",
    percent=lambda share: f"{share:.1%}",
)
_style = (Path(__file__).parent / "templates" / "blocks.css").read_text(encoding="utf-8")

BLOCKS = ("head", "result", "corpora", "workers", "stragglers", "unread", "flagged")
NOTHING_YET = {"head": "<h1>wmbxl</h1><p>No audit has run on this scheduler yet.</p>"}


def open_page(
    runs: Mapping[str, Run], pages: set[Page], scheduler: Scheduler, extra: Mapping[str, Any], doc: Document
) -> None:
    """Fill the document of a browser that has come to look."""
    page = Page(runs, scheduler, doc)
    pages.add(page)
    doc.on_session_destroyed(lambda context: pages.discard(page))
    doc.template = _frame.get_template("page.html")
    doc.template_variables.update(extra)
    doc.add_periodic_callback(page.draw, DRAW_EVERY)


class Page:
    """What one browser shows.

    Parameters
    ----------
    runs : mapping of str to Run
        The latest one last; it is shown unless the person chooses another.
    scheduler : distributed.Scheduler
    doc : bokeh.document.Document
    """

    def __init__(self, runs: Mapping[str, Run], scheduler: Scheduler, doc: Document) -> None:
        self._runs, self._scheduler, self._doc = runs, scheduler, doc
        self._choice = Select(name="choice", title="Audit", value=LATEST[0], options=[LATEST], visible=False)
        self._choice.on_change("value", self._chosen)
        self._texts = {
            name: Div(name=name, sizing_mode="stretch_width", disable_math=True, stylesheets=[_style])
            for name in BLOCKS
        }
        self._plots = Plots()
        self._shown: tuple[Run, Outcome | None] | None = None
        for root in (self._choice, *self._texts.values(), *self._plots.figures):
            doc.add_root(root)
        doc.title = "wmbxl"
        self.draw()

    def redraw(self) -> None:
        """Draw before the second is over."""
        self._doc.add_next_tick_callback(self.draw)

    def shows(self, run: Run) -> bool:
        """Whether the browser has got the present outcome of a run, if it looks at this run."""
        return self._run() is not run or self._shown == (run, run.outcome)

    def draw(self) -> None:
        """Bring the page up to date; what has not changed is not sent."""
        self._offer_choice()
        run = self._run()
        if run and run.outcome and self.shows(run):
            return
        for name, text in (page_texts(run, len(self._scheduler.workers)) if run else NOTHING_YET).items():
            block = self._texts[name]
            block.text, block.visible = text, bool(text.strip())
        if run:
            self._plots.draw(run)
            self._shown = (run, run.outcome)
            self._doc.title = f"{run.outcome.status if run.outcome else f'{run.total.share:.0%}'} – wmbxl"

    def _chosen(self, attr: str, old: str, new: str) -> None:
        self.draw()

    def _run(self) -> Run | None:
        return self._runs.get(self._choice.value) or next(reversed([*self._runs.values()]), None)

    def _offer_choice(self) -> None:
        options = [
            LATEST,
            *((topic, f"{run.began:%Y-%m-%d %H:%M:%S} UTC, {run.plan.out}") for topic, run in self._runs.items()),
        ]
        if self._choice.options != options:
            self._choice.options = options
            self._choice.visible = len(self._runs) > 1


def page_texts(run: Run, connected: int) -> dict[str, str]:
    """Return the page's blocks of text as HTML, by name; `connected` workers are there."""
    readings: dict[str, list[Reading]] = defaultdict(list)
    for reading in run.reading.values():
        readings[reading.worker].append(reading)
    macros = _blocks.get_template("blocks.html").module
    workers = sorted(run.workers.values(), key=lambda worker: (worker.gone, run.rates(worker)))  # the slow first
    lately = "mean" if run.outcome else "now"
    facts = {
        "run": run, "connected": connected, "readings": readings, "workers": workers, "lately": lately,
        "rows": ROWS_SHOWN,
    }  # fmt: skip
    return {name: str(getattr(macros, name)(facts)) for name in BLOCKS}


class Plots:
    """The five plots over time.

    Attributes
    ----------
    figures : list of bokeh.plotting.figure
    """

    def __init__(self) -> None:
        self._all = ColumnDataSource({"seconds": [0], "bytes": [0], "windows": [0], "flagged": [0]})
        self._each = ColumnDataSource({"worker": [], "seconds": [], "bytes": [], "windows": []})
        self._time = Range1d(0, 1)
        self._drawn: object = None
        self.figures: list[figure] = []
        for name, title in (
            ("bytes", "MB per second, all workers"),
            ("windows", "Million windows per second, all workers"),
            ("flagged", "Flagged problems so far"),
        ):
            plot = self._figure(f"plot_{name}", title)
            plot.line("seconds", name, source=self._all, color=BLUE, line_width=2)
            self.figures.append(plot)
        self.figures[-1].yaxis.ticker = BasicTicker(min_interval=1)
        for name, title in (
            ("bytes", "MB per second, each worker"),
            ("windows", "Million windows per second, each worker"),
        ):
            plot = self._figure(f"plot_each_{name}", title)
            plot.multi_line("seconds", name, source=self._each, color=BLUE, alpha=0.6, hover_line_color=ORANGE)
            plot.add_tools(HoverTool(tooltips=[("worker", "@worker")]))
            plot.visible = False
            self.figures.append(plot)

    def draw(self, run: Run) -> None:
        """Show a run; nothing is sent before another bin is full."""
        history = run.history
        if not run.outcome:
            history.reach(run.now)
        state = (run, history.width, history.filled)
        if state == self._drawn:
            return
        self._drawn = state
        seconds, rates = history.times(), history.rates() / 1e6
        self._time.end = max(1.0, float(seconds[-1]))
        self._all.data = {
            "seconds": seconds, "bytes": rates[:, 0], "windows": rates[:, 1], "flagged": history.flagged(),
        }  # fmt: skip
        shown = list(history.amounts)[-LINES_SHOWN:]
        each = [history.rates(worker) / 1e6 for worker in shown]
        self._each.data = {
            "worker": shown,
            "seconds": [seconds for _ in shown],
            "bytes": [rate[:, 0] for rate in each],
            "windows": [rate[:, 1] for rate in each],
        }
        left_out = len(history.amounts) - len(shown)
        for plot in self.figures[3:]:
            plot.visible = bool(shown) and len(seconds) > 1
            title = plot.title.text.partition(" (")[0]
            plot.title.text = f"{title} (the last {LINES_SHOWN} that joined)" if left_out else title

    def _figure(self, name: str, title: str) -> figure:
        plot = figure(
            name=name, title=title, x_range=self._time, height=220, sizing_mode="stretch_width", tools="",
            toolbar_location=None,
        )  # fmt: skip
        plot.xaxis.formatter = NumeralTickFormatter(format="00:00:00")
        plot.xaxis.ticker = AdaptiveTicker(base=60, mantissas=[1, 2, 5, 10, 15, 30], desired_num_ticks=4)
        plot.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
        plot.axis.minor_tick_line_color = None
        plot.y_range.start = 0
        return plot

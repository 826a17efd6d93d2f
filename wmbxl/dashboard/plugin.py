"""The scheduler's part of the live page, and what an audit calls to be shown on it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from distributed import Client, Scheduler, SchedulerPlugin

from wmbxl.__about__ import __version__
from wmbxl.dashboard.run import Outcome, Plan, Run
from wmbxl.dashboard.site import PATH, add_page
from wmbxl.errors import UsageError

if TYPE_CHECKING:
    from wmbxl.dashboard.page import Page

RUNS_KEPT = 10
LAST_LOOK = 2.0  # seconds that open pages get to show the end, before a local cluster goes away

logger = logging.getLogger("wmbxl")


class LivePage(SchedulerPlugin):  # type: ignore[misc]
    """Adds the page to the scheduler's dashboard and adds up what workers tell about each audit.

    The events of workers pass the scheduler anyway, on their way to the client. So being watched costs them nothing.

    Attributes
    ----------
    runs : dict of str to Run
        By topic, the latest last.
    pages : set of Page
        Open in a browser now.
    fault : str
        Why there is no page; empty if there is one.
    """

    name = PATH
    idempotent = True  # a second audit finds the page in its place

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self._clients: dict[str, str] = {}  # by topic
        self.pages: set[Page] = set()
        self.fault = ""

    async def start(self, scheduler: Scheduler) -> None:
        """Add the page, or keep why it can't be: Dask logs the traceback of an error that is raised here."""
        try:
            add_page(scheduler, self.runs, self.pages)
        except RuntimeError as error:
            self.fault = str(error)

    def begin(self, topic: str, client: str, plan: Plan) -> None:
        """Start to follow an audit."""
        self.runs[topic], self._clients[topic] = Run(plan), client
        while len(self.runs) > RUNS_KEPT:
            oldest = next(iter(self.runs))
            del self.runs[oldest], self._clients[oldest]

    def log_event(self, topic: str, msg: Mapping[str, Any]) -> None:
        """Take up a worker's event."""
        if run := self.runs.get(topic):
            run.take(msg)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Take note that a worker has left."""
        for run in self.runs.values():
            run.lose(worker)

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Take note of audits that have lost the process that ran them."""
        for topic, run in self.runs.items():
            if self._clients[topic] == client:
                run.end(Outcome("lost"))


@contextmanager
def shown(client: Client, topic: str, plan: Plan) -> Iterator[tuple[str, Callable[[Outcome], None]]]:
    """Show an audit on the scheduler's dashboard while the block runs; without a page the block runs all the same.

    Parameters
    ----------
    client : distributed.Client
    topic : str
        Under which workers send events.
    plan : Plan

    Yields
    ------
    str
        Address of the page, or of Dask's own dashboard if the page can't be added.
    callable
        To be told the outcome. It is ``failed`` or ``stopped`` if the block is left by an error.

    Raises
    ------
    UsageError
        If wmbxl is not installed where the scheduler runs.
    """
    link = client.dashboard_link or ""
    if not _appear(client, topic, plan):
        yield link, lambda outcome: None
        return

    def end(outcome: Outcome) -> None:
        with suppress(Exception):  # the scheduler may be gone
            client.run_on_scheduler(_end, topic, outcome)

    try:
        yield urljoin(link, PATH) if link else "", end
    except Exception as error:
        end(Outcome("failed", str(error)))
        raise
    except BaseException:
        end(Outcome("stopped"))
        raise


def _appear(client: Client, topic: str, plan: Plan) -> bool:
    """Add the page if it isn't there, and the audit to it; say so and return False if that can't be done."""
    try:
        client.register_plugin(LivePage())
        fault = client.run_on_scheduler(_begin, topic, client.id, plan)
    except Exception as error:  # whatever is wrong on the scheduler, the audit doesn't need the page
        if isinstance(error, ModuleNotFoundError) and error.name == "wmbxl":
            raise UsageError(
                f"the Python of the scheduler at {client.scheduler.address} has no wmbxl, and a scheduler has to load "
                f"the tasks too: install wmbxl {__version__} there, as on the workers"
            ) from error
        fault = _reason(error)
    if fault:
        logger.warning("No live page: %s. The audit runs on without it.", fault)
    return not fault


def _reason(error: Exception) -> str:
    """Say why there is no page, and what helps."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the scheduler's Python has no module {error.name!r}; install wmbxl {__version__} there"
    return str(error) or type(error).__name__


def _begin(topic: str, client: str, plan: Plan, dask_scheduler: Scheduler) -> str:
    """Start to follow an audit; return why it can't be shown, or nothing."""
    plugin: LivePage = dask_scheduler.plugins[PATH]
    if not plugin.fault:
        plugin.begin(topic, client, plan)
    return plugin.fault


async def _end(topic: str, outcome: Outcome, dask_scheduler: Scheduler) -> None:
    """Tell the plugin the outcome, and wait until open pages show it."""
    plugin: LivePage = dask_scheduler.plugins[PATH]
    run = plugin.runs.get(topic)
    if run is None:
        return
    run.end(outcome)
    pages = list(plugin.pages)
    for page in pages:
        page.redraw()
    deadline = time.monotonic() + LAST_LOOK
    while not all(page.shows(run) for page in pages) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)

"""The live page in the web server of a scheduler: its address, and its link in Dask's navigation bar."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from distributed import Scheduler
from tornado.ioloop import IOLoop

from wmbxl.dashboard.run import Run

if TYPE_CHECKING:
    from wmbxl.dashboard.page import Page

PATH = "wmbxl"


def add_page(scheduler: Scheduler, runs: dict[str, Run], pages: set[Page]) -> None:
    """Serve the page beside Dask's own.

    Parameters
    ----------
    scheduler : distributed.Scheduler
    runs : dict of str to Run
        What to show, the latest last.
    pages : set of Page
        Gets those that are open in a browser.

    Raises
    ------
    RuntimeError
        If the scheduler has no dashboard.
    """
    try:  # only the scheduler needs Bokeh, and it may lack it
        from bokeh.server.tornado import BokehTornado
        from distributed.dashboard.core import BokehApplication
        from distributed.dashboard.scheduler import template_variables

        from wmbxl.dashboard.page import open_page
    except ImportError as error:
        raise RuntimeError(
            f"the scheduler's Python can't show a dashboard ({error}): pip install bokeh there"
        ) from error
    dask_site = next((app for app in scheduler.http_application.applications if isinstance(app, BokehTornado)), None)
    if dask_site is None:
        raise RuntimeError("the scheduler was started without its dashboard (dask scheduler --no-dashboard)")
    variables = template_variables(scheduler)  # one dictionary for all pages of this scheduler
    site = BokehApplication({f"/{PATH}": partial(open_page, runs, pages)}, scheduler, dask_site.prefix, variables)
    scheduler.http_application.add_application(site)
    site.initialize(IOLoop.current())
    site.start()
    if PATH not in variables["pages"]:
        variables["pages"].append(PATH)

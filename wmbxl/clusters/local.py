"""A cluster on this machine."""

from __future__ import annotations

import logging
from typing import ClassVar, Literal

from distributed import LocalCluster

from wmbxl.clusters.recipe import Recipe


class Local(Recipe):
    """Processes on this machine.

    Parameters
    ----------
    memory : str, optional
        Limit of a worker, such as ``4GB``; by default its share of the machine's.
    local_directory : str, optional
        For the index and whatever Dask spills.
    dashboard_address : str
        Port of the dashboard, such as ``:8787``, or host and port.
    """

    help_where: ClassVar[str] = "the log above"

    kind: Literal["local"]
    memory: str | None = None
    local_directory: str | None = None
    dashboard_address: str = ":8787"

    def start(self) -> LocalCluster:
        """Start the scheduler; workers come when they are asked for."""
        return LocalCluster(
            n_workers=0, threads_per_worker=1, processes=True, silence_logs=logging.ERROR,
            dashboard_address=self.dashboard_address, memory_limit=self.memory or 1 / self.most,
            local_directory=self.local_directory,
        )  # fmt: skip

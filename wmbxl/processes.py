"""Worker processes on this machine, which leave the cores to the work."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

import dask
from distributed import Client, LocalCluster

# Each process looks 50 times a second whether it is late, and the driver ten times a second, for each worker, how much
# memory that takes. Together with less urgent looks that takes 3 % of two cores.
QUIET = {
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.worker.memory.monitor-interval": "500ms",
}


@contextlib.contextmanager
def local_client(workers: int | None) -> Iterator[Client]:
    """Give a client of a cluster of processes with one thread each, by default one for each core.

    The cluster ends with the block.
    """
    with (
        dask.config.set(QUIET),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, silence_logs=logging.ERROR,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client

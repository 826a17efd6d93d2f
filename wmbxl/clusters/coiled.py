"""A cluster in a cloud account, by Coiled."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from distributed.deploy.cluster import Cluster

from wmbxl.clusters.recipe import Recipe


class Coiled(Recipe):
    """Virtual machines in a cloud account, one worker on each; settings that are left out are Coiled's own defaults.

    Parameters
    ----------
    name, workspace, region : str, optional
    worker_cpu : int
        Virtual CPUs of a worker's machine. Two are mostly one core.
    worker_memory : str, optional
        Memory of a worker's machine, such as ``4GiB``.
    arm : bool, optional
        Use ARM machines; then package versions can't be copied from an x86 one, so give `container` or `software`.
    spot_policy : str, optional
        ``spot`` machines are cheap and may be taken away.
    idle_timeout : str
        After which Coiled shuts the cluster down if nobody else did.
    software, container : str, optional
        An environment or image that is there already; by default the packages here are installed in the same versions.
    """

    help_where: ClassVar[str] = "cloud.coiled.io, which shows the cluster's logs"

    kind: Literal["coiled"]
    name: str | None = None
    workspace: str | None = None
    region: str | None = None
    worker_cpu: int = 2
    worker_memory: str | None = None
    arm: bool | None = None
    spot_policy: Literal["on-demand", "spot", "spot_with_fallback"] | None = None
    idle_timeout: str = "20 minutes"
    software: str | None = None
    container: str | None = None

    def start(self) -> Cluster:
        """Start the scheduler and the first worker; all are stopped when the ``with`` block is left."""
        return self.library("coiled", "coiled").Cluster(**self.arguments())

    def arguments(self) -> dict[str, Any]:
        """Return what ``coiled.Cluster`` is called with."""
        pinned = {} if self.software or self.container else {"package_sync_strict": True}
        return {
            "n_workers": max(1, self.least),
            "worker_options": {"nthreads": 1},
            "worker_cpu": self.worker_cpu,
            "idle_timeout": self.idle_timeout,
            "wait_for_workers": False,
            "shutdown_on_close": True,
            **self.given("name", "workspace", "region", "worker_memory", "arm", "spot_policy", "software", "container"),
            **pinned,
        }

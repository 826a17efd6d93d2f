"""Clusters whose workers are jobs of a batch system, by dask-jobqueue."""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from dask.utils import parse_bytes
from distributed.deploy.cluster import Cluster
from distributed.scheduler import WorkerState
from pydantic import AfterValidator, BeforeValidator, Field
from tornado.ioloop import PeriodicCallback

from wmbxl.clusters.recipe import IDLE_LOOKS, LOOK_EVERY, Recipe

LEAVE_EARLY = timedelta(minutes=5)  # before a job's time is up, or a tenth of its time if that is less
GONE_AFTER = 15.0  # seconds that all workers of a job are away before the job counts as ended
CHECK_EVERY = 2000  # milliseconds


def _time(value: Any) -> timedelta:
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)", value) if isinstance(value, str) else None
    if not found:
        raise ValueError('expected hours, minutes and seconds in quotes, such as "04:00:00" or "2-00:00:00"')
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _memory(value: str) -> str:
    try:
        parse_bytes(value)
    except ValueError:
        raise ValueError("expected bytes with a unit, such as 16GB or 8GiB") from None
    return value


Memory = Annotated[str, AfterValidator(_memory)]
Walltime = Annotated[timedelta, BeforeValidator(_time)]


class Batch(Recipe):
    """Jobs of a batch system; settings that are left out are those of the site's ``jobqueue.yaml``, if it has one.

    Parameters
    ----------
    cores : int
        Of a job, which has as many workers.
    memory : str
        Of a job, such as ``16GB``; its workers share it.
    walltime : timedelta
        Of a job. Workers leave a little earlier and hand back what they are at.
    queue, account : str, optional
        Where jobs go, and who pays.
    interface : str, optional
        Network interface that nodes reach each other by, such as ``ib0``.
    python : str, optional
        Python of the workers; by default the one that runs the audit.
    prologue : tuple of str
        Lines of shell before the worker starts, such as ``module load python``.
    directives : tuple of str
        More directives of the job, such as ``--exclusive``.
    skip_directives : tuple of str
        Directives that the site does not accept; those that contain one of these texts are left out.
    local_directory : str, optional
        A fast disk of the node, for the index and whatever Dask spills.
    log_directory : str
        For the jobs' output.
    dashboard_address : str
        Port of the dashboard, such as ``:8787``.
    """

    cluster_class: ClassVar[str]

    cores: int = Field(ge=1)
    memory: Memory
    walltime: Walltime
    queue: str | None = None
    account: str | None = None
    interface: str | None = None
    python: str | None = None
    prologue: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    skip_directives: tuple[str, ...] = ()
    local_directory: str | None = None
    log_directory: str = "wmbxl-jobs"
    dashboard_address: str = ":8787"

    def start(self) -> Cluster:
        """Start the scheduler in this process; jobs are submitted when workers are asked for."""
        make = getattr(self.library("dask_jobqueue", "jobqueue"), self.cluster_class)
        return make(
            cores=self.cores, processes=self.cores, memory=self.memory, walltime=self._written(),
            worker_extra_args=["--lifetime", f"{self._lifetime().total_seconds():.0f}s"],
            job_script_prologue=list(self.prologue), job_extra_directives=[*self._slots(), *self.directives],
            job_directives_skip=list(self.skip_directives), log_directory=self.log_directory,
            scheduler_options={"dashboard_address": self.dashboard_address},
            **self.given("queue", "interface", "python", "local_directory"), **self._site(),
        )  # fmt: skip

    @abstractmethod
    def _site(self) -> dict[str, Any]:
        """Return the settings that only this batch system has."""

    def _slots(self) -> list[str]:
        """Return the directives that ask for the cores, where dask-jobqueue writes none."""
        return []

    def _written(self) -> str:
        """Return the wall time as the batch system reads it."""
        minutes, seconds = divmod(round(self.walltime.total_seconds()), 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"

    def _lifetime(self) -> timedelta:
        return self.walltime - min(LEAVE_EARLY, self.walltime / 10)

    def settle(self, cluster: Cluster) -> None:
        """Keep the cluster at its size in whole jobs; jobs that ended make room for new ones."""
        least, most = (-(-count // self.cores) * self.cores for count in (self.least, self.most))
        looks = {"interval": LOOK_EVERY, "wait_count": IDLE_LOOKS}
        cluster.adapt(minimum=least, maximum=most, worker_key=_job_of if self.cores > 1 else None, **looks)
        _Jobs(cluster).watch()


def _job_of(worker: WorkerState) -> str:
    """Return the job of a worker, so that jobs are let go as a whole."""
    return str(worker.name).rpartition("-")[0]


class _Jobs:
    """Strikes jobs that ended (killed, preempted, out of time) from what the cluster plans with.

    dask-jobqueue does not ask the batch system about jobs. An adaptive cluster counts a job for ever that has once been
    submitted, so without this none would take the place of one that ended. Jobs that have not started yet stay.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.missed_since: dict[str, float] = {}
        self.started: set[str] = set()

    def watch(self) -> None:
        """Look every few seconds, for as long as the cluster's loop runs."""
        self.cluster.loop.add_callback(PeriodicCallback(self.look, CHECK_EVERY).start)

    def look(self) -> None:
        """Compare the jobs with the workers that are there."""
        there = {str(worker["name"]) for worker in self.cluster.scheduler_info["workers"].values()}
        now = time.monotonic()
        for job, spec in list(self.cluster.worker_spec.items()):
            if there.intersection(f"{job}{suffix}" for suffix in spec.get("group", [""])):
                self.started.add(job)
                self.missed_since.pop(job, None)
            elif job in self.started and now - self.missed_since.setdefault(job, now) > GONE_AFTER:
                del self.cluster.worker_spec[job]


class Slurm(Batch):
    """Jobs of Slurm."""

    help_where: ClassVar[str] = "squeue --me, and the jobs' output in log_directory"
    cluster_class: ClassVar[str] = "SLURMCluster"

    kind: Literal["slurm"]

    def _site(self) -> dict[str, Any]:
        return self.given("account")


class PBS(Batch):
    """Jobs of PBS Pro, OpenPBS or Torque.

    Parameters
    ----------
    resource_spec : str, optional
        The resources of a job, such as ``select=1:ncpus=8:mem=16gb`` (the default has this form), or
        ``nodes=1:ppn=8`` for Torque.
    """

    help_where: ClassVar[str] = "qstat, and the jobs' output in log_directory"
    cluster_class: ClassVar[str] = "PBSCluster"

    kind: Literal["pbs"]
    resource_spec: str | None = None

    def _site(self) -> dict[str, Any]:
        return self.given("account", "resource_spec")


class SGE(Batch):
    """Jobs of Sun, Son of or Univa Grid Engine; `account` is the project.

    Parameters
    ----------
    parallel_environment : str
        For more than one core on one host, such as ``smp``; `cores` slots of it are asked for.
    resource_spec : str, optional
        Resources of each slot, such as ``h_vmem=2G``.
    """

    help_where: ClassVar[str] = "qstat, and the jobs' output in log_directory"
    cluster_class: ClassVar[str] = "SGECluster"

    kind: Literal["sge"]
    parallel_environment: str = "smp"
    resource_spec: str | None = None

    def _site(self) -> dict[str, Any]:
        project = {} if self.account is None else {"project": self.account}
        return {**self.given("resource_spec"), **project}

    def _slots(self) -> list[str]:
        return [f"-pe {self.parallel_environment} {self.cores}"] if self.cores > 1 else []


class LSF(Batch):
    """Jobs of IBM Spectrum LSF; `account` is the project.

    Parameters
    ----------
    lsf_units : str, optional
        Unit of memory limits at the site, such as ``mb``; by default LSF is asked.
    """

    help_where: ClassVar[str] = "bjobs, and the jobs' output in log_directory"
    cluster_class: ClassVar[str] = "LSFCluster"

    kind: Literal["lsf"]
    lsf_units: Literal["kb", "mb", "gb", "tb"] | None = None

    def _site(self) -> dict[str, Any]:
        project = {} if self.account is None else {"project": self.account}
        return {**self.given("lsf_units"), **project}

    def _written(self) -> str:
        return super()._written()[:-3]  # LSF counts minutes

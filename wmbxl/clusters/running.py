"""Reading a recipe, and running a cluster by it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

import dask
from distributed import Client

from wmbxl.clusters.batch import LSF, PBS, SGE, Slurm
from wmbxl.clusters.coiled import Coiled
from wmbxl.clusters.kubernetes import Kubernetes
from wmbxl.clusters.local import Local
from wmbxl.clusters.recipe import Recipe
from wmbxl.clusters.versions import check_versions
from wmbxl.errors import UsageError, WmbxlError
from wmbxl.processes import QUIET
from wmbxl.settings import check, read_yaml, say_issue

KINDS: dict[str, type[Recipe]] = {
    "local": Local, "slurm": Slurm, "pbs": PBS, "sge": SGE, "lsf": LSF, "kubernetes": Kubernetes, "coiled": Coiled,
}  # fmt: skip
REMIND_EVERY = 60.0  # seconds


def read_recipe(path: str) -> Recipe:
    """Read and check a recipe.

    Parameters
    ----------
    path : str
        A YAML file; see the folder ``cluster/`` of the source.

    Raises
    ------
    UsageError
        If the recipe is wrong; all that is wrong is told at once.
    """
    content = read_yaml(path)
    kind = str(content.get("kind", ""))
    if kind not in KINDS:
        close = get_close_matches(kind, KINDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"{path}: kind: expected one of {', '.join(KINDS)}, found {content.get('kind')!r}{hint}")
    model = KINDS[kind]
    recipe = check(model, content, path, lambda issue: say_issue(issue, [*model.model_fields, "minimum", "maximum"]))
    recipe._folder = Path(path).absolute().parent
    return recipe


@contextmanager
def started(recipe: Recipe, say: Callable[[str], None]) -> Iterator[Client]:
    """Run a cluster while the block runs: start, wait for a worker, compare versions, grow; shut down at the end.

    It is shut down on Ctrl-C and on SIGTERM too, which batch systems send to a job whose time is up.

    Parameters
    ----------
    recipe : Recipe
    say : callable
        Is told what is being waited for.

    Yields
    ------
    distributed.Client

    Raises
    ------
    UsageError
        If a package is missing here, or if versions differ.
    WmbxlError
        If no worker comes in time.
    """
    with _terminable(), dask.config.set(QUIET), recipe.start() as cluster, Client(cluster) as client:
        cluster.scale(max(1, recipe.least))
        _wait(client, recipe, say)
        check_versions(client)
        recipe.settle(cluster)
        yield client


def _wait(client: Client, recipe: Recipe, say: Callable[[str], None]) -> None:
    """Wait for the first worker."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < recipe.start_timeout:
        say(f"Waiting for the first worker of the {recipe.kind} cluster ({waited:.0f} s)")
        try:
            return client.wait_for_workers(1, timeout=min(REMIND_EVERY, recipe.start_timeout - waited))
        except TimeoutError:
            pass
    raise WmbxlError(
        f"no worker came in {recipe.start_timeout:.0f} s: look at {recipe.help_where}; start_timeout in the recipe "
        "gives them longer"
    )


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that it cleans up."""
    if threading.current_thread() is not threading.main_thread():  # only there may handlers be set
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

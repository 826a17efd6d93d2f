"""Audits on a real Slurm with three nodes."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import wmbxl
from tests.clusters.conftest import SLURM, Place
from tests.support import table_bytes
from wmbxl.clusters import batch, read_recipe, started

pytest.importorskip("dask_jobqueue", reason="no Slurm workers: pip install '.[jobqueue]'")

DRIVER = Path(__file__).parents[2] / "cluster/slurm/driver.sh"


def jobs(environment: dict[str, str], *states: str) -> list[str]:
    """Return the ids of jobs in these states; without states, of those that wait or run."""
    chosen = ["--states", ",".join(states)] if states else []
    done = subprocess.run(["squeue", "-h", "-o", "%A", *chosen], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def until(ready: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.2)


def same_tables(place: Place, out: str) -> bool:
    return table_bytes(place.folder / out) == table_bytes(place.folder / "calm")


def test_a_job_is_cancelled_in_mid_scan(place: Place, environment: dict[str, str]) -> None:
    recipe = place.recipe("cancelled", **SLURM, workers=3)
    with place.start("cancelled", "--cluster", recipe, environment=environment) as process:
        assert process.stderr
        until(lambda: process.poll() is not None or list((place.folder / "cancelled").glob("checkpoints/*.arrow")))
        running = jobs(environment, "RUNNING")
        subprocess.run(["scancel", running[0]], env=environment, check=True)
        said = process.stderr.read()
        assert process.wait() == 0, said
    assert running[0] in jobs(environment, "CANCELLED")
    assert same_tables(place, "cancelled")
    until(lambda: not jobs(environment), 40)


@pytest.fixture
def here(place: Place, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be one that submits jobs."""
    for name in ("PATH", "SLURM_CONF"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.chdir(place.folder)


@pytest.mark.usefixtures("here")
def test_a_cluster_follows_the_work_from_nothing_to_nothing(
    place: Place, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "LOOK_EVERY", "1s")
    monkeypatch.setattr(batch, "IDLE_LOOKS", 2)
    recipe = read_recipe(place.recipe("adapted", **SLURM, adapt={"minimum": 0, "maximum": 3}))
    corpus = wmbxl.Corpus("made", str(place.folder / "corpus"), id_field="id")
    with started(recipe, print) as client:
        until(lambda: not jobs(environment))
        work = client.map(time.sleep, [1] * 100, pure=False)
        until(lambda: len(jobs(environment, "RUNNING")) == 3)
        client.cancel(work)
        until(lambda: not jobs(environment))
        bench = wmbxl.read_benchmark(str(place.folder / "problems.jsonl"))
        wmbxl.audit(bench, [corpus], str(place.folder / "adapted"), (5, 13), client=client)
    assert same_tables(place, "adapted")
    until(lambda: not jobs(environment), 40)


@pytest.mark.usefixtures("here")
def test_a_job_that_ended_is_replaced(place: Place, environment: dict[str, str]) -> None:
    recipe = read_recipe(place.recipe("replaced", **SLURM, workers=2))
    with started(recipe, print) as client:
        client.wait_for_workers(2, timeout=60)
        first = jobs(environment, "RUNNING")
        subprocess.run(["scancel", first[0]], env=environment, check=True)
        until(lambda: first[0] not in jobs(environment), 40)
        until(lambda: len(jobs(environment, "RUNNING")) == 2)
        client.wait_for_workers(2, timeout=60)
    until(lambda: not jobs(environment), 40)


def test_the_driver_is_a_job(place: Place, environment: dict[str, str]) -> None:
    command = place.command("driven", "--cluster", place.recipe("driven", **SLURM, workers=2))
    script = place.folder / "driver.sh"
    shutil.copy(DRIVER, script)
    settings = place.folder / "audit.yaml"
    settings.write_text(
        f"benchmark: {place.folder}/problems.jsonl\nns: [5, 13]\nout: {place.folder}/driven\n"
        f"corpora: [{{name: made, urls: {place.folder}/corpus, id_field: id}}]\n"
    )
    submit = ["sbatch", "--parsable", "--cpus-per-task=1", "--mem=1G", str(script)]
    where = {**environment, "AUDIT": str(settings), "RECIPE": command[-1]}

    def submitted() -> str:
        done = subprocess.run(submit, cwd=place.folder, env=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    stopped = submitted()
    until(lambda: len(jobs(environment, "RUNNING")) == 3)  # the driver and two workers
    subprocess.run(["scancel", stopped], env=environment, check=True)
    until(lambda: not jobs(environment), 60)
    finished = submitted()
    until(lambda: finished in jobs(environment, "COMPLETED", "FAILED", "CANCELLED"), 180)
    assert finished in jobs(environment, "COMPLETED"), (place.folder / f"wmbxl-audit-{finished}.log").read_text()
    assert same_tables(place, "driven")
    until(lambda: not jobs(environment), 40)


@pytest.mark.skipif(shutil.which("qsub") is None, reason="no qsub: apt-get install slurm-wlm-torque")
def test_jobs_of_the_pbs_recipe_run(place: Place, environment: dict[str, str]) -> None:
    """Slurm takes PBS's commands and directives, as far as Torque knows them."""
    settings = {**SLURM, "kind": "pbs", "resource_spec": "nodes=1:ppn=1", "workers": 2}
    done = place.audit("pbs", "--cluster", place.recipe("pbs", **settings), environment=environment)
    assert done.returncode == 0, done.stderr
    assert same_tables(place, "pbs")
    until(lambda: not jobs(environment), 40)

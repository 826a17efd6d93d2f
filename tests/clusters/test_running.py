"""Clusters that really run on this machine: sizes, versions, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dask
import orjson
import psutil
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

from tests.clusters.conftest import Place
from tests.support import table_bytes
from wmbxl.cli import main
from wmbxl.clusters import check_versions, read_recipe, started
from wmbxl.errors import UsageError, WmbxlError

LOCAL = {"kind": "local"}


@pytest.mark.parametrize("size", [{"workers": 2}, {"adapt": {"minimum": 0, "maximum": 2}}], ids=str)
def test_a_cluster_by_recipe_gives_the_same_tables(place: Place, size: dict[str, object]) -> None:
    out = "-".join(size)
    done = place.audit(out, "--cluster", place.recipe(out, **LOCAL, **size))
    assert done.returncode == 0, done.stderr
    assert "Waiting for the first worker of the local cluster" in done.stderr
    assert table_bytes(place.folder / out) == table_bytes(place.folder / "calm")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_audit_leaves_no_process(place: Place, number: signal.Signals) -> None:
    recipe = place.recipe("stopped", **LOCAL, workers=2)
    with place.start(f"stopped-{number}", "--cluster", recipe) as process:
        assert process.stderr
        for line in process.stderr:
            if "Watch this run" in line:
                break
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) >= 2
        os.kill(process.pid, number)
        rest = process.stderr.read()
        assert process.wait(60) == 130, rest
    assert "run the same command again" in rest
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive


def test_what_is_wrong_is_told_before_a_cluster_is_started(place: Place) -> None:
    path = place.recipe("wrong", **LOCAL, workers=1)
    for more, message in (
        (["--workers", "2"], "give one of them, not --workers and --cluster"),
        (["--corpus-text-field", "body"], "no record has the field 'body'"),
        (["--corpus", "made=nowhere/*.jsonl"], "matches no file"),
    ):
        done = CliRunner().invoke(main, place.command("wrong", "--cluster", path, *more)[3:])
        assert done.exit_code == 2
        assert message in done.stderr
        assert "Waiting" not in done.stderr


def test_no_worker_in_time(place: Place) -> None:
    path = place.recipe("late", **LOCAL, workers=1, start_timeout=0.01)
    with (
        pytest.raises(WmbxlError, match=r"no worker came in 0 s: look at .*; start_timeout in the recipe"),
        started(read_recipe(path), print),
    ):
        pass


@pytest.fixture
def other_worker(tmp_path: Path) -> Iterator[str]:
    """A scheduler with one worker, which finds other versions of two packages installed."""
    for name, version in (("orjson", "1.2.3"), ("dask", "2024.1.0")):
        installed = tmp_path / f"{name}-{version}.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        arguments = ["-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--nthreads", "1", "--no-nanny"]
        environment = {**os.environ, "PYTHONPATH": path}
        with subprocess.Popen([sys.executable, *arguments, "--no-dashboard"], env=environment) as process:
            yield cluster.scheduler_address
            process.terminate()


def test_other_versions_are_told_with_what_to_install(other_worker: str, place: Place) -> None:
    with Client(other_worker) as client:
        client.wait_for_workers(1, timeout=60)
        with pytest.raises(UsageError) as caught:
            check_versions(client)
    said = str(caught.value)
    assert f"orjson {orjson.__version__} here, 1.2.3 on worker tcp://" in said
    assert f"dask {dask.__version__} here, 2024.1.0 on worker tcp://" in said
    assert "scheduler" not in said
    assert f"pip install dask=={dask.__version__} orjson=={orjson.__version__}" in said
    done = place.audit("other", "--scheduler", other_worker)
    assert done.returncode == 2
    assert "1.2.3" in done.stderr
    assert not (place.folder / "other").exists()


def test_jobs_that_ended_make_room() -> None:
    """A cluster counts a job that once had workers and has none any more as one to replace, a waiting one not."""
    from wmbxl.clusters import batch

    class Cluster:
        worker_spec: dict[str, dict[str, list[str]]]
        scheduler_info: dict[str, dict[str, dict[str, str]]]

    cluster = Cluster()
    cluster.worker_spec = {"job-0": {"group": ["-0", "-1"]}, "job-1": {"group": ["-0", "-1"]}, "job-2": {}}
    cluster.scheduler_info = {"workers": {"a": {"name": "job-0-1"}, "b": {"name": "job-2"}}}
    jobs = batch._Jobs(cluster)
    jobs.look()
    cluster.scheduler_info = {"workers": {"b": {"name": "job-2"}}}
    jobs.look()
    assert list(cluster.worker_spec) == ["job-0", "job-1", "job-2"]  # its workers may come back
    jobs.missed_since["job-0"] = time.monotonic() - batch.GONE_AFTER - 1
    jobs.look()
    assert list(cluster.worker_spec) == ["job-1", "job-2"]

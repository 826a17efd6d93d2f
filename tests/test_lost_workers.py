"""Workers that die, that are taken away, and a scheduler that is gone: on real processes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed import Client, LocalCluster, WorkerPlugin

import wmbxl
from tests.s3 import free_ports
from tests.support import make_benchmark, table_bytes, write_benchmark, write_corpus
from wmbxl.watch import Watch

NS = (5, 13)


class DiesOver(WorkerPlugin):  # type: ignore[misc]
    """Makes a worker die over shards of this name."""

    def __init__(self, name: str) -> None:
        self.shard = name

    def setup(self, worker: object) -> None:
        from wmbxl import worker as module

        whole, bad = module.scan_piece, self.shard

        def scan_piece(shard, *rest):  # type: ignore[no-untyped-def]
            if bad in shard.url:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(shard, *rest)

        module.scan_piece, self.whole = scan_piece, whole

    def teardown(self, worker: object) -> None:
        from wmbxl import worker as module

        module.scan_piece = self.whole


@pytest.fixture
def client() -> Iterator[Client]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as made,
    ):
        yield made


def test_a_shard_that_kills_its_worker_is_left_out(client: Client, tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / "corpus", make_benchmark(), shards=8, documents=5)
    run = str(tmp_path / "run")
    client.register_plugin(DiesOver("shard-003"), name="dies")
    watch = Watch()
    done = wmbxl.audit(
        make_benchmark(), [wmbxl.Corpus("c", str(folder))], run, NS, client=client, block_size=4096, watch=watch
    )
    assert done.status == "incomplete"
    ledger = done.ledger.set_index("shard")
    assert ledger["reason"].dropna().to_dict() == {str(folder / "shard-003.jsonl.gz"): "killed_worker"}
    line = ledger.loc[str(folder / "shard-003.jsonl.gz")]
    assert line["unread_bytes"] == line["size"] > 0
    assert "2 workers died over it" in line["error"]
    assert done.info["corpora"][0]["documents"] == 7 * 5
    client.sync(client.scheduler.identity)  # events that are under way arrive first
    assert watch.unread == {"killed_worker": 1}
    client.unregister_worker_plugin("dies")
    again = wmbxl.audit(make_benchmark(), [wmbxl.Corpus("c", str(folder))], run, NS, client=client, block_size=4096)
    assert again.status == "complete"
    assert again.info["corpora"][0]["documents"] == 8 * 5


def test_a_retired_worker_hands_back_its_work(client: Client, tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / "corpus", make_benchmark(), shards=30, documents=20)
    corpus = wmbxl.Corpus("c", str(folder))
    wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "calm"), NS, client=client)
    watch = Watch()
    retired: list[str] = []

    def retire() -> None:
        while watch.pieces_done < 3:
            pass
        retired.extend(client.retire_workers(list(client.scheduler_info()["workers"])[:1]))

    thread = threading.Thread(target=retire)
    thread.start()
    done = wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "rough"), NS, client=client, watch=watch)
    thread.join()
    assert len(retired) == 1
    assert done.status == "complete"
    client.sync(client.scheduler.identity)  # events that are under way arrive first
    assert watch.pieces_done == 30
    assert table_bytes(tmp_path / "rough") == table_bytes(tmp_path / "calm")


def test_the_end_of_the_scheduler_ends_the_run_with_the_command_that_resumes_it(tmp_path: Path) -> None:
    write_corpus(tmp_path / "my corpus", make_benchmark(), shards=4, documents=5)
    write_benchmark(tmp_path / "problems.jsonl", make_benchmark())
    (port,) = free_ports(1)
    address = f"tcp://127.0.0.1:{port}"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port),
         "--dashboard-address", "127.0.0.1:0"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(wmbxl.__file__).parents[1])},
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    options = ["audit", "--benchmark", "problems.jsonl", "--corpus", "c=my corpus", "--out", "run"]
    options += ["--scheduler", address]  # without any worker: the run waits
    try:
        with Client(address, timeout=60) as client:
            audit = subprocess.Popen(
                [sys.executable, "-m", "wmbxl", *options], cwd=tmp_path, text=True, stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(Path(wmbxl.__file__).parents[1])},
            )  # fmt: skip
            while not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
                assert audit.poll() is None
    finally:
        scheduler.kill()
        scheduler.wait()
    _, told = audit.communicate(timeout=120)
    assert audit.returncode == 1
    assert "the scheduler is gone" in told
    assert told.rstrip().endswith(f"Resume it:  {shlex.join(['wmbxl', *options])}")

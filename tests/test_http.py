"""A corpus on a real HTTP server, which lists files without their sizes and can die."""

from __future__ import annotations

import functools
import gzip
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

import wmbxl
from tests.support import as_jsonl, make_benchmark, make_documents
from wmbxl.cli import main
from wmbxl.errors import UsageError
from wmbxl.recheck import recheck
from wmbxl.scan import scan_shard


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "served"
    place.mkdir()
    for i in range(2):
        (place / f"{i}.jsonl.gz").write_bytes(gzip.compress(as_jsonl(make_documents(make_benchmark(), i, 30))))
    return place


@pytest.fixture
def server(folder: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def url(server: http.server.ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}/"


@pytest.fixture
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as made,
    ):
        yield made


def test_a_listing_without_sizes_counts_the_same(server: http.server.ThreadingHTTPServer, folder: Path) -> None:
    index = wmbxl.ProbeIndex.build(make_benchmark(), [5, 13])
    here, there = (
        wmbxl.Tally.sum(scan_shard(shard, index) for shard in wmbxl.Corpus("c", place).shards())
        for place in (str(folder), url(server))
    )
    assert here.occurrences > 0
    assert here.without_evidence() == there.without_evidence()


def test_a_gap_in_a_file_of_unlisted_size_is_as_large_as_elsewhere(
    server: http.server.ThreadingHTTPServer, folder: Path, client: Client, tmp_path: Path
) -> None:
    path = folder / "1.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-500])
    shares = [
        wmbxl.audit(
            make_benchmark(), [wmbxl.Corpus("c", place)], str(tmp_path / name), client=client, accept_unread=0.01
        ).info["corpora"][0]["unread_share"]
        for name, place in (("here", str(folder)), ("there", url(server)))
    ]
    assert shares[0] == shares[1] > 0.3


def test_a_gap_of_unknown_size_is_never_accepted(folder: Path, client: Client, tmp_path: Path) -> None:
    (folder / "2.jsonl").symlink_to(tmp_path / "nowhere")
    done = wmbxl.audit(
        make_benchmark(), [wmbxl.Corpus("c", str(folder))], str(tmp_path / "run"), client=client, accept_unread=0.5
    )
    assert done.status == "incomplete"
    assert done.info["corpora"][0]["unread_share"] == 1.0


def test_a_dead_server_is_no_deleted_file(
    server: http.server.ThreadingHTTPServer, folder: Path, client: Client, tmp_path: Path, no_waits: None
) -> None:
    corpus = wmbxl.Corpus("c", url(server))
    done = wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), client=client)
    assert done.status == "complete"
    shards = corpus.shards()
    server.shutdown()
    server.server_close()

    tally = scan_shard(shards[0], done.index)
    assert set(tally.faults) == {"io_error"}
    outcome = recheck(done)
    assert (outcome.confirmed, outcome.failures) == (0, ())
    assert len(outcome.unread) == len(set(done.evidence["shard"]))
    assert CliRunner().invoke(main, ["recheck", str(tmp_path / "run")]).exit_code == 3
    for place in (url(server), f"{url(server)}0.jsonl.gz", f"{url(server)}*.gz"):
        with pytest.raises(UsageError):
            wmbxl.Corpus("c", place).shards()

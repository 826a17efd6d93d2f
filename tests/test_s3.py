"""Corpus and run folder on a real S3 server over HTTP: the same tables as on a local disk, and faults on the way."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import s3fs
import tenacity
import yaml
from botocore.exceptions import ClientError
from click.testing import CliRunner
from distributed import Client, LocalCluster

import wmbxl
from tests.s3 import KEY, SECRET, Faults, Proxy, Server
from tests.support import as_jsonl, make_benchmark, make_documents, table_bytes, write_benchmark, write_corpus
from wmbxl import ahead, readers, stores
from wmbxl.batches import Account
from wmbxl.cli import main
from wmbxl.errors import NothingMatches, UsageError, WmbxlError
from wmbxl.filesystems import masked
from wmbxl.folder import RunFolder
from wmbxl.scan import scan_piece, scan_shard
from wmbxl.watch import Watch

NS = (5, 13)


@pytest.fixture
def local(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", make_benchmark(), shards=5, documents=20)


@pytest.fixture
def place(s3: Server, local: Path, request: pytest.FixtureRequest) -> str:
    """The corpus on the server, in a folder for this test alone."""
    return s3.put(local, f"corpora/{request.node.name.replace('[', '-').rstrip(']')}")


@pytest.fixture
def large(s3: Server, request: pytest.FixtureRequest) -> str:
    """A file of several megabytes on the server."""
    name = f"corpora/large/{request.node.name.replace('[', '-').rstrip(']')}.jsonl"
    s3.files.pipe_file(name, as_jsonl(make_documents(make_benchmark(), 5, 30) * 100))
    return f"s3://{name}"


def tally(url: str, options: dict[str, Any], **cut: int) -> wmbxl.Tally:
    index = wmbxl.ProbeIndex.build(make_benchmark(), NS)
    shards = wmbxl.Corpus("c", url, storage_options=options).shards(**cut)
    return wmbxl.Tally.sum(scan_shard(shard, index) for shard in shards)


def assert_same_tables(there: dict[str, bytes], here: dict[str, bytes]) -> None:
    """Compare the tables of two runs cell for cell; only the shards' addresses differ."""
    for name, content in here.items():
        found, wanted = (pq.read_table(io.BytesIO(data)) for data in (there[name], content))
        places = [column for column in ("shard",) if column in wanted.column_names]
        assert found.drop_columns(places).equals(wanted.drop_columns(places)), name


# ---------------------------------------------------------------- the audit


def test_the_audit_is_the_same_as_on_a_local_disk(
    client: Client, s3: Server, local: Path, place: str, tmp_path: Path
) -> None:
    benchmark = make_benchmark()
    wmbxl.audit(benchmark, [wmbxl.Corpus("c", str(local))], str(tmp_path / "run"), NS, client=client)
    corpus = wmbxl.Corpus("c", f"{place}/shard-*.gz", storage_options=s3.options())
    done = wmbxl.audit(benchmark, [corpus], "s3://runs/same", NS, client=client, storage_options=s3.options())
    assert done.status == "complete"
    assert not done.evidence.empty
    objects = s3.read_all("runs/same")
    assert_same_tables(objects, table_bytes(tmp_path / "run"))
    assert sum(name.startswith("checkpoints/") for name in objects) == 5
    etags = {f"s3://{info['name']}": info["ETag"] for info in s3.files.ls(place.removeprefix("s3://"), detail=True)}
    assert dict(zip(done.ledger["shard"], done.ledger["version"], strict=True)) == etags


def test_a_second_run_takes_up_the_objects(client: Client, s3: Server, place: str) -> None:
    for seen in (0, 5):
        watch = Watch()
        corpus = wmbxl.Corpus("c", place, storage_options=s3.options())
        wmbxl.audit(
            make_benchmark(), [corpus], "s3://runs/again", NS, client=client, storage_options=s3.options(), watch=watch
        )
        client.sync(client.scheduler.identity)  # events that are under way arrive first
        assert watch.pieces_resumed == seen


def test_the_secret_is_written_nowhere(s3: Server, place: str, tmp_path: Path) -> None:
    """Grep every object of the run, what it prints, the workers' logs and the pages of the dashboard."""
    s3.files.pipe_file(f"{place}/broken.jsonl.gz", b"\x1f\x8b\x08broken")  # errors could tell
    write_benchmark(tmp_path / "problems.jsonl", make_benchmark())
    settings = {
        "benchmark": "problems.jsonl", "out": "s3://runs/secret", "n": [13],
        "corpora": [{"name": "c", "urls": place, "storage_options": s3.options()}],
        "storage_options": s3.options(),
    }  # fmt: skip
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(settings))
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        command = [sys.executable, "-m", "wmbxl", "audit", "audit.yaml", "--scheduler", cluster.scheduler_address]
        environment = {**os.environ, "PYTHONPATH": str(Path(wmbxl.__file__).parents[1])}
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert ran.returncode == 3, ran.stderr
        base = cluster.dashboard_link.removesuffix("/status")
        pages = ["/wmbxl", "/info/main/workers.html", "/info/main/logs.html", "/status", "/json/counts.json"]
        texts = [urllib.request.urlopen(base + page, timeout=20).read() for page in pages]
        logs = [repr(client.get_worker_logs()), repr(client.get_scheduler_logs()), repr(client.get_events())]
    told = [ran.stdout.encode(), ran.stderr.encode(), *texts, *(log.encode() for log in logs)]
    objects = s3.read_all("runs/secret")
    assert "audit.json" in objects
    assert any(b"broken.jsonl.gz" in text for text in told)  # there is something to see
    for content in (*objects.values(), *told):
        assert SECRET.encode() not in content
    assert "wmbxl report s3://runs/secret --config audit.yaml" in ran.stdout
    in_environment = {
        "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": s3.options()["endpoint_url"],
    }  # fmt: skip
    # The file of the audit will do, and so will the environment alone.
    stored = str(tmp_path / "audit.yaml")
    Path(stored).write_text(yaml.safe_dump({**settings, "benchmark": None}))
    views = str(tmp_path / "views")
    verdicts = "".join(
        json.dumps({"problem_id": name, "model": "m", "is_correct": True}) + "\n" for name in make_benchmark().ids
    )
    (tmp_path / "verdicts.jsonl").write_text(verdicts)
    judges = [f"--verdicts={name}={tmp_path / 'verdicts.jsonl'}" for name in ("one", "another")]
    for options, variables in ((["--config", stored], {}), ([], in_environment)):
        for verb, *more in (
            ["status", "s3://runs/secret"], ["recheck", "s3://runs/secret"], ["report", "s3://runs/secret"],
            ["export", "s3://runs/secret"], ["export", "s3://runs/secret", "--format", "csv", "--out", "s3://runs/csv"],
            ["views", "--audit", "s3://runs/secret", "--undecided", "exclude", "--out", views],
            ["judges", "--audit", "s3://runs/secret", "--undecided", "exclude", *judges, "--out", views],
        ):  # fmt: skip
            s3fs.S3FileSystem.clear_instance_cache()
            done = CliRunner().invoke(main, [verb, *more, *options], env=variables)
            assert done.exit_code == (3 if verb == "status" else 0), done.output
            assert SECRET not in done.output
    objects = s3.read_all("runs/secret") | s3.read_all("runs/csv")
    assert {"report.html", "release-n13/contamination-audit.csv", "metadata.csv"} <= set(objects)
    for content in (*objects.values(), *(path.read_bytes() for path in Path(views).iterdir())):
        assert SECRET.encode() not in content


@pytest.mark.parametrize(
    "text", ["benchmark: [x\nstorage_options: {secret: %s", "storage_options: [%s]", "- %s", "storage_options: %s"]
)
def test_mistakes_in_a_settings_file_dont_show_the_secret(tmp_path: Path, text: str) -> None:
    (tmp_path / "audit.yaml").write_text(text % SECRET)
    ran = CliRunner().invoke(main, ["audit", str(tmp_path / "audit.yaml")])
    assert ran.exit_code == 2
    assert SECRET not in ran.output


CREDENTIALS = [
    f"s3://{KEY}:{SECRET}@corpora/a.jsonl", f"s3://{KEY}:slash/{SECRET}@corpora/a.jsonl",
    f"s3://{SECRET}@corpora/a.jsonl", f"https://{SECRET}@host/a.jsonl", f"http://user:{SECRET}@host/a.jsonl",
    f"simplecache::https://user:{SECRET}@host/a.jsonl", f"sftp://user:{SECRET}@host/a.jsonl",
    f"https://host/a.jsonl?part=1&X-Amz-Signature={SECRET}", f"https://host/a.jsonl?sig={SECRET}&part=1",
]  # fmt: skip


@pytest.mark.parametrize("url", CREDENTIALS)
def test_credentials_in_a_url_are_refused_and_not_shown(tmp_path: Path, url: str) -> None:
    benchmark = str(write_benchmark(tmp_path / "problems.jsonl", make_benchmark()))
    corpus = str(write_corpus(tmp_path / "corpus", make_benchmark(), shards=1, documents=1))
    out = str(tmp_path / "out")
    for command in (
        ["audit", "--benchmark", url, "--corpus", f"c={corpus}", "--out", out],
        ["audit", "--benchmark", benchmark, "--corpus", f"c={url}", "--out", out],
        ["plan", "--benchmark", benchmark, "--corpus", f"c={corpus}", "--out", url],
        *([verb, url] for verb in ("status", "report", "export", "recheck", "corpora")),
        ["views", "--audit", url, "--out", out],
    ):
        ran = CliRunner().invoke(main, command)
        assert ran.exit_code == 2, (command, ran.output)
        assert "***" in ran.output and "storage_options" in ran.output
        assert SECRET not in ran.output
    assert not Path(out).exists()
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump({"benchmark": [url], "corpora": url, "out": {"out": url}}))
    ran = CliRunner().invoke(main, ["audit", str(tmp_path / "audit.yaml")])
    assert ran.exit_code == 2
    assert SECRET not in ran.output


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/a@b:c", "abfs://container@account/x", "ssh://user@host/x", "github://owner:name@branch/x", "/a:b@c",
     "hf://datasets/owner/name@main/x", "https://host:80/a:b@c?part=1", "s3://arn:aws:s3:x:1:accesspoint/n/k@1"],
)  # fmt: skip
def test_other_signs_in_a_url_are_left_alone(url: str) -> None:
    assert masked(url) == url


# ---------------------------------------------------------------- credentials


def test_anybody_may_read_a_public_bucket(s3: Server, local: Path, place: str) -> None:
    endpoint = s3.options()["endpoint_url"]
    open_place = s3.put(local, "public/corpus")
    assert tally(open_place, {"anon": True, "endpoint_url": endpoint}).documents == 100
    for options in ({"anon": True, "endpoint_url": endpoint}, s3.options(secret="wrong")):
        with pytest.raises(UsageError, match="can't be listed: PermissionError"):
            wmbxl.Corpus("c", place, storage_options=options).shards()


def test_the_requester_pays(s3: Server, place: str, proxy: Proxy) -> None:
    assert tally(place, s3.options(proxy.port, requester_pays=True)).documents == 100
    reads = [head for head in proxy.heads if head.startswith(b"GET ") and b".gz" in head.split(b"\r\n")[0]]
    assert len(reads) >= 5
    assert all(b"x-amz-request-payer: requester" in head.lower() for head in reads)


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    "faults",
    [Faults(resets=4, after=600_000), Faults(truncated=4, after=600_000), Faults(slow_down=4), Faults(latency=0.02)],
    ids=["resets", "truncated", "slow_down", "latency"],
)
def test_passing_faults_change_nothing(s3: Server, large: str, proxy: Proxy, faults: Faults, no_waits: None) -> None:
    expected = tally(large, s3.options(), block_size=1 << 20)
    assert expected.occurrences > 0
    wanted = max(faults.resets, faults.truncated, faults.slow_down)
    options = s3.options(proxy.port)
    shards = wmbxl.Corpus("c", large, storage_options=options).shards(1 << 20)
    index = wmbxl.ProbeIndex.build(make_benchmark(), NS)
    proxy.faults = faults
    found = wmbxl.Tally.sum(scan_shard(shard, index) for shard in shards)
    assert not found.faults
    assert proxy.struck == wanted
    assert found.without_evidence() == expected.without_evidence()


def test_only_one_layer_retries(s3: Server, large: str, proxy: Proxy, no_waits: None) -> None:
    (shard,) = wmbxl.Corpus("c", large, storage_options=s3.options(proxy.port)).shards(1 << 40)
    proxy.faults = Faults(refused=True)
    found = scan_shard(shard, wmbxl.ProbeIndex.build(make_benchmark(), NS))
    assert set(found.faults) == {"io_error"}
    # The first try asks for all that is read ahead, the others for two ranges. aiohttp asks again at once where a
    # connection breaks.
    assert proxy.struck <= 2 * (ahead.AHEAD + 1 + 2 * (stores.TRIES - 1))


def test_a_server_that_is_gone(s3: Server, large: str, no_waits: None) -> None:
    with Proxy(s3.port) as proxy:
        (shard,) = wmbxl.Corpus("c", large, storage_options=s3.options(proxy.port)).shards(1 << 40)
    nobody = s3.options(1)
    with pytest.raises(UsageError, match=rf"EndpointConnectionError.*given up after {stores.TRIES} tries"):
        wmbxl.Corpus("c", large, storage_options=nobody).shards()
    with pytest.raises(UsageError, match="EndpointConnectionError"):
        wmbxl.read_benchmark(large, storage_options=nobody)
    with pytest.raises(WmbxlError, match=r"runs/gone/a: can't be written: EndpointConnectionError"):
        RunFolder("s3://runs/gone", nobody).write("a", b"")
    with pytest.raises(WmbxlError, match="can't be read: EndpointConnectionError"):
        RunFolder("s3://runs/gone", nobody).read("a")
    assert shard.url == large


def test_a_server_that_hangs_is_given_up(
    s3: Server, large: str, proxy: Proxy, no_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "READ_TIMEOUT", 0.3)
    monkeypatch.setattr(stores.retry, "stop", tenacity.stop_after_attempt(2))
    (shard,) = wmbxl.Corpus("c", large, storage_options=s3.options(proxy.port)).shards(1 << 40)
    proxy.faults = Faults(stalled=True)
    account = Account()
    assert list(readers.read(shard, account)) == []
    proxy.faults.stalled = False
    assert account.fault is not None
    assert account.fault.reason == "io_error"
    assert "given up after 2 tries" in str(account.fault)


def test_time_limits_can_be_changed() -> None:
    options = {"config_kwargs": {"read_timeout": 99, "retries": {"total_max_attempts": 3}}}
    filesystem, _ = stores.locate("s3://bucket/key", options)
    assert filesystem.config_kwargs["read_timeout"] == 99
    assert filesystem.config_kwargs["retries"] == {"total_max_attempts": 3}
    assert filesystem.config_kwargs["connect_timeout"] == stores.CONNECT_TIMEOUT
    assert options == {"config_kwargs": {"read_timeout": 99, "retries": {"total_max_attempts": 3}}}


# ---------------------------------------------------------------- changes


def test_an_object_that_changed_since_it_was_listed(s3: Server, place: str) -> None:
    shards = wmbxl.Corpus("c", place, storage_options=s3.options()).shards()
    before = s3.files.cat_file(shards[0].url)
    s3.files.pipe_file(shards[0].url, before[:9] + b"\0" * (len(before) - 9))  # as many bytes, another etag
    s3.files.pipe_file(shards[1].url, s3.files.cat_file(shards[2].url))
    index = wmbxl.ProbeIndex.build(make_benchmark(), NS)
    assert [set(scan_shard(shard, index).faults) for shard in shards[1:3]] == [{"changed"}, set()]


def test_an_object_that_changes_while_it_is_read(s3: Server, large: str) -> None:
    (shard,) = wmbxl.Corpus("c", large, storage_options=s3.options()).shards(1 << 40)
    s3.files.pipe_file(large, s3.files.cat_file(large) * 18)  # more than is read ahead
    (shard,) = wmbxl.Corpus("c", large, storage_options=s3.options()).shards(1 << 40)
    account = Account()
    batches = readers.read(shard, account)
    next(batches)
    s3.files.pipe_file(large, b"{}\n")
    for _ in batches:
        pass
    assert account.fault is not None
    assert account.fault.reason == "changed"


def test_what_a_listing_told_is_not_asked_for_again(s3: Server, large: str, proxy: Proxy) -> None:
    """Each request costs a store's latency."""
    (shard,) = wmbxl.Corpus("c", large, storage_options=s3.options(proxy.port)).shards(1 << 40)
    proxy.heads.clear()
    assert not scan_shard(shard, wmbxl.ProbeIndex.build(make_benchmark(), NS)).faults
    assert len(proxy.heads) == 2 + -(-(shard.size - ahead.RANGE * 3 // 4) // ahead.RANGE)
    assert all(head.startswith(b"GET ") and b"if-match: " in head.lower() for head in proxy.heads)


def test_a_tiny_object_costs_one_request_made_while_others_are_scanned(s3: Server, place: str, proxy: Proxy) -> None:
    shards = wmbxl.Corpus("c", place, storage_options=s3.options(proxy.port)).shards()
    index = wmbxl.ProbeIndex.build(make_benchmark(), NS)
    proxy.heads.clear()
    upcoming = readers.Upcoming(shards)
    scanned = []
    for shard, source in upcoming:
        scanned.append(scan_piece(shard, index, source=source).tally)
        deadline = time.monotonic() + 60
        while len(scanned) == 1 and len(proxy.heads) < len(shards):  # all are asked for before the second one's turn
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert len(proxy.heads) == len(shards)
    assert all(head.startswith(b"GET ") and b"if-match: " in head.lower() for head in proxy.heads)
    assert wmbxl.Tally.sum(scanned) == tally(place, s3.options())


def test_an_object_that_changed_before_its_beginning_was_asked_for(s3: Server, place: str) -> None:
    shards = wmbxl.Corpus("c", place, storage_options=s3.options()).shards()
    s3.files.pipe_file(shards[1].url, s3.files.cat_file(shards[2].url))
    index = wmbxl.ProbeIndex.build(make_benchmark(), NS)
    found = [set(scan_piece(shard, index, source=file).tally.faults) for shard, file in readers.Upcoming(shards)]
    assert found == [set(), {"changed"}, set(), set(), set()]


def test_a_passing_fault_of_what_was_asked_for_ahead(s3: Server, place: str, proxy: Proxy, no_waits: None) -> None:
    shards = wmbxl.Corpus("c", place, storage_options=s3.options(proxy.port)).shards()
    index = wmbxl.ProbeIndex.build(make_benchmark(), NS)
    proxy.faults = Faults(slow_down=4)
    found = [scan_piece(shard, index, source=source).tally for shard, source in readers.Upcoming(shards)]
    assert proxy.struck == 4
    assert wmbxl.Tally.sum(found) == tally(place, s3.options())


def test_a_file_of_a_run_is_read_by_one_request(s3: Server, proxy: Proxy) -> None:
    folder = RunFolder("s3://runs/once", s3.options(proxy.port))
    folder.write("a", b"content")
    proxy.heads.clear()
    assert folder.read("a") == b"content"
    with pytest.raises(NothingMatches, match="no b in this folder"):
        folder.read("b")
    assert len(proxy.heads) == 2


# ---------------------------------------------------------------- checkpoints


def test_the_first_checkpoint_stays(s3: Server, proxy: Proxy, no_waits: None) -> None:
    """Two workers may finish the same task, and an answer may get lost on its way."""
    folder = RunFolder("s3://runs/checkpoints", s3.options(proxy.port))
    folder.write("a", b"first", new=True)
    folder.write("a", b"second", new=True)
    assert folder.read("a") == b"first"
    folder.write("a", b"third")
    assert folder.read("a") == b"third"
    proxy.faults = Faults(resets=1)  # of the answer: the object is there
    folder.write("b", b"once", new=True)
    assert proxy.struck == 1
    assert folder.read("b") == b"once"


def test_a_store_without_conditional_writes(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder("s3://runs/plain", s3.options())
    filesystem, _ = stores.locate(folder.url, folder.storage_options)
    whole = filesystem.pipe_file

    def pipe_file(path: str, data: bytes, mode: str = "overwrite") -> Any:
        if mode == "create":
            raise OSError(38, "not there") from ClientError({"Error": {"Code": "NotImplemented"}}, "PutObject")
        return whole(path, data)

    monkeypatch.setattr(filesystem, "pipe_file", pipe_file)
    folder.write("a", b"first", new=True)
    assert folder.read("a") == b"first"

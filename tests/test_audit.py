"""The audit on a real local cluster, against the oracle: counts, gaps, resuming, faults."""

from __future__ import annotations

import gc
import gzip
import logging
import os
import signal
import threading
from pathlib import Path

import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster, Status

import wmbxl
from tests import naive
from tests.support import as_jsonl, make_benchmark, make_documents, table_bytes, write_corpus
from wmbxl.cli.display import show_audit
from wmbxl.errors import FieldNotFound, RunMismatch, UsageError
from wmbxl.watch import Watch
from wmbxl.worker import IndexPlugin, QuietWorker

NS = (5, 13)


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", make_benchmark(), shards=6, documents=20)


def oracle(documents: list[str]) -> naive.Audit:
    problems = {problem.id: dict(problem.surfaces) for problem in make_benchmark().problems}
    return naive.audit(problems, documents, NS)


def documents_of(folder: Path) -> list[str]:
    benchmark = make_benchmark()
    shards = len(list(folder.glob("*.gz")))
    return [text for i in range(shards) for text in make_documents(benchmark, i, 20)]


def assert_counts(metadata: pd.DataFrame, expected: naive.Audit) -> None:
    columns = ("n_grams_total", "n_grams_unique", "hits_total", "docs_total", "unique_ngrams_total")
    assert len(metadata) == len(expected.counts)
    for row in metadata.to_dict("records"):
        counts = expected.counts[row["problem_id"], row["channel"], row["n"]]
        assert {name: row[name] for name in columns} == {name: counts[name] for name in columns}


def test_counts_equal_the_oracle(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    corpus = wmbxl.Corpus("made", str(corpus_folder), id_field="id")
    done = wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)
    expected = oracle(documents_of(corpus_folder))
    assert done.status == "complete"
    assert expected.all_matches
    assert_counts(done.metadata, expected)
    info = done.info["corpora"][0]
    assert info["tokens"] == expected.tokens
    assert info["windows"] == {str(n): expected.windows[n] for n in NS}
    ngrams = {(row["n"], row["ngram"]): row for row in done.ngrams.to_dict("records")}
    assert {key: (row["occurrences"], row["documents"]) for key, row in ngrams.items()} == expected.ngrams
    assert all(row["xxh64"] == naive.key(ngram) for (_, ngram), row in ngrams.items())
    assert all(row["owners"] == len(expected.owners[key]) for key, row in ngrams.items())


def test_views_follow_the_metadata(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    done = wmbxl.audit(
        make_benchmark(), [wmbxl.Corpus("made", str(corpus_folder))], str(tmp_path / "run"), NS, client=client
    )
    expected = oracle(documents_of(corpus_folder))
    for n in NS:
        documents = {problem: counts["docs_total"] for (problem, _, m), counts in expected.counts.items() if m == n}
        assert set(done.view("S0", n).ids) == {problem for problem, count in documents.items() if count == 0}
        assert set(done.view("S1", n).ids) == {problem for problem, count in documents.items() if count <= 2}
    summary = {row["n"]: row for row in done.info["summary"]}
    assert summary[13]["S0"] == len(done.view("S0", 13))


@pytest.mark.parametrize("block_size", [4096, 10_000, 1 << 26])
def test_block_size_changes_nothing(client: Client, tmp_path: Path, block_size: int) -> None:
    benchmark = make_benchmark()
    documents = make_documents(benchmark, 3, 60)
    (tmp_path / "plain.jsonl").write_bytes(as_jsonl(documents))
    corpus = wmbxl.Corpus("made", str(tmp_path / "plain.jsonl"), id_field="id")
    done = wmbxl.audit(benchmark, [corpus], str(tmp_path / "run"), NS, client=client, block_size=block_size)
    expected = oracle(documents)
    assert_counts(done.metadata, expected)
    sample = naive.evidence(expected.all_matches, documents, 20)
    found = [
        (r["problem_id"], r["channel"], r["n"], r["row"], r["start"], r["end"])
        for r in done.evidence.to_dict("records")
    ]
    wanted = [
        (*key, match.document, match.start, match.end) for key, matches in sorted(sample.items()) for match in matches
    ]
    assert sorted(found) == sorted(wanted)
    assert list(done.evidence["document_id"]) == [f"d{row}" for row in done.evidence["row"]]
    assert (len(done.ledger) > 5) == (block_size < 1 << 20)


def test_roles_are_counted_apart(client: Client, tmp_path: Path) -> None:
    benchmark = make_benchmark()
    texts = {role: make_documents(benchmark, seed, 30) for seed, role in enumerate(("release", "control"))}
    for role, documents in texts.items():
        (tmp_path / f"{role}.jsonl").write_bytes(as_jsonl(documents))
    corpora = [wmbxl.Corpus(role, str(tmp_path / f"{role}.jsonl"), role=role) for role in texts]  # type: ignore[arg-type]
    done = wmbxl.audit(benchmark, corpora, str(tmp_path / "run"), NS, client=client)
    assert_counts(done.metadata, oracle(texts["release"]))
    control = done.metadata_by_corpus.query("corpus == 'control'").drop(columns="corpus")
    assert_counts(control, oracle(texts["control"]))


def test_a_gap_in_a_control_corpus_leaves_labels_decided(
    client: Client, corpus_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "control.jsonl").write_bytes(as_jsonl(make_documents(make_benchmark(), 9, 5)) + b"broken\n")
    corpora = [
        wmbxl.Corpus("made", str(corpus_folder)),
        wmbxl.Corpus("ctl", str(tmp_path / "control.jsonl"), role="control"),
    ]
    done = wmbxl.audit(make_benchmark(), corpora, str(tmp_path / "run"), NS, client=client)
    assert done.status == "incomplete"
    assert done.metadata["in_S0"].notna().all()
    show_audit(done)
    assert "S0 and S1 are decided all the same" in " ".join(capsys.readouterr().out.split())


def test_shards_without_the_field_are_told(
    client: Client, corpus_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus_folder / "other.jsonl").write_bytes(b'{"content": "a"}\n' * 5)
    corpus = wmbxl.Corpus("made", str(corpus_folder))
    done = wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)
    assert done.info["corpora"][0]["pieces_without_field"] == 1
    show_audit(done)
    assert "1 piece(s) of made no record has the field 'text'" in " ".join(capsys.readouterr().out.split())


def test_a_gap_makes_labels_unknown(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    shard = corpus_folder / "shard-002.jsonl.gz"
    shard.write_bytes(shard.read_bytes()[:-2000])
    corpora = [wmbxl.Corpus("made", str(corpus_folder))]
    done = wmbxl.audit(make_benchmark(), corpora, str(tmp_path / "run"), NS, client=client)
    assert done.status == "incomplete"
    metadata = done.metadata
    assert metadata["in_S0"].isna().equals(metadata["docs_total"] == 0)
    assert metadata["in_S1"].isna().equals(metadata["docs_total"] <= 2)
    assert not metadata["in_S0"].fillna(False).any()
    line = done.ledger.query("status == 'incomplete'").iloc[0]
    assert (line["reason"], line["shard"]) == ("truncated", str(shard))
    assert line["position"] == shard.stat().st_size
    assert 0 < line["unread_bytes"] <= shard.stat().st_size

    share = done.info["corpora"][0]["unread_share"]
    accepted = wmbxl.audit(
        make_benchmark(), corpora, str(tmp_path / "run"), NS, client=client, accept_unread=share + 0.001
    )
    assert accepted.status == "complete"
    assert accepted.info["accept_unread"] == share + 0.001
    assert accepted.info["corpora"][0]["unread_share"] == share
    assert accepted.metadata["in_S0"].notna().all()


def test_a_second_run_takes_up_everything(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    def run() -> Watch:
        watch = Watch()
        corpus = wmbxl.Corpus("made", str(corpus_folder))
        wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client, watch=watch)
        client.sync(client.scheduler.identity)  # events that are under way arrive first
        return watch

    assert run().pieces_resumed == 0
    before = table_bytes(tmp_path / "run")
    again = run()
    assert (again.pieces_resumed, again.documents) == (6, 0)
    assert table_bytes(tmp_path / "run") == before


def test_a_changed_shard_is_noticed_and_scanned_again(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    corpus = wmbxl.Corpus("made", str(corpus_folder))
    wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)
    documents = make_documents(make_benchmark(), 77, 20)
    (corpus_folder / "shard-001.jsonl.gz").write_bytes(gzip.compress(as_jsonl(documents)))
    watch = Watch()
    corpus = wmbxl.Corpus("made", str(corpus_folder))
    done = wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client, watch=watch)
    assert "1 checkpoint(s)" in watch.notes[0]
    texts = documents_of(corpus_folder)
    assert_counts(done.metadata, oracle(texts[:20] + documents + texts[40:]))


def test_a_damaged_checkpoint_is_scanned_again(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    corpus = wmbxl.Corpus("made", str(corpus_folder))
    wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)
    before = table_bytes(tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)
    assert table_bytes(tmp_path / "run") == before


@pytest.mark.parametrize(
    "change", [{"ns": (8,)}, {"profile": "raw"}, {"evidence_cap": 3}, {"benchmark": make_benchmark(5)}]
)
def test_another_audit_is_never_mixed_in(
    client: Client, corpus_folder: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    call = {
        "benchmark": make_benchmark(),
        "corpora": [wmbxl.Corpus("made", str(corpus_folder))],
        "out": str(tmp_path / "run"),
        "ns": NS,
        "client": client,
    }
    wmbxl.audit(**call)  # type: ignore[arg-type]
    with pytest.raises(RunMismatch, match="--restart"):
        wmbxl.audit(**{**call, **change})  # type: ignore[arg-type]
    assert wmbxl.audit(**{**call, **change}, restart=True).status == "complete"  # type: ignore[arg-type]


def test_a_wrong_text_field_names_the_right_ones(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    corpus = wmbxl.Corpus("made", str(corpus_folder), text_field="txet")
    with pytest.raises(FieldNotFound, match=r"'txet'.*Did you mean 'text'.*id, text.*--corpus-text-field"):
        wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)


def test_wrong_calls(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    corpus = wmbxl.Corpus("made", str(corpus_folder))
    out = str(tmp_path / "run")
    with pytest.raises(UsageError, match="same name"):
        wmbxl.audit(make_benchmark(), [corpus, corpus], out, client=client)
    with pytest.raises(UsageError, match="no corpus"):
        wmbxl.audit(make_benchmark(), [], out, client=client)
    with pytest.raises(UsageError, match="between 0 and 1"):
        wmbxl.audit(make_benchmark(), [corpus], out, client=client, accept_unread=5)
    assert not Path(out).exists()


def test_restart_deletes_the_audit_and_nothing_else(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "mine.txt").write_text("keep")
    corpus = wmbxl.Corpus("made", str(corpus_folder))
    wmbxl.audit(make_benchmark(), [corpus], str(run), NS, client=client)
    wmbxl.audit(make_benchmark(5), [corpus], str(run), NS, client=client, restart=True)
    assert (run / "mine.txt").read_text() == "keep"
    assert len(list((run / "checkpoints").iterdir())) == 6


def test_without_a_release_corpus_nothing_decides(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    corpus = wmbxl.Corpus("made", str(corpus_folder), role="control")
    with pytest.raises(UsageError, match="role release"):
        wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)


def test_a_killed_worker_costs_nothing(corpus_folder: Path, tmp_path: Path) -> None:
    benchmark = make_benchmark()
    folder = write_corpus(tmp_path / "more", benchmark, shards=40, documents=20)
    corpus = wmbxl.Corpus("made", str(folder), id_field="id")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        wmbxl.audit(benchmark, [corpus], str(tmp_path / "calm"), NS, client=client)
        watch = Watch()
        killed: list[int] = []

        def kill() -> None:
            while watch.pieces_done < 3:
                pass
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        done = wmbxl.audit(benchmark, [corpus], str(tmp_path / "rough"), NS, client=client, watch=watch)
        killer.join()
    assert killed
    assert done.status == "complete"
    assert table_bytes(tmp_path / "rough") == table_bytes(tmp_path / "calm")


def test_a_late_worker_gets_the_index() -> None:
    index = wmbxl.ProbeIndex.build(make_benchmark(), NS)
    fingerprint = index.fingerprint

    def holds_index() -> bool:
        from wmbxl.worker import _indexes

        return fingerprint in _indexes

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.register_plugin(IndexPlugin(fingerprint, index.to_bytes()))
        cluster.scale(2)
        client.wait_for_workers(2)
        assert list(client.run(holds_index).values()) == [True, True]
        assert all(client.run(gc.get_freeze_count).values())


def test_nothing_is_left_on_the_cluster(client: Client, corpus_folder: Path, tmp_path: Path) -> None:
    corpus = wmbxl.Corpus("made", str(corpus_folder))
    wmbxl.audit(make_benchmark(), [corpus], str(tmp_path / "run"), NS, client=client)

    def held() -> int:
        from wmbxl.worker import _indexes

        return len(_indexes)

    assert set(client.run(held).values()) == {0}


def test_the_garbage_of_others_is_left_alone(corpus_folder: Path, tmp_path: Path) -> None:
    """A worker may be a thread of a process that has more to do."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        wmbxl.audit(make_benchmark(), [wmbxl.Corpus("c", str(corpus_folder))], str(tmp_path / "a"), NS, client=client)
    assert gc.get_freeze_count() == 0


def test_workers_stop_the_profiler(corpus_folder: Path, tmp_path: Path) -> None:
    with (
        dask.config.set({"distributed.worker.profile.enabled": True}),
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        assert "profile" in cluster.workers[0].periodic_callbacks
        wmbxl.audit(make_benchmark(), [wmbxl.Corpus("c", str(corpus_folder))], str(tmp_path / "a"), NS, client=client)
        assert not {name for name in cluster.workers[0].periodic_callbacks if "profile" in name}


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_worker_that_closes_gives_no_false_alarm(caplog: pytest.LogCaptureFixture, time: str) -> None:
    """Dask logs a traceback where a worker closes while a heartbeat is under way."""
    logger = logging.getLogger("distributed.worker")
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        (worker,) = cluster.workers.values()
        client.register_plugin(QuietWorker())
        client.register_plugin(QuietWorker(), name="twice")
        logger.error("Failed to communicate with scheduler during heartbeat, the %s time.", time)
        assert len(caplog.records) == 1
    assert worker.status == Status.closed
    caplog.clear()
    logger.error("Failed to communicate with scheduler during heartbeat, the %s time.", time)
    assert not caplog.records
    logger.error("something else")
    assert len(caplog.records) == 1

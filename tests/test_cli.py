"""The command line as a person uses it: real processes, exit statuses, killed and run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support import as_jsonl, make_benchmark, make_documents, table_bytes, write_benchmark, write_corpus
from wmbxl.cli import main

NS = "5,13"


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "wmbxl", *args]


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*args), capture_output=True, text=True, timeout=300, check=False)


def invoke(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a benchmark, a corpus and a finished audit."""
    folder = tmp_path_factory.mktemp("cli")
    write_benchmark(folder / "problems.jsonl", make_benchmark())
    write_corpus(folder / "corpus", make_benchmark(), shards=4, documents=20)
    (folder / "corpus" / "_SUCCESS").touch()
    done = run(*audit_args(folder, folder / "run"))
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    return folder


def audit_args(folder: Path, out: Path, *more: str) -> list[str]:
    return [
        "audit", "--benchmark", str(folder / "problems.jsonl"), "--corpus", f"made={folder / 'corpus'}",
        "--corpus-id-field", "id", "--out", str(out), "-n", NS, "--workers", "2", *more,
    ]  # fmt: skip


def test_audit_tells_what_a_person_needs(place: Path) -> None:
    said = (place / "stdout").read_text()
    assert "Complete: every byte of every corpus was read." in said
    assert "12 problems" in said
    assert "1 file(s) left out, such as _SUCCESS" in said
    assert str(place / "run") in said
    progress = (place / "stderr").read_text()
    assert "4 of 4 pieces" in progress
    assert "80 documents" in progress


@pytest.mark.parametrize("name", ["empty.jsonl", "empty.jsonl.zst"])
def test_a_corpus_without_a_document_is_told(place: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    done = run(
        "audit", "--benchmark", str(place / "problems.jsonl"), "--corpus", f"made={tmp_path / name}", "--workers", "1",
        "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert "no document was read from made" in " ".join(done.stdout.split())
    assert "-1" not in done.stdout
    assert done.returncode == (0 if name == "empty.jsonl" else 3)  # zstd promises a frame


@pytest.mark.parametrize("out", ["{place}/problems.jsonl", "{place}/problems.jsonl/run", "/proc/nowhere/run"])
def test_an_out_that_can_be_no_folder_is_told(place: Path, out: str) -> None:
    done = run(*audit_args(place, Path(out.format(place=place))))
    assert done.returncode == 2
    assert "no folder can be made there" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_that_leads_to_another_error_is_told_as_such(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a cluster that is just starting."""

    def interrupted(*_: object, **__: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise AssertionError("Status.init")

    monkeypatch.setattr("wmbxl.cli.auditing.run_audit", interrupted)
    done = invoke(*audit_args(place, place / "stopped"))
    assert done.exit_code == 130
    assert "run the same command again" in done.output
    monkeypatch.setattr("wmbxl.cli.auditing.run_audit", lambda *_, **__: 1 / 0)
    assert isinstance(invoke(*audit_args(place, place / "failed")).exception, ZeroDivisionError)


def test_the_wheel_of_settings_in_yaml_gives_the_same(place: Path, tmp_path: Path) -> None:
    settings = {
        "benchmark": str(place / "problems.jsonl"),
        "corpora": [{"name": "made", "urls": str(place / "corpus"), "id_field": "id"}],
        "out": str(tmp_path / "ignored"),
        "ns": [5, 13],
        "workers": 2,
    }
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(settings))
    done = run("audit", str(tmp_path / "audit.yaml"), "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert table_bytes(tmp_path / "run") == table_bytes(place / "run")
    assert not (tmp_path / "ignored").exists()


def test_incomplete_is_exit_status_3(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(as_jsonl(make_documents(make_benchmark(), 0, 20)) + b'{"text": 3}\nnot json\n')
    args = [
        "audit", "--benchmark", str(place / "problems.jsonl"), "--corpus", f"made={folder}", "--out",
        str(tmp_path / "run"), "--workers", "1",
    ]  # fmt: skip
    done = run(*args)
    assert done.returncode == 3
    assert "Incomplete" in done.stdout
    assert "1 records that are not JSON (not_json" in done.stdout
    assert "1 texts that are numbers (text_number" in done.stdout
    (row,) = json.loads((tmp_path / "run" / "audit.json").read_text())["summary"]
    assert row["S0"] == 0 < row["S0_undecided"]
    assert f"│ 0 to {row['S0_undecided']} │" in done.stdout  # none is known to be in S0, and many may be
    assert run("status", str(tmp_path / "run")).stdout.startswith("Incomplete")
    accepted = run(*args, "--accept-unread", "0.01")
    assert accepted.returncode == 0
    assert "accepted gap" in accepted.stdout
    info = json.loads((tmp_path / "run" / "audit.json").read_text())
    assert (info["status"], info["accept_unread"]) == ("complete", 0.01)
    assert 0 < info["corpora"][0]["unread_share"] < 0.01


@pytest.mark.parametrize("checkpoints", [0, 2, 9])
def test_a_killed_run_is_resumed(place: Path, tmp_path: Path, checkpoints: int) -> None:
    write_corpus(tmp_path / "corpus", make_benchmark(), shards=40, documents=20)
    write_benchmark(tmp_path / "problems.jsonl", make_benchmark())
    calm = run(*audit_args(tmp_path, tmp_path / "calm"))
    assert calm.returncode == 0

    rough = tmp_path / "rough"
    with subprocess.Popen(
        command(*audit_args(tmp_path, rough)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        while (process.poll() is None and len(list(rough.glob("checkpoints/*.arrow"))) < checkpoints) or not (
            rough / "audit.json"
        ).exists():
            time.sleep(0.001)
        os.killpg(process.pid, signal.SIGKILL)
    assert json.loads((rough / "audit.json").read_text())["status"] == "running"
    status = run("status", str(rough))
    assert status.returncode == 3
    assert "Not finished" in status.stdout
    finished = len(list(rough.glob("checkpoints/*.arrow")))

    again = run(*audit_args(tmp_path, rough))
    assert again.returncode == 0
    assert (f"{finished} pieces resumed" in again.stderr) == (finished > 0)
    assert table_bytes(rough) == table_bytes(tmp_path / "calm")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["audit"], ["give --benchmark PATH", "give --corpus NAME=URL", "give --out DIR"]),
        (["audit", "--corpus", "nothing", "--benchmark", "b", "--out", "o"], ["expected NAME=URL"]),
        (["audit", "--corpus", "a=b", "--benchmark", "b", "--out", "o", "-n", "x"], ["-n x", "whole numbers"]),
        (["audit", "--corpus", "a=b", "--benchmark", "b", "--out", "o", "-n", "0"], ["between 1 and 64"]),
        (["audit", "--corpus", "a=b", "--benchmark", "missing.jsonl", "--out", "o"], ["missing.jsonl", "no such"]),
        (["status", "nowhere"], ["nowhere", "audit.json"]),
        (["recheck", "nowhere"], ["nowhere", "audit.json"]),
    ],
)
def test_wrong_usage_says_what_to_do(place: Path, args: list[str], words: list[str]) -> None:
    args = [str(place / "problems.jsonl") if arg == "b" else arg for arg in args]
    done = invoke(*args)
    assert done.exit_code == 2
    assert all(word in done.output for word in words), done.output


def test_unknown_settings_name_the_nearest(place: Path, tmp_path: Path) -> None:
    (tmp_path / "audit.yaml").write_text(
        "benchmark: b\nout: o\ncorpora:\n- name: a\n  url: x\nprofle: raw\nns: [1, two]\n"
    )
    done = invoke("audit", str(tmp_path / "audit.yaml"))
    assert done.exit_code == 2
    for words in (
        "corpora.0.url: unknown; did you mean urls?",
        "profle: unknown; did you mean profile?",
        "ns.1",
        "'two'",
    ):
        assert words in done.output


def test_recheck_confirms_every_row(place: Path) -> None:
    done = invoke("recheck", str(place / "run"))
    rows = len(pd.read_parquet(place / "run" / "evidence.parquet"))
    assert done.exit_code == 0
    assert rows > 100
    assert f"{rows:,} rows confirmed, 0 differ" in done.output


def test_recheck_finds_a_changed_corpus(place: Path, tmp_path: Path) -> None:
    write_benchmark(tmp_path / "problems.jsonl", make_benchmark())
    folder = write_corpus(tmp_path / "corpus", make_benchmark(), shards=1, documents=20)
    assert run(*audit_args(tmp_path, tmp_path / "run")).returncode == 0
    write_corpus(folder, make_benchmark(5), shards=1, documents=19)
    done = invoke("recheck", str(tmp_path / "run"))
    assert done.exit_code == 1
    assert "shard-000.jsonl.gz row" in done.output


def test_export_release_has_the_papers_layout(place: Path, tmp_path: Path) -> None:
    done = invoke("export", str(place / "run"), "--out", str(tmp_path))
    assert done.exit_code == 0
    table = pd.read_csv(tmp_path / "contamination-audit.csv")
    assert list(table.columns) == [
        "problem_id", "n_grams_total", "hits_made", "docs_made", "unique_ngrams_made", "hits_total", "docs_total",
        "unique_ngrams_total", "in_S0", "in_S1", "in_S0_docs", "in_S1_docs",
    ]  # fmt: skip
    metadata = pd.read_parquet(place / "run" / "metadata.parquet").query("n == 13").reset_index(drop=True)
    for column in ("problem_id", "n_grams_total", "hits_total", "docs_total", "unique_ngrams_total", "in_S0", "in_S1"):
        assert table[column].tolist() == metadata[column].tolist()
    records = [json.loads(line) for line in (tmp_path / "contamination-audit.jsonl").read_text().splitlines()]
    assert [record["per_slice_hits"]["made"] for record in records] == table["hits_made"].tolist()
    flagged = [record for record in records if record["hits_total"]]
    assert flagged
    assert all(0 < len(record["per_slice_examples"]["made"]) <= 20 for record in flagged)
    page = (tmp_path / "contamination-audit.md").read_text()
    assert f"| docs_total = 0 | {int(metadata['in_S0'].sum())} | 0 |" in page


def test_export_csv_writes_every_table(place: Path, tmp_path: Path) -> None:
    assert invoke("export", str(place / "run"), "--format", "csv", "--out", str(tmp_path)).exit_code == 0
    for name in ("metadata", "metadata_by_corpus", "ngrams", "evidence", "ledger"):
        assert len(pd.read_csv(tmp_path / f"{name}.csv")) == len(pd.read_parquet(place / "run" / f"{name}.parquet"))


def test_the_demo_finds_what_was_planted(tmp_path: Path) -> None:
    done = run("demo", "--out", str(tmp_path / "demo"))
    assert done.returncode == 0, done.stderr
    metadata = pd.read_parquet(tmp_path / "demo" / "metadata.parquet").query("n == 13 and channel == 'prompt'")
    planted = json.loads((Path(__file__).parents[1] / "wmbxl/demo_data/planted.json").read_text())
    assert dict(zip(metadata["problem_id"], metadata["docs_total"], strict=True)) == {
        problem: entry["documents"] for problem, entry in planted.items()
    }

"""What ``wmbxl plan`` tells, held against the audit that follows."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support import as_jsonl, make_benchmark, make_documents, write_benchmark
from wmbxl import Corpus, ProbeIndex
from wmbxl.audit import audit
from wmbxl.cli import main
from wmbxl.estimate import Estimate, estimate
from wmbxl.folder import CHECKPOINTS, FILES, REPORT, RunFolder

BLOCK = 65_536


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """One file that is cut, and two that are not."""
    data = as_jsonl(make_documents(make_benchmark(), 0, 100))
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/a.jsonl").write_bytes(data)
    for name in "bc":
        (tmp_path / f"corpus/{name}.jsonl.gz").write_bytes(gzip.compress(data, 6, mtime=0))
    return Corpus("made", str(tmp_path / "corpus"))


def estimated(corpus: Corpus, out: Path, rate: float = 10) -> Estimate:
    index = ProbeIndex.build(make_benchmark(), [13])
    return estimate(index, [corpus], RunFolder(str(out)), BLOCK, 20, rate)


def test_the_plan_is_what_the_audit_does(corpus: Corpus, tmp_path: Path) -> None:
    plan = estimated(corpus, tmp_path / "run")
    done = audit(make_benchmark(), [corpus], str(tmp_path / "run"), workers=1, block_size=BLOCK)
    info, made = done.info["corpora"][0], plan.corpora[0]
    assert (made.shards, made.file_bytes) == (info["shards"], info["file_bytes"])
    assert made.pieces == len(done.ledger) > made.shards
    assert made.tasks == len(done.folder.checkpoints())
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert plan.objects == len(written)
    assert made.file_bytes * made.growth == pytest.approx(info["decoded_bytes"], rel=0.01)
    assert plan.core_seconds == pytest.approx(info["decoded_bytes"] / 10e6, rel=0.01)
    assert plan.memory > 500_000_000
    again = estimated(corpus, tmp_path / "run")
    assert (again.corpora[0].finished, again.core_seconds, again.tasks) == (made.tasks, 0, 0)
    next((tmp_path / "run" / CHECKPOINTS).iterdir()).unlink()
    assert estimated(corpus, tmp_path / "run").objects == 1 + len(FILES) - FILES.count(REPORT)


def test_the_largest_task_is_a_file_that_can_not_be_cut(corpus: Corpus, tmp_path: Path) -> None:
    packed = (tmp_path / "corpus/b.jsonl.gz").stat().st_size
    plan = estimated(corpus, tmp_path / "run")
    assert plan.wall_seconds(1) == plan.core_seconds
    assert plan.wall_seconds(100) == plan.longest_task
    assert plan.longest_task == pytest.approx(max(packed, BLOCK) * plan.corpora[0].growth / 10e6)


def test_the_command_writes_nothing(corpus: Corpus, tmp_path: Path) -> None:
    write_benchmark(tmp_path / "problems.jsonl", make_benchmark())

    def plan(*more: str) -> Result:
        settings = ["--benchmark", str(tmp_path / "problems.jsonl"), "--corpus", f"made={corpus.urls}"]
        return CliRunner().invoke(main, ["plan", *settings, "--out", str(tmp_path / "run"), *more])

    said = plan("--rate", "0.01")
    assert said.exit_code == 0, said.output
    assert "at 0.01 MB/s for each core" in said.output
    assert "Memory for each worker: 50" in said.output
    assert f"Files or objects written: {3 + len(FILES) - 1}" in said.output
    assert not (tmp_path / "run").exists()
    assert plan("--rate", "0").exit_code == 2
    assert "Wall time" not in said.output
    (tmp_path / "recipe.yaml").write_text("kind: local\nadapt: {maximum: 2}\n")
    assert "Wall time with 2 workers: " in plan("--cluster", str(tmp_path / "recipe.yaml")).output
    assert "Wall time with 3 workers: " in plan("--workers", "3").output
    wrong = plan("--corpus-text-field", "body")
    assert wrong.exit_code == 2
    assert "no record has the field 'body'" in wrong.stderr

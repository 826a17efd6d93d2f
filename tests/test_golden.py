"""Real text against figures that others computed; needs the shared data, and skips without it."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd
import pytest
from backports import zstd

import wmbxl
from tests.golden import NS, assert_golden
from tests.s3 import Server
from wmbxl.metadata import metadata_table
from wmbxl.scan import scan_shard


@pytest.fixture(scope="module")
def benchmark(shared: Path) -> wmbxl.Benchmark:
    return wmbxl.read_benchmark(str(shared / "bench/combined.jsonl"))


@pytest.fixture(scope="module")
def index(benchmark: wmbxl.Benchmark) -> wmbxl.ProbeIndex:
    return wmbxl.ProbeIndex.build(benchmark, NS)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_whole_audit(shared: Path, benchmark: wmbxl.Benchmark, tmp_path: Path, workers: int) -> None:
    corpus = wmbxl.Corpus("latex", str(shared / "latex/*.jsonl.zst"), id_field="meta.arxiv_id")
    done = wmbxl.audit(benchmark, [corpus], str(tmp_path / "run"), NS, workers=workers)
    assert done.status == "complete"
    assert done.info["corpora"][0]["documents"] == 2085
    assert_golden(done.metadata, shared)


def test_the_whole_audit_on_s3(shared: Path, benchmark: wmbxl.Benchmark, s3: Server, tmp_path: Path) -> None:
    """Corpus and run folder both on a real S3 server."""
    for path in shared.glob("latex/*.jsonl.zst"):
        (tmp_path / path.name).symlink_to(path)
    corpus = wmbxl.Corpus(
        "latex", s3.put(tmp_path, "corpora/latex"), id_field="meta.arxiv_id", storage_options=s3.options()
    )
    done = wmbxl.audit(benchmark, [corpus], "s3://runs/golden", NS, workers=2, storage_options=s3.options())
    assert done.status == "complete"
    assert_golden(done.metadata, shared)


@pytest.mark.parametrize("block_size", [4096, 1_000_003])
def test_cut_and_shuffled(shared: Path, index: wmbxl.ProbeIndex, tmp_path: Path, block_size: int) -> None:
    for path in sorted(shared.glob("latex/*.jsonl.zst")):
        (tmp_path / path.stem).write_bytes(zstd.decompress(path.read_bytes()))
    shards = list(wmbxl.Corpus("latex", str(tmp_path)).shards(block_size))
    assert len(shards) > 25
    random.Random(block_size).shuffle(shards)
    tally = wmbxl.Tally.sum(scan_shard(shard, index) for shard in shards)
    assert_golden(metadata_table(index, [tally], gaps=False).to_pandas(), shared)


def test_parquet_holds_the_same(shared: Path, index: wmbxl.ProbeIndex) -> None:
    tallies = [
        wmbxl.Tally.sum(scan_shard(shard, index) for shard in wmbxl.Corpus("latex", str(url)).shards(block_size))
        for url, block_size in (
            (shared / "latex/latex-00000.jsonl.zst", 1 << 26),
            (shared / "latex/latex-00000.parquet", 1 << 26),
            (shared / "latex/latex-00000.parquet", 1 << 16),
        )
    ]
    places = ["shard", "piece", "row", "document_id"]
    first, *others = [
        (tally.grams, tally.entries, tally.windows, tally.evidence.drop_columns(places)) for tally in tallies
    ]
    for other in others:
        assert (first[0].keys == other[0].keys).all() and (first[0].counts == other[0].counts).all()
        assert (first[1].keys == other[1].keys).all() and (first[1].counts == other[1].counts).all()
        assert first[2:] == other[2:]


def test_planted_problems(shared: Path, index: wmbxl.ProbeIndex) -> None:
    planted = pd.read_csv(shared / "latex/PLANTED.tsv", sep="\t")
    golden = pd.read_parquet(shared / "golden/latex_combined.parquet").query("n == 13").set_index("problem_id")
    tally = wmbxl.Tally.sum(
        scan_shard(shard, index) for shard in wmbxl.Corpus("latex", str(shared / "latex/*.zst")).shards()
    )
    metadata = metadata_table(index, [tally], gaps=False).to_pandas().query("n == 13").set_index("problem_id")
    unfound = 0
    for row in planted.itertuples():
        documents = metadata.loc[f"{row.benchmark}/{row.problem_id}", "docs_total"]
        if row.variant == "prefix12":
            unfound += documents == 0
        elif row.variant in ("verbatim", "rewrapped", "latex_env", "upper", "prefix13"):
            assert documents >= row.documents_planted
        assert documents == golden.loc[f"{row.benchmark}/{row.problem_id}", "docs_total"]
    assert unfound == 34


def test_published_totals_of_math500(shared: Path) -> None:
    published = pd.read_csv(shared / "golden/math500_published_first.tsv", sep="\t")
    index = wmbxl.ProbeIndex.build(wmbxl.read_benchmark(str(shared / "bench/math500.jsonl")), [13])
    assert len(published) == 127
    assert index.windows_total[:127].tolist() == published["n_grams_total"].tolist()

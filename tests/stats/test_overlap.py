"""Corpora against each other, from real scans."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import xxhash
from click.testing import CliRunner
from distributed import Client, LocalCluster

import wmbxl
from tests.support import as_jsonl, make_benchmark, make_text
from wmbxl.cli import main
from wmbxl.scan import scan_shard
from wmbxl.stats.overlap import containment
from wmbxl.tally import SKETCH_SIZE


def hashes(documents: list[str]) -> np.ndarray:
    return np.unique(np.array([xxhash.xxh64_intdigest(text.encode()) for text in documents], dtype=np.uint64))


def test_the_scan_keeps_the_smallest_hashes(tmp_path: Path) -> None:
    documents = [make_text(i, 5) + str(i) for i in range(3000)]
    (tmp_path / "a.jsonl").write_bytes(as_jsonl(documents + documents[:500]))
    index = wmbxl.ProbeIndex.build(make_benchmark())
    tally = wmbxl.Tally.sum(
        scan_shard(shard, index) for shard in wmbxl.Corpus("a", str(tmp_path / "a.jsonl")).shards(20_000)
    )
    assert tally.sketch.tolist() == hashes(documents)[:SKETCH_SIZE].tolist()


@pytest.mark.parametrize("shared", [0, 300, 6000])
def test_the_interval_holds_the_true_share(shared: int) -> None:
    common = [f"both {i}" for i in range(shared)]
    small, large = [f"small {i}" for i in range(6000 - shared)] + common, [f"large {i}" for i in range(20_000)] + common
    sketches = {name: hashes(texts)[:SKETCH_SIZE] for name, texts in (("small", small), ("large", large))}
    table = containment(sketches, SKETCH_SIZE, level=0.999).set_index("corpus")
    for name, texts in (("small", small), ("large", large)):
        row = table.loc[name]
        assert row["ci_low"] <= shared / len(texts) <= row["ci_high"]
        assert row["sampled"] > 150


def test_a_whole_sketch_gives_the_exact_share() -> None:
    chooser = random.Random(0)
    texts = [f"text {i}" for i in range(900)]
    part = chooser.sample(texts, 450)
    table = containment({"all": hashes(texts), "part": hashes(part)}, SKETCH_SIZE)
    assert table["share"].tolist() == [0.5, 1.0]
    assert table["sampled"].tolist() == [900, 450]


def test_nothing_sampled_is_no_share() -> None:
    table = containment({"none": np.empty(0, np.uint64), "some": hashes(["a"])}, SKETCH_SIZE)
    assert table["share"].isna().tolist() == [True, False]


def test_the_command_compares_the_corpora_of_an_audit(tmp_path: Path) -> None:
    texts = [make_text(i, 30) for i in range(60)]
    (tmp_path / "a.jsonl").write_bytes(as_jsonl(texts[:40]))
    (tmp_path / "b.jsonl").write_bytes(as_jsonl(texts[20:]))
    corpora = [wmbxl.Corpus(name, str(tmp_path / f"{name}.jsonl")) for name in "ab"]
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        wmbxl.audit(make_benchmark(), corpora, str(tmp_path / "run"), client=client)
        wmbxl.audit(make_benchmark(), corpora[:1], str(tmp_path / "one"), client=client)
    done = CliRunner().invoke(main, ["corpora", str(tmp_path / "run"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert done.output.count("0.50") == 2
    assert (
        (tmp_path / "out" / "corpora.csv").read_text().startswith("corpus,other,share,ci_low,ci_high,sampled\na,b,0.5,")
    )
    alone = CliRunner().invoke(main, ["corpora", str(tmp_path / "one")])
    assert alone.exit_code == 2
    assert "one corpus" in alone.output

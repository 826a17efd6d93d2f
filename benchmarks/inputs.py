"""The corpus and the benchmark that are measured with: given, or made."""

from __future__ import annotations

import argparse
import gzip
import lzma
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

import wmbxl
from benchmarks.figures import json_file
from wmbxl.plan import check_fields
from wmbxl.streams import zstd

_VOCABULARY = [f"w{i}" for i in range(3000)]


@dataclass(frozen=True)
class Inputs:
    """A corpus in memory, a benchmark, and a folder for what is made of them; `quick` is for tests."""

    folder: Path
    texts: Sequence[str]
    benchmark: wmbxl.Benchmark
    quick: bool = False

    def __str__(self) -> str:
        size = f"{len(self.texts):,} documents, {self.size / 1e6:,.1f} MB of JSON"
        return f"{size}; {len(self.benchmark.problems):,} problems"

    @property
    def rounds(self) -> int:
        return 1 if self.quick else 20

    @cached_property
    def lines(self) -> list[bytes]:
        return as_lines(self.texts)

    @cached_property
    def size(self) -> int:
        """Bytes of the corpus as JSON lines."""
        return sum(map(len, self.lines))

    def store(self, suffix: str) -> Path:
        """Write the corpus in a format, once."""
        path = self.folder / f"corpus.{suffix}"
        if not path.exists():
            write(path, self.texts)
        return path


def as_lines(texts: Sequence[str]) -> list[bytes]:
    return [orjson.dumps({"text": text, "id": str(i)}) + b"\n" for i, text in enumerate(texts)]


def write(path: Path, texts: Sequence[str]) -> Path:
    """Write texts in the format that the path's suffix names."""
    if path.suffix == ".parquet":
        table = pa.table({"text": texts, "id": [str(i) for i in range(len(texts))]})
        pq.write_table(table, path, compression="zstd", row_group_size=500)
        return path
    data = b"".join(as_lines(texts))
    pack = {
        ".gz": lambda: gzip.compress(data, 6),
        ".xz": lambda: lzma.compress(data, preset=1),
        ".zst": lambda: zstd.compress(data, 3),
    }.get(path.suffix, lambda: data)
    path.write_bytes(pack())
    return path


def scan(path: Path, index: wmbxl.ProbeIndex, evidence_cap: int = 20) -> wmbxl.Tally:
    """Scan a file whole, with evidence, in this process."""
    (shard,) = wmbxl.Corpus("c", str(path), id_field="id").shards(1 << 40)
    tally = wmbxl.scan_shard(shard, index, evidence_cap)
    if tally.unread_bytes or not tally.documents:
        raise AssertionError(f"{path} was not read whole: {tally.skipped} {tally.faults}")
    return tally


def made_text(chooser: random.Random, words: int) -> str:
    return " ".join(
        f"\\mathbf{{{word}}}" if chooser.random() < 0.1 else word for word in chooser.choices(_VOCABULARY, k=words)
    )


def made(documents: int, problems: int, words: int) -> tuple[list[str], wmbxl.Benchmark]:
    """Return texts, one in twenty with a problem in it, and the benchmark."""
    chooser = random.Random(0)
    surfaces = {f"p{i}": made_text(chooser, 60) for i in range(problems)}
    texts = [made_text(chooser, words) for _ in range(documents)]
    for i in range(0, documents, 20):
        texts[i] += " " + chooser.choice(list(surfaces.values()))
    return texts, wmbxl.Benchmark.from_surfaces(surfaces)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", help="files of real text, in any format that wmbxl reads")
    parser.add_argument("--corpus-text-field", default="text", help="as for wmbxl audit")
    parser.add_argument("--benchmark", help="problems, as for wmbxl audit")
    parser.add_argument("--id-field", default="problem_id", help="of the problems")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs; figures mean nothing")
    parser.add_argument("--json", type=json_file, help="write the figures here")


def from_options(given: argparse.Namespace, folder: Path) -> Inputs:
    texts, benchmark = made(20, 10, 200) if given.quick else made(3000, 2000, 1500)
    if given.benchmark:
        benchmark = wmbxl.read_benchmark(given.benchmark, id_field=given.id_field)
    if given.corpus:
        corpus = wmbxl.Corpus("given", given.corpus, text_field=given.corpus_text_field)
        check_fields(corpus)
        texts = corpus.to_bag().pluck("text").compute(scheduler="sync")
    return Inputs(folder, texts, benchmark, given.quick)

"""Small corpora and benchmarks that several tests make."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import orjson

from wmbxl import Benchmark

WORDS = [
    "let",
    "the",
    "channel",
    "matrix",
    "be",
    "given",
    "by",
    "a",
    "vector",
    "of",
    "antennas",
    "noise",
    "power",
    "signal",
    "user",
    "rate",
    "beam",
    "phase",
    "gain",
    "estimate",
    "covariance",
    "identity",
    "transmit",
    "receive",
    "sum",
    "norm",
    "trace",
    "rank",
    "fading",
    "delay",
    "carrier",
    "symbol",
    "codeword",
    "bound",
    "capacity",
]


def make_text(seed: int, words: int) -> str:
    """Return prose without a meaning, with commands and capitals, the same for the same seed."""
    chooser = random.Random(seed)
    parts = (chooser.choice(WORDS) for _ in range(words))
    return " ".join(f"\\mathbf{{{word}}}" if chooser.random() < 0.1 else word for word in parts)


def make_benchmark(problems: int = 12, words: int = 40) -> Benchmark:
    """Return a benchmark of random prose."""
    return Benchmark.from_surfaces({f"p{i:02}": make_text(1000 + i, words) for i in range(problems)})


def make_documents(benchmark: Benchmark, seed: int, count: int, words: int = 300) -> list[str]:
    """Return documents; about a third hold a stretch of a problem."""
    chooser = random.Random(seed)
    documents = []
    for i in range(count):
        text = make_text(seed * 100_003 + i, words)
        if chooser.random() < 0.35:
            tokens = chooser.choice(benchmark.problems).surfaces["prompt"].split()
            start = chooser.randrange(len(tokens) - 20)
            text += " " + "\n".join(tokens[start : start + chooser.randrange(10, 30)]).upper() + " " + text[:50]
        documents.append(text)
    return documents


def as_jsonl(documents: list[str]) -> bytes:
    """Return documents as JSON lines with an id."""
    return b"".join(orjson.dumps({"text": text, "id": f"d{i}"}) + b"\n" for i, text in enumerate(documents))


def write_corpus(folder: Path, benchmark: Benchmark, shards: int, documents: int) -> Path:
    """Write gzip shards; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(shards):
        data = as_jsonl(make_documents(benchmark, i, documents))
        (folder / f"shard-{i:03}.jsonl.gz").write_bytes(gzip.compress(data, 1, mtime=0))
    return folder


def write_benchmark(path: Path, benchmark: Benchmark) -> Path:
    """Write a benchmark as JSON lines."""
    lines = [{"problem_id": p.id, "text": p.surfaces["prompt"]} for p in benchmark.problems]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


TABLES = (
    "problems.parquet", "metadata.parquet", "metadata_by_corpus.parquet", "ngrams.parquet", "evidence.parquet",
    "spans.parquet",
)  # fmt: skip


def table_bytes(folder: Path) -> dict[str, bytes]:
    """Return the tables of a run that must not depend on how it went."""
    return {name: (folder / name).read_bytes() for name in TABLES}

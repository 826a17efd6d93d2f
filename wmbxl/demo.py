"""The whole job on a small benchmark and corpus that ship inside the package."""

from __future__ import annotations

from importlib.resources import files

from wmbxl.audit import Audit, audit
from wmbxl.benchmark import Benchmark, read_benchmark
from wmbxl.corpus import Corpus
from wmbxl.report.page import write_report
from wmbxl.watch import Watch

NS = (8, 10, 12, 13, 15)


def demo_benchmark() -> Benchmark:
    """Return 40 problems of wireless mathematics, with their answers."""
    return read_benchmark(
        str(files("wmbxl") / "demo_data" / "problems.jsonl"),
        text_fields=["background", "question_text", "equation"],
        answer_field="correct_answer",
    )


def demo_corpus() -> Corpus:
    """Return 300 short documents in four shards; some contain problems."""
    return Corpus("demo", str(files("wmbxl") / "demo_data" / "corpus"), id_field="meta.arxiv_id")


def run_demo(out: str, watch: Watch | None = None) -> Audit:
    """Audit the demo benchmark against the demo corpus on a local cluster of two processes, and write the report."""
    done = audit(demo_benchmark(), [demo_corpus()], out, ns=NS, workers=2, watch=watch)
    write_report(done)
    return done

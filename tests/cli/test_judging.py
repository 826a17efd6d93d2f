"""wmbxl import, judge and judges, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from tests.endpoint import Fail, Say, ScriptedServer
from wmbxl.cli import main

LOGS = Path(__file__).parents[1] / "evaluate" / "logs"
IDS = [f"p{k:02d}" for k in range(40)]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


# ---------------------------------------------------------------- import


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_way_from_a_log_to_the_bootstrap(tmp_path, suffix):
    verdicts = tmp_path / f"verdicts.{suffix}"
    done = run("import", LOGS / "inspect.eval", "--score", "odd", "--out", verdicts)
    assert done.exit_code == 0, done.output
    assert "- 1 verdict(s) are missing: no score" in done.output
    assert f"Wrote 6 verdict(s) to {verdicts}" in done.output.replace("\n", "")
    (tmp_path / "view.json").write_text(json.dumps(["sum-0", "sum-1", "sum-2"]))
    view = f"few={tmp_path}/view.json"
    done = run("bootstrap", "--verdicts", verdicts, "--view", view, "-B", 50, "--out", tmp_path / "stats")
    assert done.exit_code == 0, done.output
    [row] = pd.read_csv(tmp_path / "stats" / "full_vs_view.csv").to_dict("records")
    assert (row["model"], row["n_full"], row["acc_full"]) == ("mockllm/model", 5, 40)


def test_the_keys_of_a_benchmark_decide(tmp_path):
    pytest.importorskip("pylatexenc", reason="formulas are not compared: pip install 'wmbxl[answers]'")
    benchmark = lines(
        tmp_path / "bench.jsonl",
        [{"problem_id": f"sum-{k}", "text": "?", "correct_answer": rf"\boxed{{{2 * k}}}"} for k in range(6)],
    )
    [log] = LOGS.glob("samples_*.jsonl")
    done = run("import", log, "--benchmark", benchmark, "--out", tmp_path / "v.parquet")
    assert done.exit_code == 0, done.output
    table = pd.read_parquet(tmp_path / "v.parquet")
    assert table["is_correct"].tolist()[:2] == [True, False]
    assert table["step"].notna().all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/inspect.eval", "--out", "v.csv"], "Name the one that counts with --score"),
        (["{}/inspect.eval", "--score", "pattern", "--out", "v.txt"], "expected a .jsonl, .csv or .parquet file"),
        (["{}/nothing.eval", "--out", "v.csv"], "there is no such file"),
    ],
)  # fmt: skip
def test_an_import_that_cannot_be_says_what_to_do(arguments, message):
    done = run("import", *(argument.format(LOGS) for argument in arguments))
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


# ---------------------------------------------------------------- judge


@pytest.fixture
def open_answers(tmp_path):
    """A benchmark of three problems, and answers of which two are open."""
    problems = [{"problem_id": name, "text": f"Problem {name}?", "correct_answer": r"\boxed{x}"} for name in IDS[:3]]
    answers = [
        {"model": "m", "problem_id": IDS[0], "is_correct": True, "step": "exact", "response": r"\boxed{x}"},
        {"model": "m", "problem_id": IDS[1], "is_correct": None, "step": "symbolic", "response": r"\boxed{y}"},
        {"model": "m", "problem_id": IDS[2], "is_correct": None, "step": "symbolic", "response": r"\boxed{z}"},
    ]
    lines(tmp_path / "bench.jsonl", problems)
    lines(tmp_path / "answers.jsonl", answers)
    return tmp_path


def judge(folder, server, *more):
    return run("judge", folder / "answers.jsonl", "--benchmark", folder / "bench.jsonl", "--model", "j",
               "--base-url", server.url, "--out", folder / "judged.jsonl", *more)  # fmt: skip


def opinion(request, number):
    relation = "equivalent" if "Problem p01?" in request["messages"][-1]["content"] else "different"
    return Say(json.dumps({"reason": "so", "relation": relation}))


def test_a_judge_decides_what_is_open(open_answers):
    pytest.importorskip("openai", reason="the judge is not tested: pip install 'wmbxl[models]'")
    with ScriptedServer(opinion) as server:
        done = judge(open_answers, server)
        assert done.exit_code == 0, done.output
        assert "2 of 3 answers had no verdict; the judge decided 2 of them." in done.output
        again = judge(open_answers, server)
        assert again.exit_code == 0
        assert len(server.requests) == 2, "what is on record beside --out is not asked again"
    table = pd.read_json(open_answers / "judged.jsonl", lines=True)
    assert table["is_correct"].tolist() == [True, True, False]
    assert table["step"].tolist() == ["exact", "judge", "judge"]


def test_a_budget_and_a_failing_judge_leave_gaps_that_are_told(open_answers):
    pytest.importorskip("openai", reason="the judge is not tested: pip install 'wmbxl[models]'")
    with ScriptedServer([Fail(400, message="out of order")]) as server:
        done = judge(open_answers, server, "--budget-calls", 1, "--concurrency", 1)
    assert done.exit_code == 3
    output = " ".join(done.output.split())
    assert "the judge decided 0 of them" in output
    assert "1 verdict(s) are missing: BadRequestError" in output
    assert "1 verdict(s) are missing: not asked: 1 of 1 calls" in output
    assert "Run the same command again" in output


# ---------------------------------------------------------------- judges


@pytest.fixture
def panel(tmp_path):
    """Verdicts of two judges and of a person on two models, and an id list."""
    rng = np.random.default_rng(0)
    truth = {(model, name): bool(rng.random() < 0.6) for model in ("strong", "weak") for name in IDS}
    for judge, errors, step in (("one", 0.1, True), ("two", 0.2, True), ("human", 0.0, False)):
        rows = [
            {"model": model, "problem_id": name, "is_correct": right ^ bool(rng.random() < errors)}
            | ({"step": "judge" if name < "p20" else "exact", "type": "MCQ"} if step else {})
            for (model, name), right in truth.items()
            if judge != "human" or name < "p20"
        ]
        lines(tmp_path / f"{judge}.jsonl", rows)
    (tmp_path / "public.json").write_text(json.dumps(IDS[:25]))
    return tmp_path


def judges(folder, *more):
    files = [f"--verdicts={name}={folder}/{name}.jsonl" for name in ("human", "one", "two")]
    return run("judges", *files, "-B", 100, "--out", folder / "out", *more)


def test_every_table_in_every_format(panel):
    done = judges(panel, "--view", f"public={panel}/public.json", "--group-by", "step", "--group-by", "type",
                  "--format", "csv", "--format", "latex")  # fmt: skip
    assert done.exit_code == 0, done.output
    names = ["agreement", "agreement_of_pairs", "judge_range", "judge_pairs", "judge_accuracy", "judge_deltas", "notes"]
    for name in names:
        assert (panel / "out" / f"{name}.tex").read_text().startswith(r"\begin{tabular}")
    tables = {name: pd.read_csv(panel / "out" / f"{name}.csv") for name in names}
    groups = tables["agreement"].set_index(["column", "group"])["n"].to_dict()
    assert groups == {(np.nan, "all"): 80, ("step", "exact"): 40, ("step", "judge"): 40, ("type", "MCQ"): 80}
    assert set(tables["judge_deltas"]["judge"]) == {"human", "one", "two"}
    assert "human: no verdict on 40 of 80 answers" in done.output
    assert "judge_range" in done.output


def test_fields_of_the_benchmark(panel):
    benchmark = lines(panel / "bench.jsonl", [{"id": name, "category": ["A", "B"]} for name in IDS])
    done = judges(panel, "--benchmark", benchmark, "--id-field", "id", "--group-by", "category")
    assert done.exit_code == 0, done.output
    table = pd.read_csv(panel / "out" / "agreement.csv")
    assert table["group"].tolist() == ["all", "A", "B"]
    assert table["n"].tolist() == [80, 80, 80]


def test_views_of_an_audit(panel):
    rows = [
        {"problem_id": name, "channel": "text", "n": 13, "n_grams_total": 9, "n_grams_unique": 9, "hits_total": k % 3,
         "docs_total": k % 3, "unique_ngrams_total": 1, "auditable": True, "in_S0": k % 3 == 0, "in_S1": True}
        for k, name in enumerate(IDS[:30])
    ]  # fmt: skip
    (panel / "audit").mkdir()
    pd.DataFrame(rows).to_parquet(panel / "audit" / "metadata.parquet")
    (panel / "audit" / "audit.json").write_text(json.dumps({"status": "complete"}))
    done = judges(panel, "--audit", panel / "audit")
    assert done.exit_code == 0, done.output
    assert "10 problem(s) with verdicts are not in the audit, such as 'p30': left out." in " ".join(done.output.split())
    deltas = pd.read_csv(panel / "out" / "judge_deltas.csv").query("judge == 'one'")
    assert set(deltas["view"]) == {"S0-n13", "S1-n13"}
    assert set(deltas["n_full"]) == {30}


def test_wrong_usage_says_what_to_do(panel):
    done = judges(panel, "--group-by", "paper")
    assert done.exit_code == 2
    assert "no record has the field 'paper'" in " ".join(done.output.split())
    done = run("judges", "--verdicts", f"one={panel}/one.jsonl", "--out", panel / "out")
    assert done.exit_code == 2
    assert "found 1 judge(s): give --verdicts NAME=FILE for two or more" in " ".join(done.output.split())

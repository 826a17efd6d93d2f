"""wmbxl build on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from distributed import Client, LocalCluster

from tests.construct import archives, scripted
from tests.endpoint import ScriptedServer
from wmbxl.cli import main

pytest.importorskip("openai", reason="needs the extra construct: pip install 'wmbxl[construct]'")
pytest.importorskip("pylatexenc", reason="needs the extra construct: pip install 'wmbxl[construct]'")


def test_the_funnel_is_printed_and_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/2401.00001v1.gz").write_bytes(archives.GOOD["2401.00001v1.gz"]())
    (tmp_path / "papers/2401.00002v1.pdf").write_bytes(b"%PDF-1.7")
    config = tmp_path / "build.yaml"
    threads = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with ScriptedServer(scripted.good) as server, LocalCluster(**threads) as cluster, Client(cluster):
        content: dict[str, object] = {"sources": str(tmp_path / "papers"), "out": str(tmp_path / "out")}
        content["model"] = {"name": "m", "base_url": server.url}
        content["tasks"] = {"types": ["fill_blank_100"]}
        config.write_text(yaml.safe_dump(content))
        command = ["build", str(config), "--scheduler", cluster.scheduler_address]
        done = CliRunner().invoke(main, command, catch_exceptions=False)
        replayed = CliRunner().invoke(main, [*command, "--replay"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "pdf_only 1" in done.output
    assert "0 problems in" in done.output
    assert "2 more in candidates.jsonl wait for an expert" in done.output
    assert "2 of 2 papers" in done.stderr
    assert replayed.exit_code == 0, replayed.output


def test_wrong_settings_exit_with_2(tmp_path: Path) -> None:
    config = tmp_path / "build.yaml"
    config.write_text("sources: nowhere\nout: out\nmodel: {nam: m}\n")
    done = CliRunner().invoke(main, ["build", str(config)])
    assert done.exit_code == 2
    assert "model.nam: unknown; did you mean name?" in done.stderr

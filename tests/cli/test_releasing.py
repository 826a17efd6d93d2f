"""The verbs of a release, from the command line."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from wmbxl.cli import main


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["release", *map(str, arguments)])
    return done.exit_code, done.output


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "detect_secrets.core.scan", None)
    (tmp_path / "release.json").write_text("{}", encoding="utf-8")
    code, output = run("check", tmp_path)
    assert code == 2
    assert "pip install 'wmbxl[release]'" in output


def test_no_release_is_wrong_usage(tmp_path):
    code, output = run("check", tmp_path / "nothing")
    assert code == 2
    assert "wmbxl release build" in output


def test_settings_that_lack_something_are_told(tmp_path):
    (tmp_path / "release.yaml").write_text("benchmark: problems.jsonl\nabout: {name: x}\n", encoding="utf-8")
    code, output = run("build", tmp_path / "release.yaml", "--out", tmp_path / "out")
    assert code == 2
    assert all(f"  {name}" in output for name in ("about.title", "licences", "audit"))


@pytest.fixture
def secrets():
    pytest.importorskip("detect_secrets", reason="releases are not checked: pip install 'wmbxl[release]'")


def test_every_issue_is_printed_with_its_place(tmp_path, secrets):
    (tmp_path / "README.md").write_text("x\nsomebody@example.org\n", encoding="utf-8")
    code, output = run("check", tmp_path)
    assert code == 1
    assert "[private] README.md, line 2: holds an e-mail address: remove it" in output
    assert "[files] release.json: not there" in output
    assert "Not checked: joins" in output

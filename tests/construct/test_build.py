"""The whole pipeline over real HTTP: every paper and every bad answer falls where it should, and a replay is exact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from tests.construct import archives, scripted
from tests.endpoint import Act, Request, Say, ScriptedServer
from wmbxl.construct.build import Build, build
from wmbxl.construct.config import BuildConfig
from wmbxl.construct.funnel import stages
from wmbxl.errors import RecordsError, UsageError, WmbxlError

pytest.importorskip("openai", reason="needs the extra construct: pip install 'wmbxl[construct]'")
pytest.importorskip("pylatexenc", reason="needs the extra construct: pip install 'wmbxl[construct]'")

TYPES = ["fill_blank_50", "fill_blank_100", "proof"]
SMALL = {"members": 50, "file_bytes": 1_500_000, "unpacked_bytes": 10_000_000, "characters": 1_000_000,
         "expansions": 50_000}  # fmt: skip


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Threads rather than processes: what is tested is here, and starts at once."""
    threads = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with LocalCluster(**threads) as cluster, Client(cluster) as made:
        yield made


def settings(folder: Path, server: ScriptedServer, **more: Any) -> BuildConfig:
    model = {"name": "scripted", "base_url": server.url, "tries": 1}
    content = {"sources": str(folder / "papers"), "out": str(folder / "out"), "model": model, "limits": SMALL,
               "tasks": {"types": TYPES, "ask_model": False}, "quality": {"release": "unreviewed"}}  # fmt: skip
    return BuildConfig.model_validate({**content, **more})


def put(folder: Path, **papers: bytes) -> None:
    (folder / "papers").mkdir(exist_ok=True)
    for name, data in papers.items():
        (folder / "papers" / name).write_bytes(data)


def reasons(built: Build) -> dict[str, tuple[str, str]]:
    drops = map(json.loads, Path(built.folder.url, "drops.jsonl").read_text().splitlines())
    return {drop["item"]: (drop["stage"], drop["reason"]) for drop in drops}


def content(built: Build) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(built.folder.url).iterdir()}


def test_every_item_falls_where_it_should(tmp_path: Path, client: Client) -> None:
    """Good and bad archives, good and bad answers; the funnel adds up at every stage."""
    put(tmp_path, **{f"{name}.tar.gz": make() for name, (make, _) in archives.BAD.items()})
    equation = "\\begin{equation} y = \\mathbf{h}^{H} \\mathbf{w} s + n , \\end{equation}"
    put(
        tmp_path,
        **{
            f"says-{name}.tex": archives.document(f"Paper that says {name}. {equation}").encode()
            for name in scripted.BAD
        },
    )
    put(tmp_path, **{"fine.tex": archives.document(archives.CHANNEL).encode()})

    def script(request: Request, number: int) -> Act:
        said = request["messages"][1]["content"]
        bad = next((act for name, (act, _) in scripted.BAD.items() if f"says {name}." in said), None)
        return bad(request) if bad and scripted.form(request) == "Draft" else scripted.good(request)

    with ScriptedServer(script) as server:
        built = build(settings(tmp_path, server, equations={"kinds": ["equation", "lemma"]}), client=client)
    fell = reasons(built)
    assert {name: fell[name] for name in archives.BAD} == {
        name: ("sources", reason) for name, (_, reason) in archives.BAD.items()
    }
    items = {"leak": "says-leak#1-fill_blank_100"}
    assert {name: fell[items.get(name, f"says-{name}#1")] for name in scripted.BAD} == {
        name: place for name, (_, place) in scripted.BAD.items()
    }
    assert sum("does not fit the schema" in prompt for prompt in server.prompts()) == 4  # two bad answers, twice each
    assert {problem.paper_id for problem in built.problems} == {"fine"}
    assert {problem.accepted_by for problem in built.problems} == {"config"}
    assert all(len(problem.reviews) == 1 for problem in built.problems)
    for stage in stages(built.funnel):
        assert stage.entered == stage.left + sum(stage.dropped.values())
        assert stage.left >= 0
    by_stage = {stage.name: (stage.entered, stage.left) for stage in stages(built.funnel)}
    for before, after in (("sources", "relevance"), ("equations", "extraction"), ("extraction", "checks"),
                          ("tasks", "solvability"), ("solvability", "rubric"), ("rubric", "repeats"),
                          ("repeats", "screening")):  # fmt: skip
        assert by_stage[before][1] == by_stage[after][0], before


def test_the_same_bytes_for_any_workers_and_on_replay(tmp_path: Path, client: Client) -> None:
    good = {name: make() for name, make in list(archives.GOOD.items())[:3]}
    put(tmp_path, **good)
    with ScriptedServer(scripted.good) as server:
        first = settings(tmp_path, server)
        built = build(first, client=client)
        assert len(server.requests) > 0
        asked = len(server.requests)
        again = build(settings(tmp_path, server, out=str(tmp_path / "other"), workers=2))
        assert content(again) == content(built)
        asked_again = len(server.requests)
        assert asked_again == 2 * asked
        build(first, client=client)  # all from checkpoints
        build(first, replay=True, client=client)  # all from the record
        assert len(server.requests) == asked_again
    # Elsewhere, with the record alone.
    elsewhere = settings(tmp_path, server, out=str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/calls").rename(tmp_path / "elsewhere/calls")
    assert content(build(elsewhere, replay=True, client=client)) == content(built)


def test_a_replay_that_differs_is_told_and_writes_nothing(tmp_path: Path, client: Client) -> None:
    put(tmp_path, **{"fine.tex": archives.document(archives.CHANNEL).encode()})
    with ScriptedServer(scripted.good) as server:
        config = settings(tmp_path, server)
        before = content(build(config, client=client))
    [calls] = (tmp_path / "out/calls").iterdir()
    calls.write_text("".join(calls.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(WmbxlError, match="replay differs in"):
        build(config, replay=True, client=client)
    assert content(Build(build(config, replay=False, client=client).folder)) == before


def test_calls_that_failed_are_made_again_and_answered_ones_are_not(tmp_path: Path, client: Client) -> None:
    put(tmp_path, **{"fine.tex": archives.document(archives.CHANNEL).encode()})
    failing = {"on": True}

    def script(request: Request, number: int) -> Act:
        gamma = r"\gamma" in scripted.asked_equation(request) if scripted.form(request) == "Draft" else False
        return scripted.Fail(400) if failing["on"] and gamma else scripted.good(request)

    with ScriptedServer(script) as server:
        config = settings(tmp_path, server)
        assert reasons(build(config, client=client))["fine#2"] == ("extraction", "call_failed")
        failing["on"], asked = False, len(server.requests)
        built = build(config, client=client)
        drafts = [request for request in server.requests[asked:] if scripted.form(request) == "Draft"]
        assert len(drafts) == 1
    assert {problem.equation_id for problem in built.problems} == {"fine#1", "fine#2"}


def test_nothing_is_released_without_an_expert(tmp_path: Path, client: Client) -> None:
    put(tmp_path, **{"fine.tex": archives.document(archives.CHANNEL).encode()})
    with ScriptedServer(scripted.good) as server:
        built = build(settings(tmp_path, server, quality={"release": "expert"}), client=client)
    assert built.problems == []
    assert len(built.candidates) > 0
    assert {place for item, place in reasons(built).items() if "fill" in item} == {("screening", "not_screened")}


def test_since_adds_newer_papers_as_a_version_with_a_diff(tmp_path: Path, client: Client) -> None:
    other = archives.CHANNEL.replace("downlink", "uplink").replace("s + n", "s + 2 n").replace("P |", "2 P |")
    put(tmp_path, **{"2401.00001v1.tex": archives.document(archives.CHANNEL).encode()})
    meta = str(archives.metadata(["2401.00001"], tmp_path / "metadata.json"))
    with ScriptedServer(scripted.good) as server:
        config = settings(tmp_path, server, metadata=meta)
        with pytest.raises(UsageError, match="build without --since first"):
            build(config, since=date(2024, 6, 1), client=client)
        first = build(config, client=client)
        put(tmp_path, **{"2406.00002v1.tex": archives.document(other).encode(),
                         "2401.00003v1.tex": archives.document(other).encode(),
                         "undated.tex": archives.document(other).encode()})  # fmt: skip
        old = archives.metadata(["2401.00001", "2401.00003"], tmp_path / "old.json").read_text()
        new = archives.metadata(["2406.00002"], tmp_path / "new.json", "Sat, 1 Jun 2024 00:00:00 GMT").read_text()
        Path(meta).write_text(old + new)
        second = build(config, since=date(2024, 6, 1), client=client)
        assert content(build(config, since=date(2024, 6, 1), client=client)) == content(second)
    assert (first.folder.url[-2:], second.folder.url[-2:]) == ("v1", "v2")
    assert {"2401.00003v1", "undated"} <= set(reasons(second))
    diff = second.folder.read_json("diff.json")
    assert diff["removed"] == diff["changed"] == []
    assert {name.partition("#")[0] for name in diff["added"]} == {"2406.00002v1"}
    assert len(second.problems) == len(first.problems) + len(diff["added"])
    added = Path(second.folder.url, "added.jsonl").read_text().splitlines()
    assert [json.loads(line)["problem_id"] for line in added] == diff["added"]


def test_relevance_is_shown_for_each_paper_and_measured(tmp_path: Path, client: Client) -> None:
    put(tmp_path, **{
        "2401.00001v1.tex": archives.document(archives.CHANNEL).encode(),
        "2401.00002v1.tex": archives.document("Fading of colours in paintings." + archives.CHANNEL).encode(),
        "2401.00003v1.tex": archives.document("A poem without any equation in it.").encode(),
    })  # fmt: skip
    meta = str(archives.metadata(["2401.00001", "2401.00002"], tmp_path / "metadata.json"))
    labels = tmp_path / "labels.csv"
    labels.write_text("paper_id,relevant\n2401.00001v1,true\n2401.00002v1,false\n2401.00003v1,false\n")
    terms = {"fading channel": 3.0, "beamformer": 1.0, "no such term": 9.0}
    relevance = {"categories": {"cs": 0.5}, "terms": terms, "threshold": 0.4, "ask_model": True, "labels": str(labels)}

    def script(request: Request, number: int) -> Act:
        if scripted.form(request) == "Belonging" and "colours" in request["messages"][1]["content"]:
            return Say('{"relevant": false, "reason": "Paintings."}')
        return scripted.good(request)

    with ScriptedServer(script) as server:
        built = build(settings(tmp_path, server, metadata=meta, relevance=relevance), client=client)
        fell = reasons(built)
        assert fell["2401.00002v1"] == ("relevance", "model_says_no")
        assert fell["2401.00003v1"] == ("relevance", "low_score")
        measured = built.folder.read_json("relevance.json")
        assert (measured["score"]["true_positive"], measured["score"]["false_positive"]) == (1, 1)
        assert (measured["model"]["true_positive"], measured["model"]["true_negative"]) == (1, 1)
        row = Path(built.folder.url, "papers.csv").read_text().splitlines()[1]
        assert "0.5,0.8,1.0,fading channel; beamformer,True" in row
        labels.write_text("paper_id,relevant\nx,perhaps\n")
        with pytest.raises(RecordsError, match="line 2: expected paper_id and relevant"):
            build(settings(tmp_path, server, metadata=meta, relevance=relevance), client=client)

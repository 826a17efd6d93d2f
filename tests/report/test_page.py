"""The page without a browser: its numbers, its size, where it goes, and what it refuses."""

from __future__ import annotations

import html
import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bokeh.plotting import figure
from click.testing import CliRunner
from distributed import Client

import wmbxl
from tests.report.conftest import PROBLEMS
from wmbxl.benchmark import Benchmark
from wmbxl.cli import main
from wmbxl.errors import UsageError
from wmbxl.folder import FILES
from wmbxl.report import frames, plots, verdict_plots
from wmbxl.report.evidence import found_problems
from wmbxl.report.page import render, write_report


def test_frames_say_what_the_metadata_says(hostile: wmbxl.Audit) -> None:
    rows = hostile.metadata.query("n == 8 and channel == 'prompt'").set_index("problem_id")
    flagged = rows[rows["docs_total"] > 0]
    by_n = frames.sensitivity(hostile).set_index("n").loc[8]
    assert (by_n["flagged"], by_n["S0"]) == (len(flagged), rows["in_S0"].sum())
    assert by_n["S0_pct"] == 100 * rows["in_S0"].sum() / len(rows)
    documents = frames.documents(hostile, 8).set_index("documents")["problems"]
    assert documents.sum() == len(flagged)
    assert documents["11–100"] == (flagged["docs_total"] > 10).sum() > 0
    shares = frames.found_share(hostile, 8).set_index("share")["problems"]
    whole = flagged["unique_ngrams_total"] == flagged["n_grams_unique"]
    assert (shares["all"], shares.sum()) == (whole.sum(), len(flagged))
    corpora = frames.by_corpus(hostile, 8).set_index("corpus")
    assert corpora.loc["web", "problems"] == len(flagged)
    assert dict(corpora.loc["held-out", ["problems", "only_here", "role"]]) == {
        "problems": 1, "only_here": 1, "role": "control",
    }  # fmt: skip


def test_groups_come_from_the_records(hostile: wmbxl.Audit) -> None:
    formats = frames.by_group(hostile, "format", 8).set_index("group")
    assert dict(formats["problems"]) == {"MCQ": 4, "$$x$$": 1, "</script><b>bold</b>": 1, "(none)": 2}
    assert formats.loc["MCQ", "flagged_pct"] == 100
    years = frames.by_group(hostile, "year", 8)
    assert years[["group", "problems", "flagged"]].to_numpy().tolist() == [
        ["2023", 2, 2], ["2024", 1, 1], ["(none)", 5, 3],
    ]  # fmt: skip


def test_no_groups_without_fields(make_audit: Callable[..., wmbxl.Audit]) -> None:
    bare = [{"problem_id": str(i), "text": problem["text"], "answer": ""} for i, problem in enumerate(PROBLEMS)]
    page = render(made := make_audit(problems=bare), n=8)
    assert frames.by_group(made, "format", 8).empty
    assert "By task format" not in page and "By year" not in page


def test_what_was_found_is_marked_though_evidence_is_a_sample(hostile: wmbxl.Audit) -> None:
    found = {(problem.problem_id, problem.channel): problem for problem in found_problems(hostile, 8)}
    latex = found["latex", "prompt"]
    assert latex.documents == 14 and latex.share == 1
    assert [latex.text[start:end] for start, end in latex.found] == [latex.text]
    assert sum(len(passage.matches) for passage in latex.passages) == hostile.info["evidence_cap"]
    assert found["elsewhere", "prompt"].documents == 0
    assert found["elsewhere", "prompt"].elsewhere == 1
    assert found["stamp-1", "prompt"].others == 1
    assert ("absent", "prompt") not in found


def test_a_group_that_is_called_as_those_without_one(make_audit: Callable[..., wmbxl.Audit]) -> None:
    kinds = {"$$x": PROBLEMS[0], "$\u200b$x": PROBLEMS[1], "(none)": PROBLEMS[2], "((none))": PROBLEMS[3]}
    named = [{**problem, "type": kind} for kind, problem in kinds.items()]
    made = make_audit(problems=[*named, *({**problem, "type": None} for problem in PROBLEMS[4:])])
    groups = frames.by_group(made, "format", 8)
    assert dict(groups[["group", "problems"]].to_numpy()) == {**dict.fromkeys(kinds, 1), "(((none)))": 4}
    drawn = plots.by_group(groups)
    assert len(set(drawn.y_range.factors)) == 5


def test_more_groups_than_a_figure_can_show() -> None:
    groups = pd.DataFrame({"group": [f"g{i}" for i in range(4000)], "problems": 1, "flagged": 0, "flagged_pct": 0.0})
    groups.loc[3000, ["problems", "flagged", "flagged_pct"]] = [9, 9, 100.0]
    shown = frames.largest(groups)
    assert len(shown) == frames.GROUPS_SHOWN and "g3000" in set(shown["group"])
    assert tuple(shown.iloc[-1]) == ("(3,971 others)", 3971, 0, 0.0)
    assert shown["problems"].sum() == 4008
    assert frames.largest(groups[:30]).equals(groups[:30])
    assert plots.by_group(groups).height < 16_384 / 2


def test_models_whose_names_look_the_same() -> None:
    models = ["$$m", "$\u200b$m"]
    rows = {"view": "S0-n8", "ci_low_pp": 0.0, "ci_high_pp": 1.0, "delta_pp": 0.5}
    assert len(set(verdict_plots.forest(pd.DataFrame({"model": models, **rows}), "S0-n8").y_range.factors)) == 2
    tiles = {"n": 8, "delta_pp": 0.5, "n_view": 1, "ci_low_pp": 0.0, "ci_high_pp": 1.0}
    assert len(set(verdict_plots.deltas_by_n(pd.DataFrame({"model": models, **tiles})).y_range.factors)) == 2


def test_what_is_not_known_is_not_stated(client: Client, tmp_path: Path) -> None:
    almost, tiny = " ".join(f"a{i}" for i in range(2000)), " ".join(f"t{i}" for i in range(4012))
    documents = [almost.rsplit(" ", 3)[0], tiny[: tiny.index(" t13")], f"{tiny[: tiny.index(' t13')]} {'more ' * 50}"]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    corpora = [wmbxl.Corpus("c", str(tmp_path / "c.jsonl"))]
    bench = Benchmark.from_surfaces({"almost": almost, "tiny": tiny})
    made = wmbxl.audit(bench, corpora, str(tmp_path / "run"), client=client)
    found = {problem.problem_id: problem for problem in found_problems(made, 13)}
    assert found["almost"].at_least and not found["tiny"].at_least
    assert [passage.goes_on for passage in found["tiny"].passages] == [False, True]
    page = render(made)
    row = page[page.index("<bdi>almost</bdi>") :].split("</tr>")[0]
    assert f"≥ {found['almost'].longest}<span" in row and "&gt; 99 %" in row
    row = page[page.index("<bdi>tiny</bdi>") :].split("</tr>")[0]
    assert ">13<span" in row and "&lt; 1 %" in row


def broken_parquet(path: Path, texts: list[str]) -> None:
    """Write a file with a row group for each text; the third one can't be read."""
    pq.write_table(pa.table({"text": texts}), path, row_group_size=1, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    first = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    data[first : first + 8] = b"\xff" * 8
    path.write_bytes(data)


def test_passages_are_the_spans_behind_a_part_that_was_not_read(client: Client, tmp_path: Path) -> None:
    problem = " ".join(f"w{i}" for i in range(40))
    broken_parquet(tmp_path / "c.parquet", [f"{'x' * 2000} {end} {problem} {end} {end}" for end in "abcdef"])
    made = wmbxl.audit(
        Benchmark.from_surfaces({"p": problem}), [wmbxl.Corpus("c", str(tmp_path / "c.parquet"))],
        str(tmp_path / "run"), client=client, block_size=8192,
    )  # fmt: skip
    assert made.status == "incomplete" and made.spans["row"].isna().sum() > 1
    [found] = found_problems(made, 13)
    names = ["row", "piece", "piece_row", "start", "end", "tokens", "windows"]
    wanted = made.spans.sort_values("tokens", ascending=False, kind="stable")[names].astype(object)
    assert [[getattr(passage, name) for name in names] for passage in found.passages] == wanted.where(
        wanted.notna(), None
    ).to_numpy().tolist()
    assert sum(len(passage.matches) for passage in found.passages) == len(made.evidence)
    assert len({passage.text for passage in found.passages}) == len(found.passages)  # none is put together of two


def test_without_evidence_counts_are_shown_all_the_same(make_audit: Callable[..., wmbxl.Audit]) -> None:
    made = make_audit(cap=0)
    [latex] = [problem for problem in found_problems(made, 8) if problem.problem_id == "latex"]
    assert (latex.documents, latex.share, latex.longest, latex.passages) == (14, 1, None, [])
    assert [latex.text[start:end] for start, end in latex.found] == [latex.text]
    assert "?<span" in render(made, n=8)


def test_figures_can_be_composed(hostile: wmbxl.Audit) -> None:
    made = [
        plots.sensitivity(frames.sensitivity(hostile)),
        plots.documents(frames.documents(hostile, 8)),
        plots.found_share(frames.found_share(hostile, 8)),
        plots.by_group(frames.by_group(hostile, "format", 8)),
        plots.by_corpus(frames.by_corpus(hostile, 8)),
    ]
    assert all(isinstance(drawn, figure) for drawn in made)
    compared = pd.DataFrame({"view": ["S0-n8"], "model": ["m"]})
    with pytest.raises(UsageError, match=r"no view 'S1'.*S0-n8"):
        verdict_plots.forest(compared, "S1")


def test_a_page_holds_no_address_to_load_from(report: str) -> None:
    page = Path(report).read_text(encoding="utf-8")
    head = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", head)
    assert "default-src 'none'" in html.unescape(head)


def test_size(tmp_path: Path, client: Client) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "report.py"
    audit = runpy.run_path(str(script))["make_audit"](tmp_path, client, 4027, 200, 20)
    assert len(audit.evidence) == 4000
    assert Path(write_report(audit)).stat().st_size < 8e6


def test_an_audit_in_a_notebook(hostile: wmbxl.Audit, incomplete: wmbxl.Audit) -> None:
    shown = hostile._repr_html_()
    assert "Complete: every byte of every corpus was read." in shown and len(shown) < 5000
    assert "<strong>Audit</strong>" in shown and "Incomplete: " in incomplete._repr_html_()


def test_remote_folders(make_audit: Callable[..., wmbxl.Audit]) -> None:
    made = make_audit(out="memory://reports/run")
    done = CliRunner().invoke(main, ["report", "memory://reports/run"], catch_exceptions=False)
    assert done.output.strip() == "memory://reports/run/report.html"
    page = fsspec.filesystem("memory").cat_file("/reports/run/report.html").decode()
    assert f"n = {max(made.info['ns'])}" in page


def test_a_page_does_not_outlive_its_audit(make_audit: Callable[..., wmbxl.Audit]) -> None:
    made = make_audit(out="memory://stale/run")
    write_report(made)
    assert made.folder.exists("report.html")
    make_audit(out="memory://stale/run")
    assert not made.folder.exists("report.html")


def test_wrong_usage_says_what_to_change(hostile: wmbxl.Audit, tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        done = CliRunner().invoke(main, ["report", hostile.folder.url, *arguments])
        assert done.exit_code == 2
        return done.output

    assert "it holds n = 5, 8 and prompt, answer; choose with -n and --channel" in refused("-n", "13")
    assert "choose with -n and --channel" in refused("--channel", "text")
    assert "give --verdicts FILE too" in refused("-B", "100")
    assert "no such file" in refused("--verdicts", str(tmp_path / "none.jsonl"))


def copied(audit: wmbxl.Audit, place: Path) -> Path:
    place.mkdir(exist_ok=True)
    for name in (name for name in FILES if audit.folder.exists(name)):
        (place / name).write_bytes(audit.folder.read(name))
    return place


def refusal(*arguments: str) -> str:
    done = CliRunner().invoke(main, [*arguments])
    assert done.exit_code == 2, (done.output, done.exception)
    assert isinstance(done.exception, SystemExit)
    return done.output


@pytest.mark.parametrize("verb", ["report", "status"])
def test_what_is_no_audit_is_named(hostile: wmbxl.Audit, tmp_path: Path, verb: str) -> None:
    folder = copied(hostile, tmp_path / "run")
    said = refusal(verb, f"{folder}/audit.json")
    assert "no audit.json in this folder: give the folder" in said and "not a file of it" in said
    assert "no filesystem named nope is installed" in refusal(verb, "nope://x")
    for content, words in (
        ("[]", "expected a JSON object, found list"), ("{", "not JSON"), ("{}", "lacks status, wmbxl"),
        ('{"status": "complete"}', "lacks wmbxl, versions"), ('{"status": "running"}', "lacks tasks"),
    ):  # fmt: skip
        (folder / "audit.json").write_text(content)
        said = refusal(verb, str(folder))
        assert words in said and "audit.json" in said


def test_a_folder_that_is_not_whole_is_named(hostile: wmbxl.Audit, tmp_path: Path) -> None:
    for name in ("spans.parquet", "problems.parquet"):
        folder = copied(hostile, tmp_path / name)
        (folder / name).unlink()
        said = refusal("report", str(folder))
        assert f"no {name}" in said and "removed, or the audit was made by an older wmbxl" in said
    folder = copied(hostile, tmp_path / "cut")
    (folder / "evidence.parquet").write_bytes(hostile.folder.read("evidence.parquet")[:-100])
    assert f"{folder}/evidence.parquet: not a whole Parquet file" in refusal("report", str(folder))
    folder = copied(hostile, tmp_path / "older")
    table = hostile.folder.read_table("spans.parquet").drop_columns(["piece"])
    pq.write_table(table, folder / "spans.parquet")
    assert "no column piece: the audit was made by an older wmbxl" in refusal("report", str(folder))
    folder = copied(hostile, tmp_path / "running")
    (folder / "audit.json").write_text(json.dumps({"status": "running", "tasks": 1}))
    assert "not finished" in refusal("report", str(folder))


@pytest.mark.parametrize(
    "name",
    ["problems.parquet", "metadata.parquet", "metadata_by_corpus.parquet", "evidence.parquet", "spans.parquet",
     "ngrams.parquet"],
)  # fmt: skip
def test_tables_of_two_audits(
    hostile: wmbxl.Audit, make_audit: Callable[..., wmbxl.Audit], tmp_path: Path, name: str
) -> None:
    other = make_audit(
        ["nothing of it"], [{"problem_id": "other", "text": PROBLEMS[-1]["text"], "answer": "x"}, PROBLEMS[-1]]
    )
    folder = copied(hostile, tmp_path / "run")
    (folder / name).write_bytes(other.folder.read(name))
    said = refusal("report", str(folder))
    assert name in said and "of another audit than the other tables" in said


def test_verdicts_that_are_none(hostile: wmbxl.Audit, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text("")
    assert "the file is empty: expected records with model" in refusal(
        "report", hostile.folder.url, "--verdicts", str(path)
    )
    path.write_text(json.dumps({"model": "m", "problem_id": "unheard-of", "is_correct": True}) + "\n")
    said = refusal("report", hostile.folder.url, "-n", "8", "--verdicts", str(path))
    assert "no problem with a verdict is in the audit" in said and "--audit" not in said
    assert "no filesystem named nope" in refusal("report", hostile.folder.url, "--verdicts", "nope://v.jsonl")

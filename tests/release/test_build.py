"""What is built: its files, its bytes, and what other programs read of it."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml

pytest.importorskip("mlcroissant", reason="no release is built: pip install 'wmbxl[release]'")
pytest.importorskip("detect_secrets", reason="no release is checked: pip install 'wmbxl[release]'")

import mlcroissant

from tests.release.conftest import ABOUT, ARXIV, BY, write_lines
from tests.s3 import KEY, SECRET, Server
from wmbxl.errors import BenchmarkError, FieldNotFound, UsageError
from wmbxl.release import layout
from wmbxl.release.build import build
from wmbxl.release.check import check
from wmbxl.release.licences import licence_class, record_licence
from wmbxl.release.settings import ReleaseConfig, validate
from wmbxl.settings import read_yaml

FLAGS, SPLIT = layout.flags_path("1.1.0"), layout.split_path(0)


def config_of(inputs: Path, **changes: object) -> ReleaseConfig:
    return validate({**read_yaml(str(inputs / "release.yaml")), **changes}, "release.yaml")


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def problems(inputs: Path) -> list[dict]:
    return lines_of(inputs / "problems.jsonl")


# ---------------------------------------------------------------- bytes


def test_the_same_inputs_give_the_same_bytes(inputs: Path, built: Path, tmp_path: Path) -> None:
    build(config_of(inputs, out=str(tmp_path / "again")))
    first, second = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (built, tmp_path / "again")
    )
    assert set(first) == set(second)
    assert [name for name in first if first[name] != second[name]] == []


def test_sha256sum_reads_the_checksums(built: Path) -> None:
    done = subprocess.run(["sha256sum", "-c", "--strict", layout.SUMS], cwd=built, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": OK") == sum(path.is_file() for path in built.rglob("*")) - 1


def test_a_folder_that_holds_something_is_left_alone(inputs: Path, built: Path) -> None:
    with pytest.raises(UsageError, match="another --out"):
        build(config_of(inputs))


# ---------------------------------------------------------------- data


def test_every_problem_is_where_its_papers_licence_puts_it(inputs: Path, built: Path, problems: list[dict]) -> None:
    uris = {row["paper_id"]: row["source_license"] for row in rows_of(inputs / "licences.csv")}
    expected = Counter()
    for problem in problems:
        licence = record_licence(licence_class(uris[problem["paper_id"]]))
        path = licence.path if licence else layout.MANIFEST
        rows = rows_of(built / path) if path.endswith(".csv") else lines_of(built / path)
        assert problem["problem_id"] in {row["problem_id"] for row in rows}
        expected[path] += 1
    assert {*layout.PROBLEMS, layout.MANIFEST} == set(expected)
    assert expected[layout.MANIFEST] == len(rows_of(built / layout.MANIFEST))


def test_records_have_the_fields_of_the_papers_release(built: Path) -> None:
    """In this order; see the layout of WirelessMathBench-XL's public release."""
    fields = [
        "problem_id", "paper_id", "paper_title", "type", "split", "background", "question_text", "equation", "options",
        "correct_answer", "prompt", "text", "contamination", "source_license", "source_license_class", "record_license",
    ]  # fmt: skip
    for path in layout.RECORDS:
        assert all(list(record) == fields for record in lines_of(built / path))
    nested = lines_of(built / layout.PROBLEMS[0])[0]["contamination"]
    assert set(nested) == {"hits_total", "docs_total", "in_S0", "in_S1", "matched_ngrams_capped"}
    header = (built / layout.MANIFEST).read_text(encoding="utf-8").split("\n")[0]
    assert header == "problem_id,paper_id,arxiv_id,split,type,license_class,source_license"
    header = (built / SPLIT).read_text(encoding="utf-8").split("\n")[0]
    assert header == "problem_id,paper_id,type,original_split,paper_disjoint_split"


def test_labels_are_those_of_the_audit(inputs: Path, built: Path) -> None:
    audited = pd.read_parquet(inputs / "audit/metadata.parquet").query("n == 13").set_index("problem_id")
    metadata = lines_of(built / layout.METADATA)
    assert len(metadata) == len(audited)
    for row in metadata:
        expected = audited.loc[row["problem_id"]]
        assert [row[name] for name in ("hits_total", "docs_total", "in_S0", "in_S1")] == [
            expected[name] for name in ("hits_total", "docs_total", "in_S0", "in_S1")
        ]
    flagged = [row for row in metadata if row["hits_total"] and "matched_ngrams_capped" in row]
    assert flagged
    assert all(1 <= len(row["matched_ngrams_capped"]) <= 5 for row in flagged)


def test_nothing_but_labels_is_told_of_what_is_withheld(built: Path) -> None:
    hidden = {row["problem_id"] for row in rows_of(built / layout.MANIFEST)}
    told = [row for row in lines_of(built / layout.METADATA) if row["problem_id"] in hidden]
    assert len(told) == len(hidden) > 0
    assert all(set(row) == {"problem_id", "hits_total", "docs_total", "in_S0", "in_S1"} for row in told)
    assert any(row["hits_total"] for row in told)  # so that something could have been told


def test_public_views_are_cut_from_released_test_problems(built: Path) -> None:
    released = {record["problem_id"]: record for path in layout.PROBLEMS for record in lines_of(built / path)}
    public = json.loads((built / layout.PUBLIC_IDS).read_text(encoding="utf-8"))
    assert set(public) == {name for name, record in released.items() if record["split"] == "test"}
    for path, label in ((layout.S0_VIEW, "in_S0"), (layout.S1_VIEW, "in_S1")):
        chosen = [name for name in public if released[name]["contamination"][label]]
        assert lines_of(built / path) == [released[name] for name in chosen]
    assert 0 < len(lines_of(built / layout.S0_VIEW)) < len(public)
    disjoint = {row["problem_id"] for row in rows_of(built / layout.DISJOINT)}
    assert {record["problem_id"] for record in lines_of(built / layout.DISJOINT_VIEW)} == disjoint & set(public)


def test_results_have_the_papers_columns(built: Path, problems: list[dict]) -> None:
    tests = sum(problem["split"] == "test" for problem in problems)
    public = len(json.loads((built / layout.PUBLIC_IDS).read_text(encoding="utf-8")))
    results = rows_of(built / layout.PUBLIC_RESULTS)
    expected = ["group", "model", f"acc_full{tests}", f"acc_public{public}", "ci_low", "ci_high", "delta_pp"]
    assert list(results[0]) == expected
    deltas = rows_of(built / "data/frontier_multin_delta.csv")
    assert list(deltas[0]) == [
        "n", "model", "n_full", "acc_full", "n_S0", "s0_pct", "acc_S0", "delta_pp", "ci_low_pp", "ci_high_pp",
        "bootstrap_max_abs_pp",
    ]  # fmt: skip
    membership = rows_of(built / layout.MEMBERSHIP)
    for row in deltas:
        assert int(row["n_S0"]) == sum(test[f"in_S0_n{row['n']}"] == "True" for test in membership)


# ---------------------------------------------------------------- what other programs read


def test_datasets_loads_it_from_disk(built: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="not loaded: pip install datasets")
    loaded = datasets.load_dataset(str(built), "problems", cache_dir=str(tmp_path))
    for split, path in zip(("cc_by", "cc_by_sa", "cc_by_nc_sa"), layout.PROBLEMS, strict=True):
        records = lines_of(built / path)
        assert loaded[split]["problem_id"] == [record["problem_id"] for record in records]
        assert loaded[split][0]["contamination"] == records[0]["contamination"]
        assert loaded[split]["options"] == [record["options"] for record in records]
    views = datasets.load_dataset(str(built), "views", cache_dir=str(tmp_path))
    assert views["S0_test_public"].num_rows == len(lines_of(built / layout.S0_VIEW))
    labels = datasets.load_dataset(str(built), "contamination", cache_dir=str(tmp_path), split="problems")
    assert labels["hits_total"] == [row["hits_total"] for row in lines_of(built / layout.METADATA)]


def test_mlcroissant_loads_it(built: Path) -> None:
    dataset = mlcroissant.Dataset(built / layout.CROISSANT)
    metadata = dataset.metadata
    assert not metadata.ctx.issues.errors
    assert not metadata.ctx.issues.warnings
    assert metadata.conforms_to == ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
    assert {file.id for file in metadata.distribution} == {
        path.relative_to(built).as_posix() for path in (built / "data").rglob("*") if path.is_file()
    }
    sets = {record_set.id: list(dataset.records(record_set.id)) for record_set in metadata.record_sets}
    for path in layout.PROBLEMS:
        name = Path(path).stem
        assert [record[f"{name}/text"].decode() for record in sets[name]] == [r["text"] for r in lines_of(built / path)]
    assert len(sets["contamination_metadata"]) == len(lines_of(built / layout.METADATA))
    assert metadata.data_biases == ["Only wireless."]
    assert "13 tokens" in metadata.data_preprocessing_protocol[-1]
    assert json.loads((built / layout.CROISSANT).read_text(encoding="utf-8"))["rai:hasSyntheticData"] is True


def test_the_card_is_yaml_with_the_files(built: Path) -> None:
    card = yaml.safe_load((built / "README.md").read_text(encoding="utf-8").split("---")[1])
    files = [file["path"] for config in card["configs"] for file in config["data_files"]]
    assert set(files) == {*layout.RECORDS, layout.METADATA}
    assert card["license_link"] == "LICENSE"


# ---------------------------------------------------------------- documents


def test_the_datasheet_has_seven_sections_and_lists_what_is_missing(built: Path) -> None:
    page = (built / "DATASHEET.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", page, flags=re.M)
    assert [name.split(",")[0].split()[0] for name in sections] == [
        "Motivation", "Composition", "Collection", "Preprocessing", "Uses", "Distribution", "Maintenance", "Missing",
    ]  # fmt: skip
    assert "To test a release." in page
    missing = set(re.findall(r"^- `([\w.]+)`$", page, flags=re.M))
    assert {"datasheet.funding", "rai.maintenance"} <= missing
    assert not {"datasheet.purpose", "rai.biases", "datasheet.count"} & missing
    assert page.count("*Not answered.*") == sum(name.startswith("datasheet.") for name in missing)


def test_every_file_of_data_has_a_licence(built: Path) -> None:
    licences = (built / "LICENSE").read_text(encoding="utf-8")
    for path in (built / "data").rglob("*.*"):
        assert f"\n{path.relative_to(built).as_posix()}: " in licences


# ---------------------------------------------------------------- bad inputs


def test_bad_records_are_told_together(inputs: Path, tmp_path: Path, problems: list[dict]) -> None:
    del problems[0]["split"]
    problems[1]["split"] = "dev"
    problems[3]["correct_answer"] = ""
    problems.append(problems[5])
    write_lines(tmp_path / "bad.jsonl", problems)
    with pytest.raises(BenchmarkError) as raised:
        build(config_of(inputs, benchmark=str(tmp_path / "bad.jsonl"), out=str(tmp_path / "out")))
    told = str(raised.value)
    assert all(f"record {row}: {name}" in told for row, name in ((1, "split"), (2, "split"), (4, "correct_answer")))
    assert repr(problems[5]["problem_id"]) in told
    assert not (tmp_path / "out").exists()


def test_text_that_was_not_audited_is_not_released(inputs: Path, tmp_path: Path, problems: list[dict]) -> None:
    problems[2]["text"] += " And more."
    del problems[4]
    write_lines(tmp_path / "other.jsonl", problems)
    with pytest.raises(BenchmarkError, match="not the one that was audited") as raised:
        build(config_of(inputs, benchmark=str(tmp_path / "other.jsonl"), out=str(tmp_path / "out")))
    assert len(raised.value.issues) == 2


def test_a_paper_without_a_licence_is_withheld_and_told(inputs: Path, tmp_path: Path) -> None:
    lines = (inputs / "licences.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "licences.csv").write_text("\n".join(lines[:1] + lines[2:]) + "\n", encoding="utf-8")
    made = build(config_of(inputs, licences=str(tmp_path / "licences.csv"), out=str(tmp_path / "out")))
    paper = lines[1].split(",")[0]
    assert any(repr(paper) in remark for remark in made.remarks)
    assert (paper, "unlabelled") in {
        (row["paper_id"], row["license_class"]) for row in rows_of(tmp_path / "out" / layout.MANIFEST)
    }


@pytest.mark.parametrize(("uri", "released"), [(BY, True), (ARXIV, False)])
def test_all_or_nothing_can_be_released(inputs: Path, tmp_path: Path, uri: str, released: bool) -> None:
    papers = [row["paper_id"] for row in rows_of(inputs / "licences.csv")]
    write_lines(tmp_path / "licences.jsonl", [{"paper_id": paper, "source_license": uri} for paper in papers])
    made = build(config_of(inputs, licences=str(tmp_path / "licences.jsonl"), out=str(tmp_path / "out")))
    assert (made.facts.withheld == 0, made.facts.released == 0) == (released, not released)
    report = check(str(tmp_path / "out"), str(inputs / "problems.jsonl"))
    assert (report.issues, report.not_run) == ([], [])


def test_licences_need_their_columns(inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "licences.csv").write_text(f"paper_id,license\nx,{ARXIV}\n", encoding="utf-8")
    with pytest.raises(FieldNotFound, match="source_license"):
        build(config_of(inputs, licences=str(tmp_path / "licences.csv"), out=str(tmp_path / "out")))


def test_further_tables_may_not_replace_a_file(inputs: Path, built: Path, tmp_path: Path) -> None:
    changes = {"tables": {"public_subset_results": str(built / layout.PAPERS)}, "out": str(tmp_path / "out")}
    with pytest.raises(UsageError, match=r"tables\.public_subset_results"):
        build(config_of(inputs, **changes))


def test_other_audits_are_released_in_their_layout(inputs: Path, tmp_path: Path) -> None:
    build(config_of(inputs, external_audits={"other": str(inputs / "audit")}, out=str(tmp_path / "out")))
    record = lines_of(tmp_path / "out/data/external-audits/other.jsonl")[0]
    assert list(record)[:3] == ["problem_id", "n_grams_total", "per_slice_hits"]


def test_an_audit_in_a_store(inputs: Path, built: Path, tmp_path: Path, s3: Server) -> None:
    s3.files.put(str(inputs / "audit"), "runs/released", recursive=True)
    out = tmp_path / "out"
    build(config_of(inputs, audit="s3://runs/released", storage_options=s3.options(), out=str(out)))
    files = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert files[Path(FLAGS)] == (built / FLAGS).read_bytes()
    assert not any(SECRET.encode() in content or KEY.encode() in content for content in files.values())


def test_a_missing_extra_is_named_before_the_work(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlcroissant", None)
    with pytest.raises(UsageError, match=r"pip install 'wmbxl\[release\]'"):
        build(config_of(inputs, out=str(tmp_path / "out")))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"licenses": "licences.csv"}, "licenses: unknown; did you mean licences?"),
        ({"about": {**ABOUT, "titel": "x"}}, "about.titel: unknown; did you mean title?"),
        ({"about": {**ABOUT, "version": "1.1"}}, "about.version"),
        ({"about": {**ABOUT, "datasheet": {"purposes": "x"}}}, "did you mean purpose?"),
        ({"about": {**ABOUT, "rai": {"bias": "x"}}}, "did you mean biases?"),
        ({"n": 0}, "n: "),
    ],
)
def test_mistakes_in_the_settings_are_named(inputs: Path, change: dict, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        config_of(inputs, **change)
    assert says in str(raised.value)

"""Faults planted in a release, each of which has to be found and named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("mlcroissant", reason="releases are not checked: pip install 'wmbxl[release]'")
pytest.importorskip("detect_secrets", reason="releases are not checked: pip install 'wmbxl[release]'")

from tests.release.conftest import BY, Copy
from wmbxl.release import layout
from wmbxl.release.check import check

CC_BY, CC_BY_SA, CC_BY_NC_SA = layout.PROBLEMS
FLAGS, SPLIT = layout.flags_path("1.1.0"), layout.split_path(0)


def withheld(copy: Copy) -> dict[str, str]:
    """Return a problem that is not released, from the benchmark."""
    manifest = copy.path(layout.MANIFEST).read_text(encoding="utf-8")
    records = map(json.loads, copy.benchmark.read_text(encoding="utf-8").splitlines())
    return next(record for record in records if f"\n{record['problem_id']}," in manifest)


@dataclass(frozen=True)
class Fault:
    """How to spoil a release, and what the check has to say of it."""

    plant: Callable[[Copy], object]
    check: str
    file: str
    says: str
    row: bool = True  # whether it must name a line
    sealed: bool = True  # whether checksums are brought up to date afterwards


def set_cell(path: str, column: str, value: str, row: int = 0) -> Callable[[Copy], object]:
    return lambda copy: copy.table(path, lambda rows: rows[row].update({column: value}))


def set_field(path: str, change: Callable[[dict], object], row: int = 0) -> Callable[[Copy], object]:
    def plant(copy: Copy) -> None:
        records = copy.records(path)
        change(records[row])
        copy.write(path, records)

    return plant


def append(path: str, text: Callable[[Copy], str]) -> Callable[[Copy], object]:
    return lambda copy: copy.text(path, lambda before: before + text(copy))


def leak_in_a_record(copy: Copy) -> None:
    sentence = withheld(copy)["background"]
    set_field(CC_BY, lambda record: record.update(background=f"{record['background']} {sentence}"), row=3)(copy)


def leak_of_a_table(copy: Copy) -> None:
    sentence = " ".join(withheld(copy)["background"].split()[:9])
    copy.table(layout.PAPERS, lambda rows: rows[2].update(arxiv_id=sentence.upper()))


def leak_behind_a_repeated_name(copy: Copy) -> None:
    """Readers take the last of two values of one name."""
    sentence = json.dumps(withheld(copy)["background"])
    copy.text(CC_BY, lambda text: text.replace('"background":', f'"background":{sentence},"background":', 1))


def link_to_a_folder(copy: Copy) -> None:
    outside = copy.folder.parent / "outside"
    outside.mkdir()
    (outside / "key").write_text("ghp_" + "a1B2" * 9, encoding="utf-8")
    copy.path("data/more").symlink_to(outside)


def nd_record_in_the_cc_by_file(copy: Copy) -> None:
    problem = withheld(copy)
    record = copy.records(CC_BY)[0]
    for name in ("problem_id", "paper_id", "type", "split"):
        record[name] = problem[name]
    copy.write(CC_BY, [*copy.records(CC_BY), record])


def move_record(copy: Copy) -> None:
    moved, *rest = copy.records(CC_BY_NC_SA)
    copy.write(CC_BY_NC_SA, rest)
    copy.write(CC_BY, [*copy.records(CC_BY), moved])


def change_paper(rows: list[dict[str, str]]) -> None:
    row = next(row for row in rows if row["source_license"] == BY)
    row |= {"source_license": "http://arxiv.org/licenses/nonexclusive-distrib/1.0/", "license_class": "arXiv default"}


def break_the_rule(rows: list[dict[str, str]]) -> None:
    next(row for row in rows if row["docs_total"] == "0")["in_S0"] = "False"


def flip(record: dict) -> None:
    record["contamination"]["in_S0"] = not record["contamination"]["in_S0"]


def both_sides(rows: list[dict[str, str]]) -> None:
    papers = [row["paper_id"] for row in rows]
    row = next(row for row in rows if papers.count(row["paper_id"]) > 1)
    row["paper_disjoint_split"] = {"train": "test", "test": "train"}[row["paper_disjoint_split"]]


def drop_first(path: str) -> Callable[[Copy], object]:
    return lambda copy: copy.text(path, lambda text: text.split("\n", 1)[1])


def say_of_the_description(key: str, value: object) -> Callable[[Copy], object]:
    def plant(copy: Copy) -> None:
        description = json.loads(copy.path(layout.CROISSANT).read_text(encoding="utf-8"))
        copy.path(layout.CROISSANT).write_text(json.dumps({**description, key: value}), encoding="utf-8")

    return plant


def forget_the_labels(copy: Copy) -> None:
    description = json.loads(copy.path(layout.CROISSANT).read_text(encoding="utf-8"))
    kept = [record_set for record_set in description["recordSet"] if record_set["@id"] != "contamination_metadata"]
    say_of_the_description("recordSet", kept)(copy)


def forget_a_file(copy: Copy) -> None:
    description = json.loads(copy.path(layout.CROISSANT).read_text(encoding="utf-8"))
    kept = [file for file in description["distribution"] if file["@id"] != layout.PUBLIC_IDS]
    say_of_the_description("distribution", kept)(copy)


def point_elsewhere(copy: Copy) -> None:
    address = '"contentUrl": "https://example.org/data.jsonl"'
    copy.text(layout.CROISSANT, lambda text: text.replace(f'"contentUrl": "{CC_BY}"', address))


FAULTS = {
    # what must not be public
    "a withheld text in a record": Fault(leak_in_a_record, "leaks", CC_BY, "withheld problem '"),
    "a withheld text that a repeated name hides": Fault(
        leak_behind_a_repeated_name, "leaks", CC_BY, "withheld problem '"),
    "a link to a folder": Fault(link_to_a_folder, "files", "data/more", "not looked into", row=False),
    "nine words of one in a table": Fault(leak_of_a_table, "leaks", layout.PAPERS, "withheld problem '"),
    "a sentence of one in the README": Fault(
        append("README.md", lambda copy: "\n\n" + withheld(copy)["text"].replace(" ", "\n")), "leaks", "README.md",
        "window(s) of 13 tokens",
    ),
    "an e-mail address": Fault(
        append("README.md", lambda _: "\nsomebody@example.org\n"), "private", "README.md", "e-mail"),
    "a path": Fault(append("REPRODUCE.md", lambda _: "\n/home/somebody/audit\n"), "private", "REPRODUCE.md", "path"),
    "a secret": Fault(
        append("DATASHEET.md", lambda _: "\nghp_" + "a1B2" * 9 + "\n"), "private", "DATASHEET.md", "GitHub Token"),
    # files
    "a stale checksum": Fault(
        append(layout.PAPERS, lambda _: "\n"), "checksums", layout.PAPERS, "sha256", row=False, sealed=False),
    "a file that nobody listed": Fault(
        lambda copy: copy.path("data/notes.md").write_text("notes", encoding="utf-8"), "checksums", "data/notes.md",
        "not listed", row=False, sealed=False),
    "a file that is gone": Fault(
        lambda copy: copy.path(layout.MANIFEST).unlink(), "files", layout.MANIFEST, "not there", row=False),
    "a line that is cut": Fault(
        lambda copy: copy.text(layout.METADATA, lambda text: text[:-20]), "rows", layout.METADATA, "not JSON"),
    "a field that is gone": Fault(
        set_field(CC_BY, lambda record: record.pop("equation"), 3), "rows", CC_BY, "equation"),
    # documents
    "a wrong count in the README": Fault(
        lambda copy: copy.text("README.md", lambda text: re.sub(r"(\| audited \|) (\d+)", r"\1 9\2", text)),
        "documents", "README.md", "| audited |"),
    "a wrong count in the datasheet": Fault(
        lambda copy: copy.text("DATASHEET.md", lambda text: re.sub(r"(\d+) are released", r"9\1 are released", text)),
        "documents", "DATASHEET.md", "are released with their text"),
    "a wrong licence in LICENSE": Fault(
        lambda copy: copy.text("LICENSE", lambda text: text.replace(f"{CC_BY_SA}: CC-BY-SA", f"{CC_BY_SA}: CC-BY")),
        "documents", "LICENSE", CC_BY_SA),
    # licences
    "a record that may not be released": Fault(
        nd_record_in_the_cc_by_file, "licences", CC_BY, "doesn't allow to release it"),
    "a record in another licence's file": Fault(move_record, "licences", CC_BY, "expected CC-BY-NC-SA-4.0"),
    "a record under another licence": Fault(
        set_field(CC_BY_SA, lambda record: record.update(record_license="CC-BY-4.0")), "licences", CC_BY_SA,
        "expected CC-BY-SA-4.0"),
    "a paper whose licence has changed": Fault(
        lambda copy: copy.table(layout.PAPERS, change_paper), "licences", CC_BY, "arXiv default"),
    "a class that is not that of the URI": Fault(
        set_cell(layout.PAPERS, "license_class", "CC BY-NC"), "licences", layout.PAPERS, "license_class"),
    # joins
    "a record that is gone": Fault(drop_first(CC_BY), "joins", FLAGS, "is not in a file of problems"),
    "a record that is there twice": Fault(
        lambda copy: copy.write(CC_BY, [*copy.records(CC_BY), copy.records(CC_BY)[0]]), "joins", CC_BY, "further up"),
    "an id that nobody knows": Fault(
        set_cell(layout.MANIFEST, "problem_id", "nobody"), "joins", layout.MANIFEST, "'nobody' is not in"),
    "an item of the test split called training": Fault(
        set_field(CC_BY, lambda record: record.update(split={"test": "train", "train": "test"}[record["split"]])),
        "joins", CC_BY, "split of"),
    "a public test id too many": Fault(
        lambda copy: copy.text(layout.PUBLIC_IDS, lambda text: text.replace("[", '["nobody",', 1)), "joins",
        layout.PUBLIC_IDS, "'nobody'", row=False),
    # labels
    "a label against the rule": Fault(
        lambda copy: copy.table(FLAGS, break_the_rule), "labels", FLAGS, "expected 'True', found 'False'"),
    "a label that differs in the record": Fault(set_field(CC_BY, flip), "labels", CC_BY, "in_S0 of"),
    "hits that differ in the metadata": Fault(
        set_field(layout.METADATA, lambda record: record.update(hits_total=7_000)), "labels", layout.METADATA,
        "found '7000'"),
    "membership at the release's n": Fault(
        lambda copy: copy.table(layout.MEMBERSHIP, lambda rows: rows[1].update(
            in_S0_n13={"True": "False", "False": "True"}[rows[1]["in_S0_n13"]])),
        "labels", layout.MEMBERSHIP, "in_S0_n13"),
    "an n-gram of another problem": Fault(
        set_field(CC_BY, lambda record: record["contamination"].update(matched_ngrams_capped=["not of it"])), "labels",
        CC_BY, "no 13-grams of its text"),
    # views, splits, results
    "a problem that a view lacks": Fault(
        drop_first(layout.S0_VIEW), "views", layout.S0_VIEW, "is absent", row=False),
    "a record that a view changed": Fault(
        set_field(layout.S1_VIEW, lambda record: record.update(correct_answer="Z")), "views", layout.S1_VIEW,
        "is not the one"),
    "a paper on both sides": Fault(lambda copy: copy.table(SPLIT, both_sides), "splits", SPLIT, "in train and in test"),
    "a problem whose paper is in training": Fault(
        lambda copy: copy.table(layout.DISJOINT, lambda rows: rows.pop(0)),
        "splits", layout.DISJOINT, "is absent", row=False),
    "a difference that does not add up": Fault(
        set_cell(layout.PUBLIC_RESULTS, "delta_pp", "12.5"), "results", layout.PUBLIC_RESULTS, "found 12.50"),
    "a difference of nothing": Fault(
        set_cell(layout.PUBLIC_RESULTS, "delta_pp", "nan"), "results", layout.PUBLIC_RESULTS, "found nan"),
    "a cell that is no number": Fault(
        set_cell(layout.PUBLIC_RESULTS, "delta_pp", "many"), "results", layout.PUBLIC_RESULTS, "not a number"),
    "a file that was emptied": Fault(
        lambda copy: copy.path(CC_BY_SA).write_text("", encoding="utf-8"), "joins", layout.MANIFEST, "is absent",
        row=False),
    # Croissant
    "a stale sha256 in the description": Fault(
        append(layout.PUBLIC_IDS, lambda _: "\n"), "croissant", layout.CROISSANT, layout.PUBLIC_IDS, row=False,
        sealed=False),
    "a file that is not described": Fault(
        forget_a_file, "croissant", layout.CROISSANT, f"{layout.PUBLIC_IDS}: not described", row=False),
    "a description of other data": Fault(
        say_of_the_description("description", "Other data."), "croissant", layout.CROISSANT, "Other data.", row=False),
    "a description that is not valid": Fault(
        lambda copy: copy.text(layout.CROISSANT, lambda text: text.replace('"dataType": "sc:Text"', '"name": "x"', 1)),
        "croissant", layout.CROISSANT, "dataType", row=False),
    "a table that no record set reads": Fault(
        forget_the_labels, "croissant", layout.CROISSANT, f"{layout.METADATA}: no record set", row=False),
    "data that are elsewhere": Fault(
        point_elsewhere, "croissant", layout.CROISSANT, "https://example.org/data.jsonl", row=False),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named(copy: Copy, name: str) -> None:
    fault = FAULTS[name]
    fault.plant(copy)
    if fault.sealed:
        copy.seal()
    issues = copy.check().issues
    named = [issue for issue in issues if (issue.check, issue.file) == (fault.check, fault.file)]
    assert any(fault.says in issue.message and bool(issue.row) == fault.row for issue in named), "\n".join(
        map(str, issues)
    )


def test_odd_numbers_and_marks_are_told_not_raised(copy: Copy) -> None:
    set_cell(FLAGS, "docs_total", "3.0")(copy)
    assert copy.check().issues
    copy.path(CC_BY).write_bytes(b"\xef\xbb\xbf" + copy.path(CC_BY).read_bytes())
    copy.path(layout.PAPERS).write_bytes(b"\xef\xbb\xbf" + copy.path(layout.PAPERS).read_bytes())
    assert {CC_BY, layout.PAPERS} <= {issue.file for issue in copy.check().issues if issue.check == "rows"}


def test_the_release_passes(copy: Copy) -> None:
    report = copy.check()
    assert (report.issues, report.not_run) == ([], [])
    copy.seal()  # what faults are planted in
    assert copy.check().issues == []


def test_every_fault_is_told_at_once(copy: Copy) -> None:
    for name in ("an e-mail address", "a record that is gone", "a paper on both sides", "a description of other data"):
        FAULTS[name].plant(copy)
    assert {"private", "checksums", "joins", "splits", "croissant", "documents"} <= {
        issue.check for issue in copy.check().issues
    }


def test_rows_are_lines_of_the_file(copy: Copy) -> None:
    leak_in_a_record(copy)
    set_cell(FLAGS, "hits_total", "77", row=4)(copy)
    copy.text("REPRODUCE.md", lambda text: text.replace("\n", "\n/home/somebody/audit\n", 1))
    rows = {(issue.check, issue.file): issue.row for issue in copy.check().issues}
    assert rows["leaks", CC_BY] == 4
    assert rows["labels", layout.METADATA] == 5
    assert rows["private", "REPRODUCE.md"] == 2


def test_without_the_withheld_texts_it_says_that_leaks_were_not_looked_for(copy: Copy) -> None:
    report = check(str(copy.folder))
    assert report.issues == []
    assert [line.partition(":")[0] for line in report.not_run] == ["leaks"]


def test_a_withheld_problem_that_the_benchmark_lacks_is_named(copy: Copy, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    lines = copy.benchmark.read_text(encoding="utf-8").splitlines()
    other.write_text(
        "\n".join(line for line in lines if withheld(copy)["problem_id"] not in line) + "\n", encoding="utf-8"
    )
    report = check(str(copy.folder), str(other))
    assert [(issue.check, issue.file) for issue in report.issues] == [("leaks", layout.MANIFEST)]


def test_what_released_records_say_too_is_no_leak(copy: Copy, tmp_path: Path) -> None:
    """Two papers may use the same words, and the licence of one of them allows to release them."""
    records = [json.loads(line) for line in copy.benchmark.read_text(encoding="utf-8").splitlines()]
    hidden = withheld(copy)["problem_id"]
    shown = next(record for record in records if record["problem_id"] == copy.records(CC_BY)[0]["problem_id"])
    for record in records:
        if record["problem_id"] == hidden:
            record["background"] += " " + shown["background"]
    benchmark = tmp_path / "benchmark.jsonl"
    benchmark.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    report = check(str(copy.folder), str(benchmark))
    assert report.issues == []
    assert "they are no leak" in report.remarks[-1]


def test_pages_of_another_version_are_not_compared(copy: Copy) -> None:
    copy.text(layout.RELEASE, lambda text: re.sub(r'"built_by": "[^"]+"', '"built_by": "0.0.9"', text))
    copy.seal()
    report = copy.check()
    assert report.issues == []
    assert "pip install wmbxl==0.0.9" in report.not_run[0]


def test_hidden_files_are_no_part_of_the_release_and_counted(copy: Copy) -> None:
    copy.path(".gitattributes").write_text("*.jsonl filter=lfs\n", encoding="utf-8")
    copy.path(".git").mkdir()
    copy.path(".git/config").write_text("[core]\n", encoding="utf-8")
    report = copy.check()
    assert report.issues == []
    assert any(".gitattributes" in remark for remark in report.remarks)
    assert any(".git/config" in remark for remark in report.remarks)


def test_a_secret_in_a_hidden_file_is_found(copy: Copy) -> None:
    copy.path("data/.env").write_text("AWS_KEY=AKIA" + "IOSFODNN7EXAMPLE\n", encoding="utf-8")
    assert [(issue.check, issue.file) for issue in copy.check().issues] == [("private", "data/.env")]


def test_numbers_that_mlcroissant_would_change_are_told(copy: Copy) -> None:
    """It reads what looks like a number as one, so leading zeros are lost."""
    records = copy.records(CC_BY_SA)
    for number, record in enumerate(records):
        record["correct_answer"] = f"0{number}"
    copy.write(CC_BY_SA, records)
    copy.seal()
    assert any("give it a letter" in issue.message and issue.row == 1 for issue in copy.check().issues)

from __future__ import annotations

import hashlib
import json

import pandas as pd
import pytest

from wmbxl.errors import FieldNotFound, NothingMatches, UsageError
from wmbxl.views import (
    View,
    audit_view,
    audit_views,
    licence_view,
    listed_view,
    read_metadata,
    snapshot_views,
    write_views,
)

ROWS = [
    # problem, documents, auditable, in_S0, in_S1
    ("a", 0, True, True, True),
    ("b", 2, True, False, True),
    ("c", 9, True, False, False),
    ("d", 0, False, True, True),
]


def metadata(rows=ROWS, ns=(8, 13), channels=("text",)):
    return pd.DataFrame(
        [
            {"problem_id": name, "channel": channel, "n": n,
             "n_grams_total": 5 * auditable, "n_grams_unique": 5 * auditable,
             "hits_total": documents, "docs_total": documents, "unique_ngrams_total": int(documents > 0),
             "auditable": auditable, "in_S0": s0, "in_S1": s1}
            for channel in channels for n in ns for name, documents, auditable, s0, s1 in rows
        ]
    )  # fmt: skip


def test_the_views_of_an_audit():
    views = {view.name: view for view in audit_views(metadata(ns=(13,)))}
    assert {name: view.ids for name, view in views.items()} == {
        "S0-n13": ("a", "d"),
        "S0-n13-auditable": ("a",),
        "S1-n13": ("a", "b", "d"),
        "S1-n13-auditable": ("a", "b"),
    }
    assert views["S0-n13-auditable"].parents == ("S0-n13",)
    assert views["S1-n13"].rule == "docs_total <= 2 at n = 13, channel 'text'"


def test_several_channels_need_a_choice():
    table = metadata(channels=("text", "answer"))
    assert audit_view(table, "S0", 13, "answer").name == "S0-n13-answer"
    assert len(audit_views(table)) == 16
    with pytest.raises(UsageError, match=r"several channels .answer, text.. Name one with --channel"):
        audit_view(table, "S0", 13)


def test_an_n_that_was_not_audited():
    with pytest.raises(UsageError, match=r"no n = 10 .* It holds n = 8, 13 for text"):
        audit_view(metadata(), "S0", 10)


def test_undecided_problems_stop_the_cut_or_are_set_aside():
    table = metadata([*ROWS, ("e", 0, True, None, None), ("f", 2, True, False, None)])
    with pytest.raises(UsageError, match=r"1 of 6 problems are undecided for S0 .* such as 'e'.*--undecided exclude"):
        audit_view(table, "S0", 13)
    s0 = audit_view(table, "S0", 13, undecided="exclude")
    s1 = audit_view(table, "S1", 13, undecided="exclude")
    assert (s0.ids, s0.undecided) == (("a", "d"), ("e",))
    assert (s1.ids, s1.undecided) == (("a", "b", "d"), ("e", "f"))


@pytest.mark.parametrize("rows", [ROWS, [*ROWS, ("e", 0, True, None, None)]])
def test_an_audit_folder_reads_as_written(tmp_path, rows):
    metadata(rows).astype({"in_S0": "boolean", "in_S1": "boolean"}).to_parquet(tmp_path / "metadata.parquet")
    (tmp_path / "audit.json").write_text(json.dumps({"status": "complete"}))
    table = read_metadata(str(tmp_path))
    assert audit_view(table, "S0", 13, undecided="exclude").ids == ("a", "d")


def test_unusable_audit_folders(tmp_path):
    with pytest.raises(NothingMatches, match=r"no metadata.parquet in this folder. Give --audit"):
        read_metadata(str(tmp_path))
    metadata().drop(columns="in_S1").to_parquet(tmp_path / "metadata.parquet")
    with pytest.raises(UsageError, match=r"expected the column.* in_S1; found problem_id"):
        read_metadata(str(tmp_path))
    (tmp_path / "audit.json").write_text(json.dumps({"status": "running"}))
    with pytest.raises(UsageError, match="still running"):
        read_metadata(str(tmp_path))


def test_licences_are_compared_exactly():
    records = pd.DataFrame({"problem_id": ["a", "b"], "record_license": ["CC-BY-4.0", "CC-BY-SA-4.0"]})
    assert licence_view("by", records, ["CC-BY-4.0"]).ids == ("a",)
    with pytest.raises(UsageError, match=r"no record has the licence 'cc-by-4.0'. Found .* CC-BY-4.0, CC-BY-SA-4.0"):
        licence_view("by", records, ["cc-by-4.0"])
    with pytest.raises(FieldNotFound, match=r"Did you mean 'record_license'\?.*--licence-field"):
        licence_view("by", records, ["x"], field="record_licence")


@pytest.mark.parametrize(
    ("value", "side"),
    [
        ("2023-03-07", "before"), ("2023-03-08", "after"), ("2023-03", "undecided"), ("2023-02", "before"),
        ("2022", "before"), ("2023", "undecided"), ("2303.01234", "undecided"), ("2302.01234v2", "before"),
        ("2304.01234", "after"), ("hep-th/9901001", "before"), ("cs.IT/0703123", "before"),
        (None, "undecided"),
    ],
)  # fmt: skip
def test_dates_before_and_after_a_snapshot(value, side):
    records = pd.DataFrame({"problem_id": ["a"], "date": [value]}, dtype=object)
    views = snapshot_views(records, "2023-03-07", "date")
    found = [name for name, ids in (("before", views.before.ids), ("after", views.after.ids)) if ids]
    assert found == ([] if side == "undecided" else [side])
    assert views.before.undecided == views.after.undecided == (("a",) if side == "undecided" else ())


def test_a_date_that_is_none():
    records = pd.DataFrame({"problem_id": ["a"], "date": ["spring"]})
    with pytest.raises(UsageError, match=r"problem 'a': expected a date .* found 'spring'.*--date-field"):
        snapshot_views(records, "2023-03-07", "date")


def test_views_are_written_with_checksums(tmp_path):
    records = [{"problem_id": name, "text": f"é{name}", "options": None} for name in "cba"]
    views = [View("S0", ("a", "b"), "r", ("all",), ("z",)), listed_view("public", ["c"], "ids.json")]
    manifest = write_views(views, str(tmp_path / "out"), records)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == manifest
    entry = manifest["views"][0]
    assert (entry["problems"], entry["undecided"], entry["parents"], entry["rule"]) == (2, 1, ["all"], "r")
    for view in manifest["views"]:
        for file in view["files"]:
            content = (tmp_path / "out" / file["path"]).read_bytes()
            assert file["sha256"] == hashlib.sha256(content).hexdigest()
            assert file["bytes"] == len(content)
    lines = (tmp_path / "out" / "S0.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [records[1], records[2]]
    assert json.loads((tmp_path / "out" / "S0.ids.json").read_text()) == ["a", "b"]


def test_views_that_cannot_be_written(tmp_path):
    with pytest.raises(UsageError, match="two views are called 'v'"):
        write_views([View("v", (), "x"), View("v", (), "y")], str(tmp_path))
    with pytest.raises(UsageError, match=r"view 'v': 1 problem.* have no benchmark record, such as 'q'"):
        write_views([View("v", ("q",), "x")], str(tmp_path), [{"problem_id": "a"}])
    assert not (tmp_path / "manifest.json").exists()

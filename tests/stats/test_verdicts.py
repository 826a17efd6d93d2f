from __future__ import annotations

import json

import pandas as pd
import pytest

from wmbxl.errors import FieldNotFound, NothingMatches, UsageError, VerdictError
from wmbxl.stats.verdicts import read_verdicts, verdicts_from_frame

RECORDS = [
    {"model": "z", "problem_id": "p2", "is_correct": True, "type": "MCQ"},
    {"model": "z", "problem_id": "p1", "is_correct": None, "type": "fill"},
    {"model": "a", "problem_id": "p2", "is_correct": 0, "type": "MCQ"},
    {"model": "a", "problem_id": "p3", "is_correct": 1, "type": "MCQ"},
]


def written(folder, form):
    frame = pd.DataFrame(RECORDS, dtype=object)
    path = folder / f"verdicts.{form}"
    if form == "jsonl":
        path.write_text("\n".join(json.dumps(record) for record in RECORDS) + "\n\n")
    elif form == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.astype({"is_correct": float}).to_parquet(path)
    return str(path)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_every_format_reads_the_same(tmp_path, form):
    found = read_verdicts(written(tmp_path, form), ["type"])
    verdicts = found.verdicts
    assert verdicts.ids == ("p1", "p2", "p3")
    assert verdicts.models == ("z", "a")
    assert verdicts.correct.tolist() == [[False, False], [True, False], [False, True]]
    assert verdicts.observed.tolist() == [[False, False], [True, True], [False, True]]
    assert verdicts.items["type"].tolist() == ["fill", "MCQ", "MCQ"]
    assert found.missing.to_dict("records") == [
        {"model": "z", "null": 1, "absent": 1},
        {"model": "a", "null": 0, "absent": 1},
    ]


def test_missing_verdicts_are_told_and_not_counted_as_wrong(tmp_path):
    found = read_verdicts(written(tmp_path, "jsonl"))
    assert found.remarks() == [
        "z: 1 verdict(s) are null and 1 problem(s) have none, of 3; they are left out, not counted as wrong.",
        "a: 0 verdict(s) are null and 1 problem(s) have none, of 3; they are left out, not counted as wrong.",
    ]
    assert found.verdicts.counts().to_dict("records") == [
        {"model": "z", "items": 3, "verdicts": 1, "missing": 2, "correct": 1},
        {"model": "a", "items": 3, "verdicts": 2, "missing": 1, "correct": 1},
    ]


def test_repetitions_are_dropped_and_counted():
    found = verdicts_from_frame(pd.DataFrame([*RECORDS, RECORDS[0], RECORDS[1]], dtype=object))
    assert (found.rows, found.repeated) == (6, 2)
    assert found.remarks()[0] == "2 record(s) repeat an earlier one and were dropped."


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"model": "z", "problem_id": "p2", "is_correct": False}, "record 5: another verdict of 'z' on 'p2'"),
        ({"model": "z", "problem_id": "p2", "is_correct": None}, "record 5: another verdict of 'z' on 'p2'"),
        (
            {"model": "z", "problem_id": "p9", "is_correct": "maybe"},
            "record 5: expected is_correct .* found 'maybe'",
        ),
        ({"model": None, "problem_id": "p9", "is_correct": 1}, "record 5: no model"),
    ],
)
def test_unusable_records_are_refused(record, message):
    with pytest.raises(VerdictError, match=message):
        verdicts_from_frame(pd.DataFrame([*RECORDS, record], dtype=object))


def test_a_problem_has_one_description():
    other = {"model": "a", "problem_id": "p1", "is_correct": 1, "type": "MCQ"}
    with pytest.raises(VerdictError, match="problem 'p1': its records give different type"):
        verdicts_from_frame(pd.DataFrame([*RECORDS, other], dtype=object), ["type"])


def test_an_absent_column_is_named():
    with pytest.raises(FieldNotFound, match=r"'is_correct'. Did you mean 'correct'\?"):
        verdicts_from_frame(pd.DataFrame({"model": [], "problem_id": [], "correct": []}))


def test_columns_come_from_the_benchmark():
    verdicts = verdicts_from_frame(pd.DataFrame(RECORDS, dtype=object)).verdicts
    records = pd.DataFrame({"problem_id": ["p3", "p1", "p0"], "paper_id": [7, 8, 9]}, dtype=object)
    described = verdicts.describe(records, ["paper_id"], "--cluster")
    assert described.items["paper_id"].tolist()[::2] == [8, 7]
    with pytest.raises(UsageError, match=r"1 problem.* have no paper_id, such as 'p2'"):
        described.clustered_by("paper_id")
    with pytest.raises(FieldNotFound, match="--cluster"):
        verdicts.describe(records, ["paper"], "--cluster")


def test_a_broken_line_is_named(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    path.write_text('{"model": "m"}\n{"model": \n[1]\n')
    with pytest.raises(UsageError, match="line 2: not JSON") as caught:
        read_verdicts(str(path))
    assert "line 3: expected an object, found list" in str(caught.value)


def test_no_such_file(tmp_path):
    with pytest.raises(NothingMatches, match="--verdicts"):
        read_verdicts(str(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match=r"expected a .jsonl, .csv or .parquet file"):
        read_verdicts(str(tmp_path / "verdicts.txt"))

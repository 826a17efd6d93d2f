"""Problems in, and every bad record at once."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests import tools
from tests.tools import BOM, COMPRESS, arrow, parquet
from wmbxl import read_benchmark
from wmbxl.benchmark import Benchmark
from wmbxl.errors import BenchmarkError, FieldNotFound, NothingMatches, UsageError

ROWS = [{"problem_id": "p é", "text": "Let $x$\nbe"}, {"problem_id": "q", "text": 'é, "so"'}]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
CSV = b'problem_id,text\np \xc3\xa9,"Let $x$\nbe"\nq,"\xc3\xa9, ""so"""\n'
TABLE = tools.table([row["text"] for row in ROWS], problem_id=[row["problem_id"] for row in ROWS])


def write(path: Path, rows: list[Any]) -> str:
    path.write_bytes(b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows))
    return str(path)


def surfaces(benchmark: Benchmark) -> list[dict[str, str]]:
    return [dict(problem.surfaces) for problem in benchmark.problems]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", LINES),
        ("a", LINES.rstrip()),
        ("a.jsonl", BOM + LINES.replace(b"\n", b"\r\n\r\n")),
        *((f"a.jsonl.{codec}", compress(LINES)) for codec, compress in COMPRESS.items()),
        ("a.json", json.dumps(ROWS).encode()),
        ("a.json", BOM + json.dumps(ROWS, indent=2).encode()),
        ("a.parquet", parquet(TABLE)),
        ("a.arrow", arrow(TABLE)),
        ("a.arrow", arrow(TABLE, stream=True)),
        ("a.csv", CSV),
        ("a.csv", BOM + CSV),
        ("a.csv.gz", COMPRESS["gz"](CSV)),
        ("a.tsv", CSV.replace(b"problem_id,", b"problem_id\t").replace(b',"', b'\t"')),
    ],
)
def test_formats(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    got = read_benchmark(str(tmp_path / name))
    assert got.ids == tuple(row["problem_id"] for row in ROWS)
    assert surfaces(got) == [{"prompt": row["text"]} for row in ROWS]
    assert (got.source, got.sha256) == (str(tmp_path / name), hashlib.sha256(data).hexdigest())
    assert got.channels == ("prompt",)
    assert len(got) == 2


def test_a_dataset_folder(tmp_path: Path) -> None:
    folder = tmp_path / "test"
    folder.mkdir()
    for i in (0, 1):
        (folder / f"data-{i}.arrow").write_bytes(arrow(TABLE.slice(i, 1), stream=True))
    for name in ("state.json", "dataset_info.json", "cache-1.arrow", ".hidden.arrow", "_x.arrow"):
        (folder / name).write_bytes(b"{}")
    assert read_benchmark(str(folder)).ids == ("p é", "q")
    (tmp_path / "train").mkdir()
    (tmp_path / "train/data.parquet").write_bytes(parquet(TABLE))
    with pytest.raises(UsageError, match="several splits") as error:
        read_benchmark(str(tmp_path))
    assert "train" in str(error.value)


def test_composition(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "q": {"background": "b", "text": "t", "mask": "m"}},
        {"id": 2, "q": {"background": "", "text": "t", "mask": None}},
    ]
    path = write(tmp_path / "a.jsonl", rows)
    got = read_benchmark(path, "id", ["q.background", "q.text", "q.mask"])
    assert surfaces(got) == [{"prompt": "b\n\nt\n\nm"}, {"prompt": "t"}]
    assert got.ids == ("1", "2")
    assert surfaces(read_benchmark(path, "id", ["q.text", "q.background"]))[0] == {"prompt": "t\n\nb"}


def test_the_answer_is_a_channel_of_its_own(tmp_path: Path) -> None:
    rows = [{"problem_id": str(i), "text": "t", "a": value} for i, value in enumerate(["x = 1", 42, None, ""])]
    got = read_benchmark(write(tmp_path / "a.jsonl", rows), answer_field="a")
    assert got.channels == ("prompt", "answer")
    assert [surface["answer"] for surface in surfaces(got)] == ["x = 1", "42", "", ""]


@pytest.mark.parametrize("number", ["1.10", "1e5", "12345678901234567890123", "0.1000"])
def test_numbers_are_taken_as_written(tmp_path: Path, number: str) -> None:
    row = f'{{"problem_id": 1, "text": "t", "a": {number}}}'.encode()
    got = read_benchmark(write(tmp_path / "a.jsonl", [row]), answer_field="a")
    assert surfaces(got)[0]["answer"] == number


def test_every_bad_record_is_shown_at_once(tmp_path: Path) -> None:
    rows: list[Any] = [
        {"problem_id": 1, "text": "good"},
        b"oops",
        b"",
        [1],
        {"text": "no id"},
        {"problem_id": 1, "text": "twice"},
        {"problem_id": "1", "text": "thrice"},
        {"problem_id": 2},
        {"problem_id": 3, "text": 5},
        {"problem_id": 4, "text": ["a"]},
        {"problem_id": 5, "text": " "},
        {"problem_id": 6, "text": None},
        {"problem_id": "", "text": "a"},
        {"problem_id": True, "text": "a"},
        {"problem_id": 1.5, "text": "a"},
        b'{"problem_id": 7, "text": 5, "x": NaN}',
        b"[" * 100_000,
    ]
    path = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(BenchmarkError) as error:
        read_benchmark(path)
    lines = [int(issue.removeprefix(f"{path} line ").split(":")[0]) for issue in error.value.issues]
    assert lines == [2, *range(4, 18)]
    for fragment, issue in zip(
        ["not JSON", "not an object", "'problem_id'", "duplicate", "line 1", "'text'", "number 5", "list", "empty",
         "empty", "''", "True", "1.5", "must be text", ""], error.value.issues, strict=True,
    ):  # fmt: skip
        assert fragment in issue
    assert "15 problem(s)" in str(error.value)


def test_a_long_list_of_bad_records_is_cut(tmp_path: Path) -> None:
    rows = [{"problem_id": i, "text": "" if i else "a"} for i in range(100)]
    with pytest.raises(BenchmarkError, match="and 79 more") as error:
        read_benchmark(write(tmp_path / "a.jsonl", rows))
    assert len(error.value.issues) == 99


@pytest.mark.parametrize("value", [True, [1], {"a": 1}])
def test_bad_answers(tmp_path: Path, value: Any) -> None:
    rows = [
        {"problem_id": 1, "text": "t", "a": "x"},
        {"problem_id": 2, "text": "t"},
        {"problem_id": 3, "text": "t", "a": value},
    ]
    path = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(BenchmarkError) as error:
        read_benchmark(path, answer_field="a")
    assert [issue.split(" line ")[1][0] for issue in error.value.issues] == ["2", "3"]


@pytest.mark.parametrize(
    ("options", "field", "option"),
    [
        ({}, "'text'", "--text-field"),
        ({"text_fields": ["txt"], "id_field": "problemid"}, "'problemid'", "--id-field"),
        ({"text_fields": ["txt", "m.x"]}, "'m.x'", "--text-field"),
        ({"text_fields": ["txt"], "answer_field": "ans"}, "'ans'", "--answer-field"),
    ],
)
def test_a_field_that_is_not_there(tmp_path: Path, options: dict[str, Any], field: str, option: str) -> None:
    path = write(tmp_path / "a.jsonl", [{"problem_id": 1, "txt": "a", "m": {"q": "x"}}])
    with pytest.raises(FieldNotFound) as error:
        read_benchmark(path, **options)
    for part in (field, option, "m, m.q, problem_id, txt"):
        assert part in str(error.value)


def test_the_nearest_name_is_suggested(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"problem_id": 1, "txt": "a"}])
    with pytest.raises(FieldNotFound, match="Did you mean 'txt'"):
        read_benchmark(path)


@pytest.mark.parametrize("data", [b"", b"\n \n", parquet(TABLE.slice(0, 0)), b"problem_id,text\n"])
def test_an_empty_benchmark(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / ("a.csv" if data.startswith(b"problem") else "a.jsonl")
    path.write_bytes(data)
    with pytest.raises(BenchmarkError, match="empty"):
        read_benchmark(str(path))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", b"PK\x03\x04"),
        ("a.jsonl.gz", COMPRESS["gz"](LINES)[:-5]),
        ("a.parquet", parquet(TABLE)[:-9]),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\n"),
        ("a.jsonl", b"<!DOCTYPE html>"),
        ("a.csv", b""),
        ("a.csv", b'a,b\n"1'),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError):
        read_benchmark(str(tmp_path / name))


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NothingMatches):
        read_benchmark(str(tmp_path / "none.jsonl"))
    with pytest.raises(NothingMatches):
        read_benchmark(str(tmp_path))
    with pytest.raises(UsageError, match="--text-field"):
        read_benchmark(str(tmp_path), text_fields=[])


def test_utf16(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES.decode().encode("utf-16"))
    assert len(read_benchmark(str(tmp_path / "a.jsonl"))) == 2


def test_ids_are_unique_once_they_are_clean(tmp_path: Path) -> None:
    rows = [{"problem_id": "\ud800", "text": "a"}, {"problem_id": "\ud801", "text": "b"}]
    with pytest.raises(BenchmarkError, match="duplicate"):
        read_benchmark(write(tmp_path / "a.jsonl", rows))


def test_published_benchmarks(shared: Path) -> None:
    got = read_benchmark(str(shared / "bench" / "combined.jsonl"))
    assert len(got) == len(set(got.ids)) == 2648

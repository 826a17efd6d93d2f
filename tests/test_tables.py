from __future__ import annotations

import gzip
import io
import json

import pandas as pd
import pytest

from wmbxl.errors import NothingMatches, UsageError
from wmbxl.tables import encode_table, read_ids, read_records, show, table_files, write_files

FRAME = pd.DataFrame({"view": ["S0_n13|x", "b"], "delta_pp": [-0.438, float("nan")], "n": [770, 3]})


def test_latex_and_markdown_are_for_reading():
    latex = encode_table(FRAME, "latex").decode()
    assert r"S0\_n13|x & -0.44 & 770 \\" in latex
    assert r"view & delta\_pp & n \\" in latex
    assert encode_table(FRAME, "markdown").decode().splitlines()[2:] == [
        r"| S0_n13\|x | -0.44 | 770 |",
        "| b |  | 3 |",
    ]


def test_csv_and_parquet_keep_every_digit():
    assert pd.read_csv(io.BytesIO(encode_table(FRAME, "csv"))).equals(FRAME)
    assert pd.read_parquet(io.BytesIO(encode_table(FRAME, "parquet"))).equals(FRAME)


def test_cells():
    assert [show(value) for value in (True, None, 1 / 3, 2e-4, 0.0, "x", ["a"])] == [
        "True", "", "0.33", "0.0002", "0.00", "x", "['a']",
    ]  # fmt: skip


def test_files_are_written_whole_and_made_where_needed(tmp_path):
    write_files(str(tmp_path / "a" / "b"), table_files({"t": FRAME}, ["csv", "markdown"]))
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["t.csv", "t.md"]


def test_compressed_records(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert read_records(str(path), "--benchmark") == [{"a": 1}]


@pytest.mark.parametrize(
    "content",
    [json.dumps(["b", "a"]), json.dumps({"seed": 0, "ids": ["b", "a"]}), json.dumps({"ids": ["b", "a"]})],
)
def test_id_lists(tmp_path, content):
    path = tmp_path / "ids.json"
    path.write_text(content)
    assert read_ids(str(path), "--view") == ("b", "a")


def test_id_lists_as_text_and_their_errors(tmp_path):
    text = tmp_path / "ids.txt"
    text.write_text("b\r\na\n\n")
    assert read_ids(str(text), "--view") == ("b", "a")
    text.write_text("b\na\nb\n")
    with pytest.raises(UsageError, match=r"1 id.* listed more than once, such as 'b'"):
        read_ids(str(text), "--view")
    (tmp_path / "ids.json").write_text('{"train": [], "test": []}')
    with pytest.raises(UsageError, match="expected a JSON list of problem ids"):
        read_ids(str(tmp_path / "ids.json"), "--view")
    with pytest.raises(NothingMatches, match="--view"):
        read_ids(str(tmp_path / "none.json"), "--view")

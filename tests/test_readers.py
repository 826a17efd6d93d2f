"""Files in, documents out, and an exact account of what could not be read."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import tools
from tests.tools import BOM, COMPRESS, arrow, jsonl, line, parquet, read, table
from wmbxl import Corpus, batches, readers, streams, tiers
from wmbxl.batches import Account
from wmbxl.errors import Unreadable
from wmbxl.records import GAPS, Skip, parse_json, record_text

A, B, C = line("a"), line("b"), line("c")


def counts(got: tools.Read) -> dict[str, int]:
    return dict(got.account.skipped)


@pytest.mark.usefixtures("either_tier")
@pytest.mark.parametrize(
    ("data", "texts", "rows", "skipped"),
    [
        (A + b"oops\n" + B, ["a", "b"], [0, 2], {"not_json": 1}),
        (A + b'{"text": "b"\n' + C, ["a", "c"], [0, 2], {"not_json": 1}),
        (A + b'{"text": "b', ["a"], [0], {"not_json": 1}),
        (A + b'[1]\n"x"\n5\nnull\n' + B, ["a", "b"], [0, 5], {"not_object": 4}),
        (A + b'{"text": "caf\xe9"}\n' + B, ["a", "caf\ufffd", "b"], [0, 1, 2], {"utf8_repaired": 1}),
        (A + b"\xff\xfe\n" + B, ["a", "b"], [0, 2], {"not_json": 1}),
        (A + b'{"other": 1}\n{"text": null}\n{"text": ""}\n', ["a", ""], [0, 3],
         {"text_missing": 1, "text_null": 1, "text_empty": 1}),
        (line(" \n"), [" \n"], [0], {"text_empty": 1}),
        (line(5) + line(1.5) + line(True) + line({"a": 1}) + line(["x"]) + A, ["a"], [5],
         {"text_number": 2, "text_boolean": 1, "text_object": 1, "text_list": 1}),
        (BOM + A + B, ["a", "b"], [0, 1], {}),
        (BOM + A + BOM + B, ["a", "b"], [0, 1], {}),
        (A.replace(b"\n", b"\r\n") + B.replace(b"\n", b"\r\n"), ["a", "b"], [0, 1], {}),
        (b"\n \n\t\r\n" + A + b"\n\n" + B + b"\n\n", ["a", "b"], [0, 1], {}),
        (A + B.rstrip(), ["a", "b"], [0, 1], {}),
        (b'{"text": "a\x00b"}\n', ["a\x00b"], [0], {}),
        (b'{"text": "a\\u0000b"}\n', ["a\x00b"], [0], {}),
        (b'{"text": "\\ud800"}\n', ["\ufffd"], [0], {}),
        (b'{"text": "a", "x": [NaN, Infinity]}\n', ["a"], [0], {}),
        (b'{"text": "a", "x": 1' + b"0" * 5000 + b"}\n", ["a"], [0], {}),
        (b'{"text": "a", "text": "b"}\n', ["b"], [0], {}),
        (b'{"text": "a", "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}\n" + B, ["b"], [1], {"too_nested": 1}),
        (b'{"a": ' * 1000 + b"1" + b"}" * 1000 + b"\n" + B, ["b"], [1], {"text_missing": 1}),
        (A + b"\x00" * 4096, ["a"], [0], {"not_json": 1}),
        (line("a\u2028\u0085\x0c").replace(b"\\u2028", "\u2028".encode()), ["a\u2028\u0085\x0c"], [0], {}),
        (b"", [], [], {}),
        (b"\n\n\n", [], [], {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("codec", ["plain", *COMPRESS])
def test_jsonl(
    tmp_path: Path, codec: str, data: bytes, texts: list[str], rows: list[int], skipped: dict[str, int]
) -> None:
    got = read(tmp_path / "a.jsonl", COMPRESS.get(codec, bytes)(data))
    assert (got.texts, got.rows, counts(got), got.reason) == (texts, rows, skipped, None)


def test_lists_joined_when_asked(tmp_path: Path) -> None:
    data = line(["a", "b"]) + line([]) + line(["a", 1])
    got = read(tmp_path / "a.jsonl", data, join_lists=True)
    assert (got.texts, counts(got)) == (["a\nb", ""], {"text_empty": 1, "text_list": 1})


@pytest.mark.usefixtures("either_tier")
def test_ids_and_nested_fields(tmp_path: Path) -> None:
    data = line("t", meta={"id": 7, "body": "x"}) + line("t", meta={"id": None, "body": "y"}) + line("t")
    got = read(tmp_path / "a.jsonl", data, text_field="meta.body", id_field="meta.id")
    assert (got.texts, got.ids, counts(got)) == (["x", "y"], ["7", None], {"text_missing": 1})
    assert {"text", "meta.id"} >= got.account.names  # of the record that lacks the field


@pytest.mark.usefixtures("either_tier")
def test_the_names_of_other_fields_are_kept(tmp_path: Path) -> None:
    got = read(tmp_path / "a.jsonl", b'{"raw_content": "a", "meta": {"url": 1}}\n')
    assert got.account.names == {"raw_content", "meta", "meta.url"}
    assert got.account.unread_bytes == 0


# ---------------------------------------------------------------- JSON arrays and printed objects

RECORDS = [{"text": text} for text in ["a", 'q"]}', "\\", "é\n", "x" * 300]]
PRINTED = "\n".join(json.dumps(record, indent=2) for record in RECORDS).encode()


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(RECORDS).encode(),
        json.dumps(RECORDS, separators=(",", ":")).encode() + b"\n",
        json.dumps(RECORDS, indent=2).encode(),
        b"[\n" + b",\n".join(json.dumps(record).encode() for record in RECORDS) + b"\n]\n",
        PRINTED,
        PRINTED.replace(b"\n", b"\r\n"),
        BOM + json.dumps(RECORDS).encode(),
        BOM + PRINTED,
        json.dumps(RECORDS).encode("utf-16"),
    ],
)
def test_arrays_and_printed_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    want = [record["text"] for record in RECORDS]
    assert read(tmp_path / "a.json", data).texts == want
    for step in (1, 2, 3, 5, 64):
        monkeypatch.setattr(streams.Source.read, "__defaults__", (step,))
        if step == 1:  # the head is told from the first read
            monkeypatch.setattr(streams, "BLOCK", step)
        got = read(tmp_path / "a.json", data)
        assert got.texts == want
        assert got.rows == list(range(len(want)))


def test_an_array_that_is_cut_short(tmp_path: Path) -> None:
    data = json.dumps(RECORDS).encode()[:-20]
    got = read(tmp_path / "a.json", data)
    assert (got.texts, counts(got)) == (["a", 'q"]}', "\\", "é\n"], {"not_json": 1})


def test_a_broken_item_between_good_ones(tmp_path: Path) -> None:
    got = read(tmp_path / "a.json", b'[{"text": "a"}, {"text": oops}, 5, {"text": "c"}]')
    assert (got.texts, got.rows, counts(got)) == (["a", "c"], [0, 3], {"not_json": 1, "not_object": 1})


# ---------------------------------------------------------------- encodings

WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("codec", ["plain", "gz"])
def test_wide_encodings(tmp_path: Path, encoding: str, codec: str) -> None:
    texts = ["é中😀", "Ā\u0a0d\u0d0a", "x" * 3000]  # code units that hold the bytes of a newline
    data = b"".join(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n" for text in texts)
    got = read(tmp_path / "a.jsonl", COMPRESS.get(codec, bytes)(data.decode().encode(encoding)))
    assert (got.texts, counts(got), got.reason) == (texts, {}, None)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_half_a_code_unit_is_told(tmp_path: Path, encoding: str) -> None:
    got = read(tmp_path / "a.jsonl", (A + B).decode().encode(encoding) + b"x")
    assert got.texts == ["a", "b"]
    assert got.reason == "corrupt"


def test_a_lone_surrogate_in_utf16(tmp_path: Path) -> None:
    got = read(tmp_path / "a.jsonl", '{"text": "a\ud800b"}'.encode("utf-16", "surrogatepass"))
    assert got.texts == ["a\ufffdb"]


# ---------------------------------------------------------------- one document


@pytest.mark.parametrize("name", ["a.txt", "a.tex", "A.MD", "a.txt.gz"])
def test_a_file_is_a_document(tmp_path: Path, name: str) -> None:
    data = b"\\section{A}\n\nText.\n"
    got = read(tmp_path / name, COMPRESS["gz"](data) if name.endswith("gz") else data)
    assert (got.texts, got.ids) == (["\\section{A}\n\nText.\n"], [name])


def test_a_document_with_a_mark_and_broken_bytes(tmp_path: Path) -> None:
    got = read(tmp_path / "a.txt", BOM + b"caf\xe9")
    assert (got.texts, counts(got)) == (["caf\ufffd"], {"utf8_repaired": 1})
    assert read(tmp_path / "b.txt", "héé".encode("utf-16")).texts == ["héé"]


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.jsonl", b"PK\x03\x04" + b"x" * 50, "refused_zip"),
        ("a.jsonl.gz", COMPRESS["gz"](b"\0" * 257 + b"ustar" + b"\0" * 250), "refused_tar"),
        ("a.warc.gz", COMPRESS["gz"](b"WARC/1.0\r\n"), "refused_warc"),
        ("a.txt", b"%PDF-1.7", "refused_pdf"),
        ("a.csv.zst", COMPRESS["zst"](b"text\na\n"), "refused_csv"),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\n", "lfs_pointer"),
        ("a.jsonl.gz", COMPRESS["gz"](b"<!DOCTYPE html>"), "html_page"),
        ("a.jsonl.gz", b"<!DOCTYPE html>", "html_page"),
        ("a.jsonl.gz", b"", "empty_file"),
        ("a.parquet", b"", "empty_file"),
        ("a.arrow", b"", "empty_file"),
        ("part-0", b"\x01\x02", "unknown_format"),
    ],
)  # fmt: skip
def test_refused_files(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    got = read(tmp_path / name, data)
    assert (got.reason, got.texts) == (reason, [])
    assert got.account.unread_bytes == max(1, len(data))
    assert name in str(got.account.fault)


# ---------------------------------------------------------------- columns

STORE: dict[str, Callable[[pa.Table], bytes]] = {
    "parquet": parquet,
    "arrow": arrow,
    "stream": lambda content: arrow(content, stream=True),
}
stores = pytest.mark.parametrize("store", list(STORE))


@pytest.mark.usefixtures("either_tier")
@stores
@pytest.mark.parametrize(
    "kind",
    [
        pa.string(), pa.large_string(), pa.binary(), pa.large_binary(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)  # fmt: skip
def test_kinds_of_strings(tmp_path: Path, store: str, kind: pa.DataType) -> None:
    column = pa.array(["a", None, "", "é中", "a"], pa.string())
    column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)
    got = read(tmp_path / "a", STORE[store](pa.table({"text": column})))
    assert (got.texts, got.rows) == (["a", "", "é中", "a"], [0, 2, 3, 4])
    assert counts(got) == {"text_null": 1, "text_empty": 1}


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()], ids=str)
def test_views_of_strings(tmp_path: Path, kind: pa.DataType) -> None:
    column = pa.array(["a", None, "é中"], pa.string()).cast(kind)
    assert read(tmp_path / "a", arrow(pa.table({"text": column}))).texts == ["a", "é中"]


@stores
@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([1, 2]), "text_number"),
        (pa.array([1.5, 2]), "text_number"),
        (pa.array([True, False]), "text_boolean"),
        (pa.array([["a"], ["b"]]), "text_list"),
        (pa.array([{"a": "b"}, {"a": "c"}]), "text_object"),
    ],
)
def test_columns_that_are_not_text(tmp_path: Path, store: str, column: pa.Array, reason: str) -> None:
    got = read(tmp_path / "a", STORE[store](pa.table({"text": column})))
    assert (got.texts, counts(got)) == ([], {reason: 2})


@stores
def test_ids_of_columns(tmp_path: Path, store: str) -> None:
    content = table(["a", None, "b"], id=[7, 8, None], meta=[{"id": "x"}, None, {"id": "z"}])  # type: ignore[list-item]
    path = tmp_path / "a"
    path.write_bytes(STORE[store](content))
    assert read(path, id_field="id").ids == ["7", None]
    assert read(path, id_field="meta.id").ids == ["x", "z"]
    assert read(path, id_field="none").ids == [None, None]
    assert read(path, text_field="meta.id", id_field="id").ids == ["7", None]


def test_ids_that_python_can_not_hold(tmp_path: Path) -> None:
    """Whatever stands in an id column, the texts beside it are read, and ids don't depend on their neighbours."""
    broken = pa.array([b"ok", b"\xff\xfe"], pa.binary())
    strings = pa.Array.from_buffers(pa.string(), 2, broken.buffers())
    late = pa.array([1, 2**62], pa.timestamp("us"))
    columns = [strings, broken, late, late.cast(pa.int64()), pa.array([[1], [2]]), strings.dictionary_encode()]
    ids = []
    for i, column in enumerate(columns):
        path = tmp_path / f"{i}.parquet"
        path.write_bytes(parquet(pa.table({"text": ["a b", "c d"], "id": column})))
        (shard,) = Corpus("c", str(path), id_field="id").shards()
        account = Account()
        (batch,) = readers.read(shard, account)
        assert (account.documents, account.fault) == (2, None)
        ids.append(batch.ids(range(2)))
    text = ["ok", "\ufffd\ufffd"]
    assert ids[:2] == [text, text]
    assert ids[2] == ["1970-01-01 00:00:00.000001", str(2**62)]
    assert ids[3:] == [["1", str(2**62)], [None, None], text]


@pytest.mark.parametrize("store", ["parquet", "arrow"])
def test_two_columns_of_one_name_are_a_fault(tmp_path: Path, store: str) -> None:
    content = pa.table([["a"], ["b"], ["c"]], names=["text", "text", "id"])
    data = parquet(content) if store == "parquet" else arrow(content)
    got = read(tmp_path / f"a.{store}", data)
    assert (got.texts, got.reason) == ([], "duplicate_columns")


@pytest.mark.parametrize("data", [b"[]", b"[]\n", b" [ ] ", b"\xef\xbb\xbf[]"])
def test_an_empty_array_has_no_records(tmp_path: Path, data: bytes) -> None:
    got = read(tmp_path / "a.json", data)
    assert (got.texts, got.reason, got.account.records, got.account.unread_bytes) == ([], None, 0, 0)


@stores
def test_a_dotted_name_of_a_column(tmp_path: Path, store: str) -> None:
    content = pa.table({"a.b": ["x"], "a": [{"b": "y"}]})
    assert read(tmp_path / "a", STORE[store](content), text_field="a.b").texts == ["x"]


@stores
def test_no_text_column(tmp_path: Path, store: str) -> None:
    content = pa.table({"raw": ["a", "b"], "meta": [{"url": "u"}, {"url": "v"}]})
    got = read(tmp_path / "a", STORE[store](content))
    assert (counts(got), got.account.names) == ({"text_missing": 2}, {"raw", "meta", "meta.url"})
    assert got.account.unread_bytes == 0


@stores
def test_no_rows(tmp_path: Path, store: str) -> None:
    got = read(tmp_path / "a", STORE[store](table([])))
    assert (got.texts, got.reason, got.account.records) == ([], None, 0)


@stores
def test_lists_of_columns_joined_when_asked(tmp_path: Path, store: str) -> None:
    content = pa.table({"text": [["a", "b"], [], None]})
    got = read(tmp_path / "a", STORE[store](content), join_lists=True)
    assert (got.texts, counts(got)) == (["a\nb", ""], {"text_null": 1, "text_empty": 1})


@pytest.mark.usefixtures("either_tier")
@stores
def test_binary_that_is_not_utf8(tmp_path: Path, store: str) -> None:
    content = pa.table({"text": pa.array([b"a", b"caf\xe9", b"\xed\xa0\x80"], pa.binary())})
    got = read(tmp_path / "a", STORE[store](content))
    assert got.texts[:2] == ["a", "caf\ufffd"]
    assert counts(got) == {"utf8_repaired": 2}


@stores
@pytest.mark.parametrize("part", [0.1, 0.5, 0.97])
def test_truncated_columns(tmp_path: Path, store: str, part: float) -> None:
    texts = tools.bulk(300, 20)
    content = table(texts)
    data = arrow(content, 50, stream=True) if store == "stream" else STORE[store](content)
    got = read(tmp_path / "a", data[: int(len(data) * part)])
    assert got.reason in ("corrupt", "truncated")
    assert got.texts == texts[: len(got.texts)]
    assert bool(got.texts) == (store == "stream" and part > 0.1)


@pytest.mark.parametrize("stream", [False, True])
def test_broken_offsets_do_not_crash(tmp_path: Path, stream: bool) -> None:
    """In a process of its own, since a crash can't be caught."""
    data = arrow(table(["a", "b", "c"], id=["xx", "yy", "zz"]), stream=stream)
    offsets = struct.pack("<4i", 0, 2, 4, 6)
    assert data.count(offsets) == 1
    (tmp_path / "a.arrow").write_bytes(data.replace(offsets, struct.pack("<4i", 0, 2, 2**30, 2**31 - 1)))
    code = f"from tests import tools; print(tools.read({str(tmp_path / 'a.arrow')!r}, id_field='id').reason)"
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "corrupt\n")


def test_a_stream_cut_between_batches_is_not_whole(tmp_path: Path) -> None:
    texts = tools.bulk(100, 5)
    data = arrow(table(texts), 10, stream=True)
    cut = data.rindex(b"\xff\xff\xff\xff", 0, -8)  # the last batch
    for end in (cut, len(data) - 8):
        got = read(tmp_path / "a", data[:end])
        assert got.reason == "truncated"
        assert got.texts == texts[: 90 if end == cut else 100]


def test_broken_row_groups(tmp_path: Path) -> None:
    texts = tools.bulk(200, 20)
    data = bytearray(parquet(table(texts), row_group_size=20, compression="none", use_dictionary=False))
    at = data.index(texts[100].encode()) - 40
    data[at - 200 : at] = b"\xff" * 200
    got = read(tmp_path / "a", bytes(data))
    assert got.reason == "corrupt" or counts(got)
    assert got.texts == texts[: len(got.texts)]


@pytest.mark.parametrize("store", ["parquet", "arrow"])
def test_a_container_in_a_compressed_file_is_named(tmp_path: Path, store: str) -> None:
    got = read(tmp_path / "a.gz", COMPRESS["gz"](STORE[store](table(["a"]))))
    assert got.texts == ["a"] or "refused" in str(got.reason)


# ---------------------------------------------------------------- changes, faults


@pytest.mark.parametrize("data", [A + B, A, b"", line("x" * 1000)])
@pytest.mark.parametrize("when", ["before", "during"])
def test_a_file_that_changes(tmp_path: Path, data: bytes, when: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(["old"] * 10))
    (shard,) = Corpus("c", str(path)).shards()
    account = Account()

    def change() -> None:
        path.write_bytes(data)
        os.utime(path, (1, 1))

    if when == "before":
        change()
    for _ in readers.read(shard, account):
        if when == "during":
            change()
    assert account.fault is not None
    assert account.fault.reason in ("changed", "empty_file")
    assert account.unread_bytes == shard.size


def test_a_parquet_file_that_loses_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet(table(tools.bulk(200)), row_group_size=20))
    pieces = Corpus("c", str(path)).shards(4096)
    assert len(pieces) > 2
    path.write_bytes(parquet(table(["a"])))
    got = tools.read_shard(pieces[-1])
    assert got.reason in ("changed", "corrupt")
    assert got.account.unread_bytes == got.account.file_bytes > 0


def test_a_file_whose_size_is_not_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As of a web server that streams, but knows its version."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(A + B)

    def info(self: Any, path: str, **kwargs: Any) -> dict[str, Any]:
        return {"name": path, "size": None, "type": "file", "ETag": "v1"}

    monkeypatch.setattr(tools.Trouble, "info", info)
    (shard,) = Corpus("c", f"trouble://{path}").shards()
    got = tools.read_shard(shard)
    assert (shard.size, got.texts, got.reason) == (-1, ["a", "b"], None)
    assert got.account.file_bytes == len(A + B)


IN_PLACE = "reads inside Parquet and Arrow files are not retried"


@pytest.mark.parametrize("store", ["parquet", "arrow"])
@pytest.mark.parametrize("error", [OSError("reset"), RuntimeError("of a library")])
def test_a_passing_fault_inside_columns(
    tmp_path: Path, trouble: type[tools.Trouble], store: str, error: Exception
) -> None:
    texts = tools.bulk(5000)
    path = tmp_path / "a"
    path.write_bytes(STORE[store](table(texts)))
    (shard,) = Corpus("c", f"trouble://{path}").shards(1 << 40)
    trouble.fail(2, error, behind=2 << 20)  # only the reader of columns gets there
    assert tools.read_shard(shard).texts == texts


@pytest.mark.parametrize("store", ["parquet", "arrow"])
def test_a_lasting_fault_inside_columns(tmp_path: Path, trouble: type[tools.Trouble], store: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(STORE[store](table(tools.bulk(5000))))
    (shard,) = Corpus("c", f"trouble://{path}").shards(1 << 40)
    trouble.fail(1000, behind=2 << 20)
    got = tools.read_shard(shard)
    assert got.reason is not None
    assert got.account.unread_bytes > 0


def test_a_fault_of_a_library_inside_columns(tmp_path: Path, trouble: type[tools.Trouble]) -> None:
    path = tmp_path / "a"
    path.write_bytes(parquet(table(tools.bulk(5000))))
    (shard,) = Corpus("c", f"trouble://{path}").shards(1 << 40)
    trouble.fail(1000, RuntimeError("of a library"), behind=2 << 20)
    assert tools.read_shard(shard).reason is not None


# ---------------------------------------------------------------- accounts and batches

NOISE = st.sampled_from([A, b"\n", b"oops\n", b"[]\n", line(5), line(None), b'{"x": 1}\n', b'{"text": "\xff"}\n', BOM])


@pytest.mark.usefixtures("either_tier")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NOISE, max_size=20), st.sampled_from(["plain", *COMPRESS]), st.integers(0, 40))
def test_accounts_add_up(tmp_path: Path, parts: list[bytes], codec: str, cut: int) -> None:
    data = COMPRESS.get(codec, bytes)(b"".join(parts))
    data = data[: len(data) - cut]
    got = read(tmp_path / "a.jsonl", data)  # which checks the account
    assert got.account.file_bytes == len(data)


PIECES = st.sampled_from(
    ['"', "\\", '\\"', "\\n", "\\u00e9", "\\ud83d", "\\ude00", "\\u0000", "\\/", "\\x", "\\u12", "é", "中", "😀",
     "\x00", "\t", " ", "a", "{", "}", "[", "]", ",", ":", "1", "NaN", "null", '"text"', '"text": "b"', ", ", "\u2028"]
).map(str.encode) | st.sampled_from([b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xc0\x80"])  # fmt: skip


def slowly(data: bytes) -> tuple[str | None, str | None]:
    """Return the text of a record, or why it has none, by the tolerant parser alone."""
    try:
        return record_text(parse_json(data).value, "text", False), None
    except Skip as skip:
        return None, skip.reason


@pytest.mark.usefixtures("either_tier")
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.lists(PIECES, max_size=6), st.lists(PIECES, max_size=3)), min_size=1, max_size=6))
def test_the_fast_way_is_the_slow_way(tmp_path: Path, parts: list[tuple[list[bytes], list[bytes]]]) -> None:
    lines = [b'{"text": "' + b"".join(text) + b'"' + b"".join(rest) + b"}" for text, rest in parts]
    got = read(tmp_path / "a.jsonl", A + b"\n".join(lines))  # the first line tells the format
    want = [slowly(data) for data in [A, *lines]]
    assert got.rows == [row for row, (text, _) in enumerate(want) if text is not None]
    assert got.texts == [text for text, _ in want if text is not None]


@pytest.mark.parametrize(
    ("gaps", "decoded", "lost", "unread"),
    [(0, 0, 0, 0), (1, 1000, 0, 1), (500, 1000, 0, 50), (1000, 1000, 0, 100), (0, 0, 100, 100), (1, 10**9, 40, 41),
     (10, 10, 40, 100), (7, 0, 0, 0)],
)  # fmt: skip
def test_unread_bytes(gaps: int, decoded: int, lost: int, unread: int) -> None:
    account = Account(file_bytes=100, decoded=decoded)
    if gaps:
        account.skip("not_json", gaps)
    account.skip("text_null", 10**6)  # no gap
    if lost:
        account.fail(Unreadable("corrupt", ""), lost)
    assert account.unread_bytes == unread


@pytest.mark.usefixtures("either_tier")
def test_batches_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_BYTES", 1000)
    monkeypatch.setattr(batches, "BATCH_ROWS", 7)
    texts = ["x" * (i * 37 % 400) for i in range(300)]
    for name, data in {
        "a.jsonl": jsonl(texts), "a.parquet": parquet(table(texts)), "a.arrow": arrow(table(texts), stream=True)
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        (shard,) = Corpus("c", str(tmp_path / name)).shards(1 << 40)
        read_batches = list(readers.read(shard, Account()))
        assert [batch.text(doc) for batch in read_batches for doc in range(len(batch))] == texts
        assert np.concatenate([batch.rows for batch in read_batches]).tolist() == list(range(300))
        assert max(len(batch) for batch in read_batches) <= 7
        if name == "a.jsonl":
            assert max(int(batch.offsets[-1] - batch.offsets[0]) for batch in read_batches) < 1000 + 400


def test_no_reason_is_unknown() -> None:
    assert not set(tools.LEAVES_NO_DOCUMENT) - {*GAPS, "text_missing", "text_null"}


def test_a_process_begins_with_a_parser_and_goes_on_with_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"text {i} é\n" for i in range(2000)]
    data = jsonl(texts)
    monkeypatch.setattr(tiers.json, "bytes_left", len(data) // 2)
    monkeypatch.setattr(streams, "BLOCK", 1000)
    got = read(tmp_path / "a.jsonl", data)
    assert got.texts == texts
    assert got.rows == list(range(2000))
    assert tiers.json.bytes_left == 0

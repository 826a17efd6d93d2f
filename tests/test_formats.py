"""What a file is, told by its bytes first."""

import json

import pytest

from tests import tools
from wmbxl.errors import Unreadable
from wmbxl.formats import codec_of, detect, named_codec, named_records, named_text, stem

TABLE = tools.table(["a"])


@pytest.mark.parametrize("codec", list(tools.COMPRESS))
def test_compression_is_told_by_content(codec: str) -> None:
    assert codec_of(tools.COMPRESS[codec](b"{}")) == codec
    assert codec_of(b'{"text": "a"}') is None


def test_a_skippable_frame_is_zstd() -> None:
    assert codec_of(tools.skippable(b"x")) == "zst"


@pytest.mark.parametrize(
    ("url", "codec", "records", "text", "base"),
    [
        ("a.jsonl", None, True, False, "a.jsonl"),
        ("d/A.JSONL.GZ", "gz", True, False, "a.jsonl"),
        ("a.tex.zst", "zst", False, True, "a.tex"),
        ("a.md", None, False, True, "a.md"),
        ("https://h/a.parquet?token=x.gz", None, True, False, "a.parquet"),
        ("part-0000", None, False, False, "part-0000"),
        ("a.json.xz", "xz", True, False, "a.json"),
    ],
)
def test_names(url: str, codec: str | None, records: bool, text: bool, base: str) -> None:
    assert (named_codec(url), named_records(url), named_text(url), stem(url)) == (codec, records, text, base)


OBJECTS = [{"text": "a", "n": [1, {"b": 2}]}, {"text": "b"}]


@pytest.mark.parametrize(
    ("head", "url", "kind", "encoding"),
    [
        (b'{"text": "a"}\n{"text": "b"}', "a", "lines", "utf-8"),
        (b'\r\n \n{"text": "a"}\r\n', "a", "lines", "utf-8"),
        (tools.BOM + b'{"text": "a"}', "a", "lines", "utf-8"),
        (b'{"text": "' + b"a" * 70_000, "a", "lines", "utf-8"),
        (b'{"a": ' * 100_000, "a", "lines", "utf-8"),
        (b"null\n{}", "a.jsonl", "lines", "utf-8"),
        (b'oops\n{"text": "a"}', "a.jsonl", "lines", "utf-8"),
        (b'{"text": "bro\n{"text": "a"}', "a.jsonl", "lines", "utf-8"),
        (b'{"text": NaN}', "a", "lines", "utf-8"),
        (b'{"text": "a\x00b\tc"}', "a", "lines", "utf-8"),
        (b"", "a.jsonl", "lines", "utf-8"),
        (b"\n\n", "a.jsonl", "lines", "utf-8"),
        (json.dumps(OBJECTS).encode(), "a", "values", "utf-8"),
        (json.dumps(OBJECTS, indent=1).encode(), "a", "values", "utf-8"),
        (tools.BOM + json.dumps(OBJECTS, indent=1).encode(), "a", "values", "utf-8"),
        (b'[{"text": "' + b"a" * 70_000, "a.json", "values", "utf-8"),
        (json.dumps(OBJECTS[0], indent=1).encode(), "a", "values", "utf-8"),
        (b'{\n"text": "a"\n}\n{\n"text": "b"\n}', "a", "values", "utf-8"),
        (tools.parquet(TABLE), "a", "parquet", "utf-8"),
        (tools.arrow(TABLE), "a", "arrow_file", "utf-8"),
        (tools.arrow(TABLE, stream=True), "a", "arrow_stream", "utf-8"),
        (b"\\section{A}", "a.tex", "text", "utf-8"),
        (b"plain", "a.txt.gz", "text", "utf-8"),
        (b"<html>", "a.md", "text", "utf-8"),
        (b"[12] a reference", "a.txt", "text", "utf-8"),
        (b'{"text": "a"}\n{"text": "b"}', "a.txt", "lines", "utf-8"),
        ('{"text": "é"}'.encode("utf-16"), "a", "lines", "utf-16"),
        (b"\xfe\xff" + '{"text": "é"}'.encode("utf-16-be"), "a", "lines", "utf-16"),
        ('{"text": "é"}'.encode("utf-16-le"), "a", "lines", "utf-16-le"),
        ('{"text": "é"}'.encode("utf-16-be"), "a", "lines", "utf-16-be"),
        ('{"text": "é"}'.encode("utf-32"), "a", "lines", "utf-32"),
        ('{"text": "é"}'.encode("utf-32-le"), "a", "lines", "utf-32-le"),
        ('{"text": "é"}'.encode("utf-32-be"), "a", "lines", "utf-32-be"),
        (json.dumps(OBJECTS).encode("utf-16"), "a", "values", "utf-16"),
    ],
)
def test_detected(head: bytes, url: str, kind: str, encoding: str) -> None:
    found = detect(head, url)
    assert (found.kind, found.encoding) == (kind, encoding)
    assert found.cuttable == (kind == "lines" and encoding == "utf-8")


@pytest.mark.parametrize(
    ("head", "url"),
    [
        (b"[1]\nSomebody, Something, 1999.", "notes.txt"),
        (b"{}\nLet x be given", "a.tex"),
    ],
)
def test_a_document_that_begins_like_json_is_a_document(head: bytes, url: str) -> None:
    assert detect(head, url).kind == "text"


def test_a_broken_first_record_does_not_take_its_neighbours_along() -> None:
    """It ends like a line of a pretty-printed object, but inside a string."""
    assert detect(b'{"text": "see [\n{"text": "b"}\n{"text": "c"}\n', "a.jsonl").kind == "lines"


@pytest.mark.parametrize(
    ("head", "url", "kind"),
    [
        (b"ORCID a b c\n", "a.txt", "text"),
        (b"PARENTS: a b c\n\x0c\x1f", "a.tex", "text"),
        (b"y" * 256 + b"mustard\n", "a.md", "text"),
        (b'{"text": "' + b"y" * 246 + b' mustard"}\n', "a.jsonl", "lines"),
        ("\u3000\n".encode(), "a.txt", "text"),
        (b"\x1c", "a.tex", "text"),
        (b"\n", "a.txt", "text"),
    ],
)
def test_what_only_begins_like_another_format_is_read(head: bytes, url: str, kind: str) -> None:
    assert detect(head, url).kind == kind


@pytest.mark.parametrize(
    ("head", "url", "reason"),
    [
        (b"PK\x03\x04rest", "a.jsonl", "refused_zip"),
        (b"\0" * 257 + b"ustar\0" + b"00", "a.jsonl", "refused_tar"),
        (b"7z\xbc\xaf\x27\x1c", "a", "refused_7z"),
        (b"Rar!\x1a\x07", "a", "refused_rar"),
        (b"\x04\x22\x4d\x18", "a", "refused_lz4"),
        (b"\xff\x06\x00\x00sNaPpY", "a", "refused_snappy"),
        (b"\x1f\x9d", "a", "refused_compress"),
        (b"WARC/1.0\r\n", "a.jsonl", "refused_warc"),
        (b"%PDF-1.7", "a.txt", "refused_pdf"),
        (b"Obj\x01", "a", "refused_avro"),
        (b"ORC\x08\x03", "a", "refused_orc"),
        (b"PARE\x15\x00", "a.parquet", "refused_encrypted_parquet"),
        (b"\x89HDF\r\n\x1a\n", "a", "refused_hdf5"),
        (b"SQLite format 3\x00", "a", "refused_sqlite"),
        (b"\x93NUMPY", "a", "refused_numpy"),
        (b"text,b\n1,2\n", "a.csv", "refused_csv"),
        (b"text\tb\n", "a.tsv.gz", "refused_csv"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", "a.jsonl", "lfs_pointer"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a.parquet", "lfs_pointer"),
        (b"<!DOCTYPE html><html>", "a.jsonl", "html_page"),
        (b"\n  <HTML lang=en>", "a.parquet", "html_page"),
        (tools.BOM + b"<html>", "a.jsonl", "html_page"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied', "a.jsonl", "html_page"),
        (b"text,b\n1,2\n", "part-0000", "unknown_format"),
        (b"\x00\x01\x02\x03", "part-0000", "unknown_format"),
    ],
)
def test_refused_by_name(head: bytes, url: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        detect(head, url)
    assert caught.value.reason == reason
    assert str(caught.value).startswith(url)
    assert ": " in str(caught.value).removeprefix(f"{url}: ")  # what it is, then what to do

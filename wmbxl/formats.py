"""What a file is: told by its first bytes, and by its name only where bytes can't tell."""

from __future__ import annotations

import codecs
import json
import posixpath
import re
from dataclasses import dataclass
from typing import Literal

from wmbxl.errors import Unreadable

Codec = Literal["gz", "bz2", "xz", "zst"]
Kind = Literal["lines", "values", "parquet", "arrow_file", "arrow_stream", "text"]

HEAD = 1 << 16  # bytes looked at

_CODECS: tuple[tuple[re.Pattern[bytes], Codec], ...] = (
    (re.compile(rb"\x1f\x8b"), "gz"),
    (re.compile(rb"BZh[1-9]"), "bz2"),
    (re.compile(rb"\xfd7zXZ\x00"), "xz"),
    (re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), "zst"),
)
_SUFFIXES: dict[str, Codec] = {
    ".gz": "gz", ".gzip": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst", ".zstd": "zst",
}  # fmt: skip

_UNPACK = "unpack it and name the files inside"
_BINARY = rb"[\x00-\x08\x0e-\x1a]"  # no text has it: some formats begin with letters that a text may begin with
_REFUSED: tuple[tuple[str, re.Pattern[bytes], str, str], ...] = (
    ("zip", re.compile(rb"PK(\x03\x04|\x05\x06|\x07\x08)"), "a zip archive", _UNPACK),
    ("tar", re.compile(rb".{257}ustar(\x00|  \x00)", re.S), "a tar archive", _UNPACK),
    ("7z", re.compile(rb"7z\xbc\xaf\x27\x1c"), "a 7z archive", _UNPACK),
    ("rar", re.compile(rb"Rar!\x1a\x07"), "a rar archive", _UNPACK),
    ("lz4", re.compile(rb"\x04\x22\x4d\x18"), "lz4-compressed", "recompress it with zstd"),
    ("snappy", re.compile(rb"\xff\x06\x00\x00sNaPpY"), "snappy-compressed", "recompress it with zstd"),
    ("compress", re.compile(rb"\x1f\x9d"), "compressed with Unix compress", "recompress it with zstd"),
    ("warc", re.compile(rb"WARC/\d"), "a WARC archive", "extract its text into JSONL or Parquet first"),
    ("pdf", re.compile(rb"%PDF-"), "a PDF", "extract its text first"),
    ("avro", re.compile(rb"Obj\x01"), "Avro", "convert it to Parquet"),
    ("orc", re.compile(rb"ORC(?=.*" + _BINARY + rb")", re.S), "ORC", "convert it to Parquet"),
    ("encrypted_parquet", re.compile(rb"PARE(?=.*" + _BINARY + rb")", re.S), "encrypted Parquet", "decrypt it first"),
    ("hdf5", re.compile(rb"\x89HDF\r\n"), "HDF5", "convert it to Parquet"),
    ("sqlite", re.compile(rb"SQLite format 3\x00"), "an SQLite database", "export its text as JSONL"),
    ("numpy", re.compile(rb"\x93NUMPY"), "a NumPy array", "export its text as JSONL"),
)
_MARKUP = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype|html|head|body|\?xml|error)\b", re.I)
_LFS = re.compile(rb"version https://git-lfs\.github\.com/spec/")

_TEXT_SUFFIXES = (".txt", ".tex", ".md")
_TABLE_SUFFIXES = (".csv", ".tsv")
SIDE_FILES = ("dataset_info.json", "state.json", "dataset_dict.json", "dataset_infos.json")
_COLUMN_SUFFIXES = (".parquet", ".arrow", ".feather", ".ipc")
_RECORD_SUFFIXES = (".jsonl", ".ndjson", ".json", *_COLUMN_SUFFIXES)


def stem(url: str) -> str:
    """Return the file's name in lower case without its compression suffix."""
    name = _name(url)
    plain, suffix = posixpath.splitext(name)
    return plain if suffix in _SUFFIXES else name


def named_codec(url: str) -> Codec | None:
    """Return the compression that the file's name promises."""
    return _SUFFIXES.get(posixpath.splitext(_name(url))[1])


def _name(url: str) -> str:
    return posixpath.basename(url.split("?", maxsplit=1)[0]).lower()  # pathlib takes ten times as long


def named_records(url: str) -> bool:
    """Whether the name says that the file holds records."""
    return stem(url).endswith(_RECORD_SUFFIXES)


def named_columns(url: str) -> bool:
    """Whether the name says that the file is Parquet or Arrow, which are not read from their start."""
    return stem(url).endswith(_COLUMN_SUFFIXES)


def named_text(url: str) -> bool:
    """Whether the name says that the file is one document."""
    return stem(url).endswith(_TEXT_SUFFIXES)


def codec_of(head: bytes) -> Codec | None:
    """Return how the bytes are compressed, by their magic number."""
    return next((codec for magic, codec in _CODECS if magic.match(head)), None)


@dataclass(frozen=True)
class Format:
    """How a file's (decompressed) bytes are read.

    Parameters
    ----------
    kind : str
        ``lines`` (a JSON value a line), ``values`` (a JSON array, or values printed over several lines),
        ``parquet``, ``arrow_file``, ``arrow_stream`` or ``text`` (the file is one document).
    encoding : str
        Python's name of the text encoding.
    """

    kind: Kind
    encoding: str = "utf-8"

    @property
    def cuttable(self) -> bool:
        """Whether an uncompressed file can be cut at any newline."""
        return self.kind == "lines" and self.encoding == "utf-8"


def detect(head: bytes, url: str) -> Format:
    """Tell what (decompressed) bytes are.

    Parameters
    ----------
    head : bytes
        The first `HEAD` bytes, or all of a shorter file.
    url : str
        The file's name, which decides between one document and records where the bytes allow both.

    Raises
    ------
    Unreadable
        With a reason that starts with ``refused_`` for what wmbxl recognises and doesn't read, or
        ``lfs_pointer``, ``html_page``, ``unknown_format``.
    """
    if head.startswith(b"PAR1"):
        return Format("parquet")
    if head.startswith(b"ARROW1"):
        return Format("arrow_file")
    if head.startswith(b"\xff\xff\xff\xff") and len(head) > 8 and head[7] == 0:
        return Format("arrow_stream")
    _refuse(head, url)
    encoding = _encoding(head)
    text = _decode(head, encoding)
    if stem(url).endswith(_TABLE_SUFFIXES):
        raise Unreadable("refused_csv", f"{url}: CSV as a corpus is refused: convert it to JSONL or Parquet")
    kind = _json_kind(text)
    if named_text(url) and (kind != "lines" or text.lstrip()[:1] != "{" or text.lstrip()[:2] == "{}"):
        return Format("text", encoding)
    if kind is None and not named_records(url):
        raise Unreadable(
            "unknown_format",
            f"{url}: neither JSON, Parquet nor Arrow by content, and the name doesn't say that it is one document "
            "(.txt, .tex, .md): rename or convert it",
        )
    return Format(kind or "lines", encoding)


def _refuse(head: bytes, url: str) -> None:
    for reason, magic, what, remedy in _REFUSED:
        if magic.match(head):
            raise Unreadable(f"refused_{reason}", f"{url}: {what}, which is refused as a corpus: {remedy}")
    if _LFS.match(head):
        raise Unreadable("lfs_pointer", f"{url}: a Git LFS pointer, not the data: run  git lfs pull")
    if _MARKUP.match(head) and not named_text(url):
        raise Unreadable("html_page", f"{url}: an HTML or XML page (an error page?), not data: download it again")


def _encoding(head: bytes) -> str:
    for bom, encoding in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(bom):
            return encoding
    # JSON starts with two ASCII characters, so zeros show its width and order (RFC 4627, section 3).
    zeros = "".join("0" if byte == 0 else "x" for byte in head[:4])
    widths = {"000x": "utf-32-be", "x000": "utf-32-le", "0x0x": "utf-16-be", "x0x0": "utf-16-le"}
    return widths.get(zeros, "utf-8")


def _decode(head: bytes, encoding: str) -> str:
    return codecs.getincrementaldecoder(encoding)("replace").decode(head).lstrip("\ufeff")


def _json_kind(text: str) -> Kind | None:
    """Return ``lines`` or ``values`` for what looks like JSON, else None."""
    body = text.lstrip()
    if not body:
        return "lines"
    first, _, rest = body.partition("\n")
    try:
        value = json.loads(first, parse_int=str, strict=False)
    except RecursionError:
        return "lines"
    except ValueError:
        return _printed_kind(body, bool(rest))
    if isinstance(value, list):
        return "values" if not rest.strip() or any(isinstance(item, dict) for item in value) else "lines"
    return "lines" if isinstance(value, dict) else None


def _printed_kind(body: str, several_lines: bool) -> Kind | None:
    """Return the kind of a text whose first line is no JSON value: a value may go on, or the line is broken."""
    if not re.match(r"\[\s*(\Z|[\[{\"\]])|\{\s*(\Z|\"|\})", body):
        return None
    if body[0] == "[":
        return "values"
    try:
        json.JSONDecoder(parse_int=str, strict=False).raw_decode(body)
    except RecursionError:
        return "lines"
    except json.JSONDecodeError as error:
        # A value that is whole as far as the head goes was cut by the end of the head.
        cut = error.pos >= len(body.rstrip()) - 8 or error.msg.startswith("Unterminated string")
        if not cut:
            return "lines"
    return "values" if several_lines else "lines"

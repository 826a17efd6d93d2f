"""Every awkward file of the shared data comes out as its README and the project's table say."""

import csv
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import tools
from wmbxl import Corpus, ProbeIndex
from wmbxl.benchmark import Benchmark
from wmbxl.errors import NothingMatches
from wmbxl.scan import scan_piece


class Outcome(NamedTuple):
    documents: int
    status: str = "complete"
    reason: str | None = None
    skipped: dict[str, int] = {}  # noqa: RUF012


GAP = "incomplete"
OUTCOMES = {
    "all_null_type.parquet": Outcome(0, skipped={"text_null": 10}),
    "bad_line_in_middle.jsonl": Outcome(40, GAP, skipped={"not_json": 2}),
    "binary.parquet": Outcome(40),
    "blank_lines.jsonl": Outcome(40),
    "bom.jsonl": Outcome(40),
    "codec_brotli.parquet": Outcome(40),
    "codec_gzip.parquet": Outcome(40),
    "codec_none.parquet": Outcome(40),
    "codec_snappy.parquet": Outcome(40),
    "crlf.jsonl": Outcome(40),
    "docs.csv": Outcome(0, GAP, "refused_csv"),
    "docs.jsonl.bz2": Outcome(40),
    "docs.jsonl.xz": Outcome(40),
    "docs.jsonl.zip": Outcome(0, GAP, "refused_zip"),
    "empty.jsonl": Outcome(0, "empty"),
    "empty.jsonl.gz": Outcome(0, GAP, "empty_file"),
    "empty.jsonl.zst": Outcome(0, GAP, "empty_file"),
    "empty.parquet": Outcome(0, GAP, "empty_file"),
    "empty_member.jsonl.gz": Outcome(0),
    "escaped_ascii.jsonl": Outcome(20),
    "gz_concat_members.jsonl.gz": Outcome(40),
    "gz_named_jsonl.jsonl": Outcome(40),
    "gz_trailing_garbage.jsonl.gz": Outcome(40, GAP, "trailing_garbage"),
    "gz_truncated.jsonl.gz": Outcome(36, GAP, "truncated"),
    "int_text.parquet": Outcome(0, GAP, skipped={"text_number": 10}),
    "invalid_utf8.jsonl": Outcome(41, skipped={"utf8_repaired": 1}),
    "ipc_file_feather2.arrow": Outcome(40),
    "json_array.jsonl": Outcome(40),
    "large_string.parquet": Outcome(40),
    "lfs_pointer.jsonl": Outcome(0, GAP, "lfs_pointer"),
    "list_string.parquet": Outcome(0, GAP, skipped={"text_list": 40}),
    "list_text.jsonl": Outcome(0, GAP, skipped={"text_list": 40}),
    "mixed_types_text.jsonl": Outcome(43, GAP, skipped={
        "not_object": 4, "text_boolean": 1, "text_empty": 2, "text_list": 1, "text_missing": 1, "text_number": 2,
        "text_object": 1,
    }),
    "multilingual.jsonl": Outcome(20),
    "nested_text.jsonl": Outcome(0, skipped={"text_missing": 40}),
    "no_final_newline.jsonl": Outcome(40),
    "no_text_column.parquet": Outcome(0, skipped={"text_missing": 40}),
    "null_text.jsonl": Outcome(20, skipped={"text_null": 20}),
    "only_newlines.jsonl": Outcome(0),
    "plain_named_gz.jsonl.gz": Outcome(40),
    "pretty_printed.jsonl": Outcome(40),
    "raw_content_field.jsonl": Outcome(0, skipped={"text_missing": 40}),
    "truncated.parquet": Outcome(0, GAP, "corrupt"),
    "utf16be.jsonl": Outcome(40),
    "utf16le_bom.jsonl": Outcome(40),
    "v1_plain_no_stats.parquet": Outcome(40),
    "zero_row.parquet": Outcome(0),
    "zst_multiframe.jsonl.zst": Outcome(40),
    "zst_no_content_size.jsonl.zst": Outcome(40),
    "zst_truncated.jsonl.zst": Outcome(30, GAP, "truncated"),
    "dolma/formats__test.jsonl.gz": Outcome(0, skipped={"text_missing": 1}),
    "dolma/provided__documents__000.json.gz": Outcome(10),
}  # fmt: skip
FOLDERS = ("dirty_dir/", "hf_save_to_disk/")


@pytest.fixture(scope="module")
def odd(shared: Path) -> Path:
    return shared / "odd"


@pytest.fixture(scope="module")
def index() -> ProbeIndex:
    return ProbeIndex.build(Benchmark.from_surfaces({"p": "of the"}), [2])


def read(path: Path, **options: Any) -> list[tools.Read]:
    return [tools.read_shard(shard) for shard in Corpus("c", str(path), **options).shards()]


@pytest.mark.usefixtures("either_tier")
@pytest.mark.parametrize("name", OUTCOMES)
def test_a_file(odd: Path, index: ProbeIndex, name: str) -> None:
    want = OUTCOMES[name]
    (shard,) = Corpus("c", str(odd / name)).shards()
    scanned = scan_piece(shard, index)
    ledger, size = scanned.ledger, (odd / name).stat().st_size
    assert (ledger["documents"], ledger["status"], ledger["reason"]) == want[:3]
    assert dict(ledger["skipped"]) == want.skipped
    assert (ledger["unread_bytes"] > 0) == (want.status == GAP)
    assert ledger["unread_bytes"] <= max(1, size)
    assert ledger["file_bytes"] == size
    assert (ledger["error"] is None) == (want.reason is None)
    if ledger["error"]:
        assert name.rsplit("/", maxsplit=1)[-1] in ledger["error"]
    if want.reason in ("truncated", "trailing_garbage"):
        assert ledger["position"] is not None
    assert tools.read_shard(shard).account.documents == want.documents


def test_the_table_here_agrees_with_the_readme(odd: Path) -> None:
    with (odd / "README.tsv").open(encoding="utf-8", newline="") as file:
        promised = {row["file"]: row["good_documents"] for row in csv.DictReader(file, delimiter="\t")}
    assert set(OUTCOMES) == {name for name in promised if not name.startswith(FOLDERS)}
    for name, want in OUTCOMES.items():
        good = promised[name]
        if good == "refused by name":
            assert str(want.reason).startswith("refused_")
        elif good == "error":
            assert want.reason == "corrupt"
        elif good.startswith("<"):
            assert 0 < want.documents < int(good[1:])
        else:
            assert str(want.documents) in good.split(" (")[0].split(" without")[0].split(" or ")


@pytest.mark.usefixtures("either_tier")
def test_copies_of_one_text_are_alike(odd: Path) -> None:
    (plain,) = read(odd / "no_final_newline.jsonl")
    same = [name for name, want in OUTCOMES.items() if want == Outcome(40)]
    assert len(same) > 20
    for name in same:
        (got,) = read(odd / name)
        assert got.texts == plain.texts, name


@pytest.mark.usefixtures("either_tier")
def test_escapes_change_nothing(odd: Path) -> None:
    (escaped,), (plain,) = read(odd / "escaped_ascii.jsonl"), read(odd / "multilingual.jsonl")
    assert escaped.texts == plain.texts


@pytest.mark.parametrize("name", ["gz_truncated.jsonl.gz", "zst_truncated.jsonl.zst"])
def test_what_stands_before_the_cut_is_read(odd: Path, name: str) -> None:
    (plain,), (cut,) = read(odd / "no_final_newline.jsonl"), read(odd / name)
    assert cut.texts == plain.texts[: len(cut.texts)]
    assert cut.position == (odd / name).stat().st_size


@pytest.mark.parametrize("name", ["list_text.jsonl", "list_string.parquet"])
def test_lists_joined_when_asked(odd: Path, name: str) -> None:
    (got,) = read(odd / name, join_lists=True)
    assert (len(got.texts), got.account.unread_bytes) == (40, 0)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("nested_text.jsonl", "content.body.text"),
        ("raw_content_field.jsonl", "raw_content"),
        ("no_text_column.parquet", "raw_content"),
    ],
)
def test_texts_in_another_field(odd: Path, name: str, field: str) -> None:
    (without,) = read(odd / name)
    assert field in without.account.names  # what the error will suggest
    (got,) = read(odd / name, text_field=field)
    assert (len(got.texts), got.account.unread_bytes) == (40, 0)


def test_the_dirty_folder(odd: Path) -> None:
    listing = Corpus("c", str(odd / "dirty_dir")).listing
    kept = {Path(shard.url).relative_to(odd / "dirty_dir").as_posix() for shard in listing.shards}
    assert kept == {"SHARD.JSONL.GZ", "latex-00000.jsonl.zst", "sub dir/shard with spaces é 数据.jsonl"}
    left_out = {Path(item.url).name: item.reason for item in listing.left_out}
    assert left_out == {
        ".DS_Store": "hidden",
        "._latex-00000.jsonl.zst": "hidden",
        ".latex-00001.jsonl.zst.Xy12ab": "hidden",
        "README.md": "plain text beside records",
        "_SUCCESS": "marker",
        "latex-00002.jsonl.zst.part": "temporary",
        "part-00000.jsonl.crc": "temporary",
        "urls.txt": "plain text beside records",
    }
    assert [len(got.texts) for got in read(odd / "dirty_dir")] == [40, 40, 40]
    for pattern in ("*", "**", "*.jsonl*", "**/*.jsonl*", "*.JSONL.GZ"):
        listed = Corpus("c", str(odd / "dirty_dir" / pattern)).listing
        assert {shard.url for shard in listed.shards} <= {shard.url for shard in listing.shards}


@pytest.mark.parametrize("pattern", ["*.part", "_SUCCESS*", ".DS*", "*.nothing"])
def test_patterns_that_match_no_data(odd: Path, pattern: str) -> None:
    with pytest.raises(NothingMatches):
        Corpus("c", str(odd / "dirty_dir" / pattern)).shards()


def test_the_dataset_folder(odd: Path) -> None:
    listing = Corpus("c", str(odd / "hf_save_to_disk")).listing
    assert sorted(Path(item.url).name for item in listing.left_out) == ["dataset_info.json", "state.json"]
    (plain,) = read(odd / "no_final_newline.jsonl")
    assert [text for got in read(odd / "hf_save_to_disk") for text in got.texts] == plain.texts

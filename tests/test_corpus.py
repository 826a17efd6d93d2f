"""Which files belong to a corpus, and how they are cut."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import tools
from tests.tools import arrow, jsonl, line, parquet, table
from wmbxl import Corpus, corpus, streams
from wmbxl.errors import NothingMatches, Unreadable, UsageError
from wmbxl.types import Shard


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(line(name))


def listed(root: Path, urls: str | list[str]) -> list[str]:
    paths = [f"{root}/{url}" for url in ([urls] if isinstance(urls, str) else urls)]
    shards = Corpus("c", paths[0] if isinstance(urls, str) else paths).shards()
    return [Path(shard.url).relative_to(root).as_posix() for shard in shards]


def left_out(root: Path, url: str = "") -> dict[str, str]:
    items = Corpus("c", f"{root}/{url}").listing.left_out
    return {Path(item.url).relative_to(root).as_posix(): item.reason for item in items}


NAMES = ["a.jsonl", "b.jsonl.gz", "d/a.jsonl", "d/e/a.jsonl", "d/e/c.json", "sp ace/é 数.jsonl", "x[1].jsonl"]


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("a.jsonl", ["a.jsonl"]),
        ("*.jsonl", ["a.jsonl", "x[1].jsonl"]),
        ("?.jsonl", ["a.jsonl"]),
        ("[ab].jsonl*", ["a.jsonl", "b.jsonl.gz"]),
        ("[!a]*", ["b.jsonl.gz", "x[1].jsonl"]),
        ("x[1].jsonl", ["x[1].jsonl"]),  # a file of that very name
        ("**/*.jsonl", ["a.jsonl", "d/a.jsonl", "d/e/a.jsonl", "sp ace/é 数.jsonl", "x[1].jsonl"]),
        ("**/a.jsonl", ["a.jsonl", "d/a.jsonl", "d/e/a.jsonl"]),
        ("d/**", ["d/a.jsonl", "d/e/a.jsonl", "d/e/c.json"]),
        ("d/**/a.jsonl", ["d/a.jsonl", "d/e/a.jsonl"]),
        ("*/*.jsonl", ["d/a.jsonl", "sp ace/é 数.jsonl"]),
        ("sp ace/*数*", ["sp ace/é 数.jsonl"]),
        ("sp ace", ["sp ace/é 数.jsonl"]),
        ("d/", ["d/a.jsonl", "d/e/a.jsonl", "d/e/c.json"]),
        ("", sorted(NAMES)),
        (["d/e", "a.jsonl", "d/e/a.jsonl"], ["a.jsonl", "d/e/a.jsonl", "d/e/c.json"]),
    ],
)
def test_patterns_folders_and_lists(tmp_path: Path, url: Any, want: list[str]) -> None:
    put(tmp_path, *NAMES)
    assert listed(tmp_path, url) == want


@pytest.mark.parametrize("url", ["none.jsonl", "*.parquet", "none/", "**/*.txt", "d/*/x", "empty"])
def test_nothing_matches(tmp_path: Path, url: str) -> None:
    put(tmp_path, *NAMES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingMatches, match=r"corpus c: .*matches no file"):
        listed(tmp_path, url)
    with pytest.raises(NothingMatches):
        listed(tmp_path, ["a.jsonl", url])  # one good path doesn't hide a bad one


def test_no_path() -> None:
    with pytest.raises(NothingMatches, match="no path"):
        Corpus("c", []).shards()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".DS_Store", "hidden"),
        ("._a.jsonl", "hidden"),
        (".cache/a.jsonl", "hidden"),
        ("_SUCCESS", "marker"),
        ("_temporary/0/a.jsonl", "marker"),
        ("a.jsonl.part", "temporary"),
        ("a.jsonl.CRC", "temporary"),
        ("a.jsonl.tmp", "temporary"),
        ("a.jsonl~", "temporary"),
        ("state.json", "metadata of a dataset folder"),
        ("dataset_info.json", "metadata of a dataset folder"),
        ("cache-0123.arrow", "cache of a dataset folder"),
        ("README.md", "plain text beside records"),
        ("d/urls.txt", "plain text beside records"),
    ],
)
def test_left_out(tmp_path: Path, name: str, reason: str) -> None:
    put(tmp_path, "data.jsonl", name)
    assert listed(tmp_path, "") == ["data.jsonl"]
    assert left_out(tmp_path) == {name: reason}


def test_a_folder_of_documents(tmp_path: Path) -> None:
    put(tmp_path, "a.tex", "b.md", "c.txt", "_SUCCESS")
    assert listed(tmp_path, "") == ["a.tex", "b.md", "c.txt"]


def test_only_marker_files_is_nothing(tmp_path: Path) -> None:
    put(tmp_path, "_SUCCESS", "a.part")
    with pytest.raises(NothingMatches, match=r"2 left out, such as .*_SUCCESS: marker"):
        listed(tmp_path, "")


def test_a_hidden_folder_may_be_named(tmp_path: Path) -> None:
    put(tmp_path, ".cache/a.jsonl", "_x/b.jsonl")
    assert listed(tmp_path, ".cache") == [".cache/a.jsonl"]
    assert listed(tmp_path, "_x/*.jsonl") == ["_x/b.jsonl"]


# ---------------------------------------------------------------- links


@pytest.mark.parametrize("url", ["", "**/*.jsonl", "**"])
def test_a_loop_of_links_ends(tmp_path: Path, url: str) -> None:
    put(tmp_path, "d/a.jsonl", "d/e/b.jsonl")
    (tmp_path / "d/e/up").symlink_to("../..")
    (tmp_path / "d/self").symlink_to(".")
    assert listed(tmp_path, url) == ["d/a.jsonl", "d/e/b.jsonl"]


def test_two_names_of_one_file(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", "copy.jsonl")
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    (tmp_path / "link.jsonl").symlink_to("a.jsonl")
    assert listed(tmp_path, "") == ["a.jsonl", "copy.jsonl"]  # a copy counts, a link doesn't
    assert left_out(tmp_path) == {"link.jsonl": f"the same file as {tmp_path}/a.jsonl"}
    assert listed(tmp_path, "link.jsonl") == ["link.jsonl"]
    assert listed(tmp_path, ["link.jsonl", "a.jsonl", "a.jsonl"]) == ["a.jsonl"]


def test_a_linked_folder_is_entered(tmp_path: Path) -> None:
    put(tmp_path, "real/a.jsonl")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/link").symlink_to("../real")
    assert listed(tmp_path, "c") == ["c/link/a.jsonl"]
    got = tools.read(tmp_path / "c/link/a.jsonl")
    assert got.texts == ["real/a.jsonl"]


def test_links_as_a_model_hub_makes_them(tmp_path: Path) -> None:
    """The link is younger than the file it names; that is no change."""
    put(tmp_path, "blobs/0")
    os.utime(tmp_path / "blobs/0", (1, 1))
    (tmp_path / "snap").mkdir()
    (tmp_path / "snap/a.jsonl").symlink_to("../blobs/0")
    for url in ("snap", "snap/a.jsonl", "snap/*.jsonl"):
        (shard,) = Corpus("c", f"{tmp_path}/{url}").shards()
        assert tools.read_shard(shard).texts == ["blobs/0"]


def test_a_dangling_link_is_a_gap(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl")
    (tmp_path / "b.jsonl").symlink_to("none.jsonl")
    good, bad = Corpus("c", str(tmp_path)).shards()
    assert tools.read_shard(good).texts == ["a.jsonl"]
    assert tools.read_shard(bad).reason == "missing"


def test_the_name_of_a_linked_folder_does_not_depend_on_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a/x.jsonl")
    (tmp_path / "b").symlink_to("a")
    honest = os.walk

    def backwards(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for folder, folders, files in honest(*args, **kwargs):
            folders.sort(reverse=True)
            yield folder, folders, files

    monkeypatch.setattr(os, "walk", backwards)
    assert listed(tmp_path, "") == ["a/x.jsonl"]


def test_a_folder_that_can_not_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.jsonl", "locked/b.jsonl")
    honest = os.scandir

    def scandir(path: Any = ".") -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return honest(path)

    monkeypatch.setattr(os, "scandir", scandir)
    try:
        listing = Corpus("c", str(tmp_path)).listing
    except (UsageError, Unreadable) as error:
        assert "locked" in str(error)
    else:
        urls = [shard.url for shard in listing.shards] + [item.url for item in listing.left_out]
        assert any("locked" in url for url in urls)


# ---------------------------------------------------------------- remote


@pytest.fixture
def memory() -> Iterator[Any]:
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.store.clear()


@pytest.mark.parametrize(
    ("url", "want"),
    [("memory://c", 3), ("memory://c/*.jsonl", 1), ("memory://c/**/*.jsonl", 2), ("memory://c/d/b c.jsonl", 1)],
)
def test_in_memory(memory: Any, url: str, want: int) -> None:
    for name in ("/c/a.jsonl", "/c/d/b c.jsonl", "/c/p.parquet", "/c/_SUCCESS"):
        memory.pipe_file(name, parquet(table(["p"])) if name.endswith("parquet") else line(name))
    shards = Corpus("c", url).shards()
    assert len(shards) == want
    assert all(shard.url.startswith("memory://") and shard.size > 0 and shard.version for shard in shards)
    assert [len(tools.read_shard(shard).texts) for shard in shards] == [1] * want


def test_no_such_protocol() -> None:
    with pytest.raises(UsageError, match="nope"):
        Corpus("c", "nope://a.jsonl").shards()


@pytest.mark.parametrize(
    "options", [{"name": ""}, {"name": "a/b"}, {"role": "other"}, {"max_zstd_window": 9}, {"max_zstd_window": 32}]
)
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Corpus(**{"name": "c", "urls": "a", **options})


def test_secrets_stay_out_of_sight() -> None:
    made = Corpus("c", "memory://a", storage_options={"secret": "hush"})
    assert made.options.storage_options == {"secret": "hush"}
    assert "hush" not in repr(made) + repr(made.options)


# ---------------------------------------------------------------- cutting

LONG = [("x" * length) for length in (0, 1, 10_000, 3, 4096, 4095, 4097, 50, 20_000, 2, 8192, 1)]


def whole_and_pieces(path: Path, block: int) -> tuple[tools.Read, list[tools.Read]]:
    made = Corpus("c", str(path), id_field="id")
    (whole,) = made.shards(1 << 40)
    return tools.read_shard(whole), [tools.read_shard(piece) for piece in made.shards(block)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("block", [4096, 4097, 5000, 10_000, 30_000])
def test_cuts_of_lines(tmp_path: Path, ending: bytes, last: bool, block: int) -> None:
    data = b"".join(line(text, id=i).replace(b"\n", ending) for i, text in enumerate(LONG * 3))
    path = tmp_path / "a.jsonl"
    path.write_bytes(data if last else data.rstrip())
    whole, pieces = whole_and_pieces(path, block)
    assert len(pieces) == -(-path.stat().st_size // block) > 1
    assert [text for piece in pieces for text in piece.texts] == whole.texts == LONG * 3
    assert [i for piece in pieces for i in piece.ids] == [str(i) for i in range(len(whole.texts))]
    assert sum(piece.account.file_bytes for piece in pieces) == path.stat().st_size
    assert all(piece.rows == list(range(len(piece.rows))) for piece in pieces)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 12), max_size=20),
    st.sets(st.integers(1, 200)),
    st.booleans(),
    st.sampled_from([3, 1 << 20]),
)
def test_any_cut_covers_each_line_once(
    tmp_path: Path, lengths: list[int], cuts: set[int], newline: bool, step: int
) -> None:
    lines = [b"%d" % (i % 10) * length for i, length in enumerate(lengths)]
    data = b"\n".join(lines) + b"\n" * newline
    (tmp_path / "a").write_bytes(data)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    out: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", step)
        for start, stop in itertools.pairwise(bounds):
            source = streams.Source(str(tmp_path / "a"), {}, max(0, start - 1))
            got = b"".join(streams.owned_lines(source, start, stop))
            out.append(got)
            assert got == b"" or data[max(0, start - 1) : start] in (b"", b"\n") or got in data[start:]
    assert b"".join(out) == data
    starts = {0, *(i + 1 for i, byte in enumerate(data) if byte == 10)}
    at = 0
    for (start, stop), got in zip(itertools.pairwise(bounds), out, strict=True):
        if got:
            assert at in starts
            assert start <= at < stop
        at += len(got)


@pytest.mark.parametrize("block", [4096, 20_000, 100_000])
def test_cuts_of_row_groups(tmp_path: Path, block: int) -> None:
    texts = tools.bulk(300, 20)
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet(table(texts, id=list(range(300))), row_group_size=17))
    whole, pieces = whole_and_pieces(path, block)
    assert len(pieces) > 1 or block == 100_000
    assert [text for piece in pieces for text in piece.texts] == whole.texts == texts
    assert [i for piece in pieces for i in piece.ids] == [str(i) for i in range(300)]
    assert sum(piece.account.file_bytes for piece in pieces) == path.stat().st_size
    groups = [(piece.shard.start, piece.shard.stop) for piece in pieces]
    assert groups[0][0] == 0
    assert all(a[1] == b[0] for a, b in itertools.pairwise(groups))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl.gz", tools.COMPRESS["gz"](jsonl(tools.bulk(50)))),
        ("a.json", b"[" + b",".join(line(text).strip() for text in tools.bulk(50)) + b"]"),
        ("a.arrow", arrow(table(tools.bulk(50)))),
        ("a.txt", b"word\n" * 5000),
        ("a.jsonl", jsonl(tools.bulk(50)).decode().encode("utf-16")),
        ("one.parquet", parquet(table(tools.bulk(50)))),
        ("broken.parquet", parquet(table(tools.bulk(50)))[:-9]),
        ("a.zip", b"PK\x03\x04" + b"x" * 10_000),
    ],
)
def test_not_cut(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (shard,) = Corpus("c", str(tmp_path / name)).shards(4096)
    assert shard.whole
    assert str(shard) == shard.url


def test_the_smallest_block(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl")
    with pytest.raises(UsageError, match="4096"):
        Corpus("c", str(tmp_path)).shards(4095)


def test_a_piece_says_which(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl(LONG))
    first, *_, last = Corpus("c", str(tmp_path / "a.jsonl")).shards(8192)
    assert str(first).endswith("a.jsonl [bytes 0–8192]")
    assert (last.stop, last.size) == (first.size, first.size)
    assert not first.whole
    assert str(Shard("c", "u", 4, -1)) == "u [bytes 4–end]"


# ---------------------------------------------------------------- Dask


def test_a_bag_and_a_dataframe(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"".join(line(text, id=f"d{i}") for i, text in enumerate(LONG)))
    (tmp_path / "b.parquet").write_bytes(parquet(table(["p"])))
    made = Corpus("c", str(tmp_path), id_field="id")
    bag = made.to_bag(4096)
    assert bag.npartitions == len(made.shards(4096)) > 2
    rows = bag.compute(scheduler="sync")
    assert [row["text"] for row in rows] == [*LONG, "p"]
    assert [row["document_id"] for row in rows] == [*(f"d{i}" for i in range(len(LONG))), None]
    frame = made.to_dataframe(4096)
    assert frame.npartitions == bag.npartitions
    got = frame.compute(scheduler="sync")
    assert list(got.columns) == ["text", "shard", "row", "document_id"]
    assert dict(got.dtypes) == dict(frame.dtypes)
    assert got["text"].tolist() == [*LONG, "p"]
    assert got["row"].tolist() == [row["row"] for row in rows]
    assert set(got["shard"]) == {f"{tmp_path}/a.jsonl", f"{tmp_path}/b.parquet"}
    assert got["document_id"].isna().tolist() == [False] * len(LONG) + [True]


def test_exploring_does_not_hide_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(tools.COMPRESS["gz"](jsonl(["a"]))[:-4])
    with pytest.raises(Unreadable, match="ends in the middle"):
        Corpus("c", str(tmp_path)).to_bag().compute(scheduler="sync")


def test_listing_is_done_once(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl")
    made = Corpus("c", str(tmp_path))
    first = made.listing
    put(tmp_path, "b.jsonl")
    assert made.listing is first
    assert isinstance(first, corpus.Listing)

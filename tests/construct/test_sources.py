"""Sources: folders, patterns, buckets and outer tars; what the arXiv's metadata say of them."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path

import fsspec
import pytest

from tests.construct.archives import GOOD, metadata, tar
from wmbxl.construct.sources import list_sources, paper_id, read_metadata
from wmbxl.errors import NothingMatches, Unreadable


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2401/2401.00001.gz", "2401.00001"),
        ("2401.00001v3.tar.gz", "2401.00001v3"),
        ("0704.0001.pdf", "0704.0001"),
        ("math0101/math0101001.gz", "math/0101001"),
        ("cond-mat_9901001v2.gz", "cond-mat/9901001v2"),
        ("my.thesis.tex", "my.thesis"),
    ],
)
def test_ids_are_read_from_names(name: str, expected: str) -> None:
    assert paper_id(name) == expected


def test_outer_tars_are_opened_and_their_members_read(tmp_path: Path) -> None:
    inner = {"2401/2401.00001.gz": GOOD["2401.00001v1.gz"](), "2401/2401.00002.pdf": b"%PDF-1.4"}
    (tmp_path / "arXiv_src_2401_001.tar").write_bytes(tar(inner, mode="w"))
    (tmp_path / "arXiv_src_2401_002.tar").write_bytes(b"no tar")
    sources, drops = list_sources([str(tmp_path)], {})
    assert [source.paper_id for source in sources] == ["2401.00001", "2401.00002"]
    assert [source.read() for source in sources] == list(inner.values())
    assert sources[0].name == "arXiv_src_2401_001.tar!2401/2401.00001.gz"
    assert [drop.reason for drop in drops] == ["damaged"]


def test_buckets_and_patterns_are_listed_in_order_of_ids() -> None:
    bucket = fsspec.filesystem("memory")
    for name in ("b/2401.00003.gz", "b/2401.00001.gz", "b/more/2401.00002.gz", "b/again/2401.00001.gz"):
        bucket.pipe_file(f"/{name}", b"x")
    sources, drops = list_sources(["memory://b"], {})
    assert [source.paper_id for source in sources] == ["2401.00001", "2401.00002", "2401.00003"]
    assert [(drop.item, drop.reason) for drop in drops] == [("2401.00001", "listed_twice")]
    assert [source.paper_id for source in list_sources(["memory://b/*.gz"], {})[0]] == ["2401.00001", "2401.00003"]
    with pytest.raises(NothingMatches, match="correct sources in the config"):
        list_sources(["memory://nowhere"], {})


def test_a_file_that_is_gone_has_its_reason(tmp_path: Path) -> None:
    (tmp_path / "2401.00001.gz").write_bytes(b"x")
    [source], _ = list_sources([str(tmp_path)], {})
    (tmp_path / "2401.00001.gz").unlink()
    with pytest.raises(Unreadable) as caught:
        source.read()
    assert caught.value.reason == "missing"


@pytest.mark.parametrize("name", ["x" * 300 + ".gz", "con\n.gz", ".gz"])
def test_members_whose_names_no_file_can_have_are_dropped(tmp_path: Path, name: str) -> None:
    path = tmp_path / "arXiv_src_2401_001.tar"
    path.write_bytes(tar({name: "x", "2401.00009.gz": "x"}, mode="w"))
    sources, drops = list_sources([str(path)], {})
    assert [source.paper_id for source in sources] == ["2401.00009"]
    assert [drop.reason for drop in drops] == ["unusable_name"]


@pytest.mark.parametrize(
    "fields", [{"license": 5}, {"versions": 7}, {"versions": ["v1"]}, {"title": ["a"]}, {"categories": ["cs.IT"]}]
)
def test_metadata_of_another_kind_are_counted_and_not_used(tmp_path: Path, fields: dict[str, object]) -> None:
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps({"id": "2401.00001", **fields}) + "\n")
    found = read_metadata(str(path), ["2401.00001"], {})
    assert (found.records, found.bad_lines) == ({}, 1)


def test_metadata_are_read_for_the_papers_that_are_wanted(tmp_path: Path) -> None:
    path = metadata(["2401.00001", "2401.00009"], tmp_path / "metadata.json")
    compressed = tmp_path / "metadata.json.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes() + b"no json\n[]\n\n"))
    (tmp_path / "2401.00001.gz").write_bytes(b"x")
    (tmp_path / "unknown.tex").write_bytes(b"x")
    known, unknown = list_sources([str(tmp_path / "2401.00001.gz"), str(tmp_path / "unknown.tex")], {})[0]
    found = read_metadata(str(compressed), ["2401.00001v1", "unknown"], {})
    assert (list(found.records), found.bad_lines) == (["2401.00001"], 2)
    paper = found.paper(known, "hash")
    assert (paper.paper_id, paper.title, paper.submitted) == ("2401.00001v1", "Paper 2401.00001", date(2024, 1, 1))
    assert (paper.categories, paper.updated) == (("cs.IT", "math.IT"), date(2024, 2, 1))
    nothing = found.paper(unknown, "hash")
    assert (nothing.paper_id, nothing.title, nothing.submitted, nothing.license) == ("unknown", "", None, None)
    with pytest.raises(NothingMatches, match="correct metadata in the config"):
        read_metadata(str(tmp_path / "none.json"), [], {})

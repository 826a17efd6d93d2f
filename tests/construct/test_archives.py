"""Archives: every structure of the arXiv is unpacked, and whatever is unsafe or too large is refused with a reason."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from tests.construct.archives import BAD, GOOD, document, tar
from wmbxl.construct.archives import unpack
from wmbxl.construct.equations import Finding, find
from wmbxl.construct.flat import flatten
from wmbxl.construct.limits import Limits
from wmbxl.construct.tree import SourceTree
from wmbxl.errors import Unreadable

pytest.importorskip("pylatexenc", reason="needs the extra construct: pip install 'wmbxl[construct]'")

SMALL = Limits(members=50, file_bytes=1_500_000, unpacked_bytes=10_000_000, characters=1_000_000, expansions=50_000)


@pytest.mark.parametrize("name", GOOD)
def test_every_structure_gives_its_equations(name: str) -> None:
    files = unpack(GOOD[name](), SMALL)
    flat = flatten(SourceTree(files), SMALL)
    equations, _ = find(flat, name, Finding())
    assert [equation.latex for equation in equations][:2] == [
        r"y = \mathbf{h}^{H} \mathbf{w} s + n",
        r"\gamma = \frac{P |\mathbf{h}^{H} \mathbf{w}|^2}{\sigma^2}",
    ]
    assert equations[0].label == "eq:rx"
    for equation in equations:  # the span is what the authors wrote, and it is where it says
        assert SourceTree(files).text(equation.span.file)[equation.span.start : equation.span.end] == equation.span.text


@pytest.mark.parametrize("name", BAD)
def test_every_bad_archive_has_its_reason(name: str) -> None:
    make, reason = BAD[name]
    with pytest.raises(Unreadable) as caught:
        flatten(SourceTree(unpack(make(), SMALL)), SMALL)
    assert caught.value.reason == reason


def test_fifty_megabytes_end_within_the_limits_memory() -> None:
    """Neither a large TeX file nor a bomb of a figure is ever held whole."""
    large = tar({"main.tex": document("word " * 10_000_000)})
    with pytest.raises(Unreadable, match=r"limits\.file_bytes") as caught:
        unpack(large, Limits())
    assert caught.value.reason == "file_too_large"
    with pytest.raises(Unreadable, match=r"limits\.archive_bytes"):
        unpack(large, Limits(archive_bytes=len(large) - 1))


def test_figures_are_skipped_and_odd_suffixes_are_read() -> None:
    files = unpack(
        tar({"main.tex": document("x"), "macros.mac": r"\def\a{b}", "fig.eps": "%!PS", "b.dat": b"\0"}), SMALL
    )
    assert sorted(files) == ["macros.mac", "main.tex"]


def test_a_header_that_lies_about_its_size_is_damaged() -> None:
    info = tarfile.TarInfo("main.tex")
    info.size = 10_000
    with pytest.raises(Unreadable) as caught:
        unpack(gzip.compress(info.tobuf() + b"short"), SMALL)
    assert caught.value.reason == "damaged"


def test_a_sparse_member_is_refused() -> None:
    info = tarfile.TarInfo("main.tex")
    info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.size": str(10**15), "GNU.sparse.map": "0,0"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    with pytest.raises(Unreadable) as caught:
        unpack(buffer.getvalue(), SMALL)
    assert caught.value.reason == "sparse"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_read(encoding: str) -> None:
    text = document("Schrödinger", "\\usepackage[latin1]{inputenc}" if encoding == "latin-1" else "")
    tree = SourceTree({"main.tex": text.encode(encoding)})
    assert "Schrödinger" in tree.text("main.tex")
    assert not tree.guessed


def test_an_encoding_that_nobody_declares_is_noted() -> None:
    tree = SourceTree({"main.tex": document("Schrödinger").encode("latin-1")})
    assert "Schrödinger" in flatten(tree, SMALL).text
    assert tree.guessed == {"main.tex"}

"""An arXiv source archive, unpacked in memory; whatever is unsafe in it is refused."""

from __future__ import annotations

import gzip
import io
import posixpath
import tarfile
import zlib
from collections.abc import Iterator

from wmbxl.construct.limits import Limits
from wmbxl.errors import Unreadable

TEX = (".tex", ".ltx", ".latex")

# Files that TeX doesn't read as text, or that hold nothing but a figure or fonts.
_NO_SOURCE = (
    ".pdf", ".ps", ".eps", ".epsi", ".epsf", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pgf", ".bib", ".bst", ".pfb",
    ".ttf", ".otf", ".zip", ".gz", ".csv", ".dat", ".mp4", ".avi", ".html", ".py", ".ipynb", ".json", ".xml",
)  # fmt: skip
_GZIP, _PDF, _PS = b"\x1f\x8b", b"%PDF", b"%!PS"
_SNIFFED = 1024
LONGEST_NAME = 4096  # characters, as file systems have it
_SINGLE = "main.tex"  # what a source without an archive around it is called


def unpack(data: bytes, limits: Limits) -> dict[str, bytes]:
    r"""Return the text files of a source by their path.

    Parameters
    ----------
    data : bytes
        As arXiv serves it: a tar, gzipped or not; one TeX file, gzipped or not; or no LaTeX at all.
    limits : Limits

    Raises
    ------
    Unreadable
        With the reason: ``pdf_only``, ``postscript_only``, ``withdrawn``, ``not_tex``, ``damaged``, ``empty``; for an
        unsafe archive ``path_traversal``, ``link``, ``device``, ``sparse``, ``name_too_long``; beyond a limit
        ``archive_too_large``, ``unpacked_too_large``, ``too_many_members``, ``file_too_large``.

    Examples
    --------
    >>> unpack(gzip.compress(rb"\documentclass{article}"), Limits())
    {'main.tex': b'\\documentclass{article}'}
    >>> unpack(b"%PDF-1.7 ...", Limits())
    Traceback (most recent call last):
      ...
    wmbxl.errors.Unreadable: a PDF, no LaTeX source
    """
    if len(data) > limits.archive_bytes:
        raise Unreadable(
            "archive_too_large", f"{len(data)} bytes, more than {limits.archive_bytes} (limits.archive_bytes)"
        )
    try:
        with gzip.open(io.BytesIO(data)) if data.startswith(_GZIP) else io.BytesIO(data) as stream:
            return _unpack(_Limited(stream, limits.unpacked_bytes), limits)
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, ValueError) as error:
        raise Unreadable("damaged", f"{type(error).__name__}: {error}") from error


class _Limited(io.RawIOBase):
    """A stream that ends with an error where it grows too large, and that can be looked into."""

    def __init__(self, stream: gzip.GzipFile | io.BytesIO, most: int) -> None:
        self._stream, self._most, self._read, self._ahead = stream, most, 0, b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        self._ahead += self._stream.read(max(0, size - len(self._ahead)))
        return self._ahead[:size]

    def read(self, size: int = -1) -> bytes:
        size = self._most + 1 - self._read if size < 0 else size
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        taken += self._stream.read(size - len(taken))
        self._read += len(taken)
        if self._read > self._most:
            raise Unreadable("unpacked_too_large", f"more than {self._most} bytes unpacked (limits.unpacked_bytes)")
        return taken


def _unpack(stream: _Limited, limits: Limits) -> dict[str, bytes]:
    head = stream.peek(_SNIFFED)
    if not head:
        raise Unreadable("empty", "an empty file")
    if head.startswith(_PDF):
        raise Unreadable("pdf_only", "a PDF, no LaTeX source")
    if head.startswith(_PS):
        raise Unreadable("postscript_only", "PostScript, no LaTeX source")
    if head[257:262] == b"ustar":
        files = dict(_members(stream, limits))
    else:
        files = {_SINGLE: _bounded(stream.read(limits.file_bytes + 1), _SINGLE, limits)}
        if b"\0" in files[_SINGLE][:_SNIFFED] and not files[_SINGLE].startswith((b"\xff\xfe", b"\xfe\xff")):
            raise Unreadable("not_tex", "neither a tar nor text")
    if not files:
        raise Unreadable("not_tex", "the archive holds no text that TeX would read")
    if len(files) == 1 and b"%auto-ignore" in next(iter(files.values()))[:_SNIFFED]:
        raise Unreadable("withdrawn", "the paper was withdrawn")
    return files


def _members(stream: _Limited, limits: Limits) -> Iterator[tuple[str, bytes]]:
    """Yield the text files of a tar; refuse the whole if one of its members is unsafe."""
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for number, member in enumerate(archive):
            if number >= limits.members:
                raise Unreadable("too_many_members", f"more than {limits.members} files (limits.members)")
            _check_safe(member)
            name = posixpath.normpath(member.name)
            lowered = name.lower()
            if not member.isfile() or lowered.endswith(_NO_SOURCE):
                continue
            if lowered.endswith(TEX) or member.size <= limits.file_bytes:
                file = archive.extractfile(member)
                content = _bounded(file.read(limits.file_bytes + 1) if file else b"", name, limits)
                if lowered.endswith(TEX) or b"\0" not in content[:_SNIFFED]:
                    yield name, content


def _check_safe(member: tarfile.TarInfo) -> None:
    name = member.name
    if len(name) > LONGEST_NAME:
        raise Unreadable("name_too_long", f"{name[:60]!r}… has {len(name)} characters")
    if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or name[1:2] == ":":
        raise Unreadable("path_traversal", f"{name!r} leads out of the archive")
    if member.issym() or member.islnk():
        raise Unreadable("link", f"{name!r} is a link to {member.linkname!r}")
    if member.issparse():
        raise Unreadable("sparse", f"{name!r} is a sparse file")
    if not (member.isfile() or member.isdir()):
        raise Unreadable("device", f"{name!r} is a device or a pipe")


def _bounded(content: bytes, name: str, limits: Limits) -> bytes:
    if len(content) > limits.file_bytes:
        raise Unreadable("file_too_large", f"{name!r} has more than {limits.file_bytes} bytes (limits.file_bytes)")
    return content

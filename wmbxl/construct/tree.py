"""The text files of a source: decoded, found by the names that TeX uses, and which of them is the main one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import cached_property

from wmbxl.construct.archives import TEX
from wmbxl.errors import Unreadable

# What the option of inputenc means to Python.
_ENCODINGS = {
    "utf8": "utf-8", "utf8x": "utf-8", "latin1": "latin-1", "latin2": "iso8859-2", "latin3": "iso8859-3",
    "latin4": "iso8859-4", "latin5": "iso8859-9", "latin9": "iso8859-15", "latin10": "iso8859-16", "ansinew": "cp1252",
    "cp1250": "cp1250", "cp1251": "cp1251", "cp1252": "cp1252", "koi8-r": "koi8-r", "koi8-u": "koi8-u",
    "applemac": "mac-roman", "macce": "mac-latin2", "ascii": "ascii",
}  # fmt: skip
_INPUTENC = re.compile(rb"^[^%\n]*\\usepackage\s*\[([\w-]+)\]\s*\{inputenc\}", re.MULTILINE)
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_CLASS = re.compile(rb"^[^%\n]*\\document(?:class|style)\b", re.MULTILINE)
_BEGIN = re.compile(rb"^[^%\n]*\\begin\s*\{document\}", re.MULTILINE)
_INCLUDED = re.compile(rb"\\(?:input|include|subfile)\s*\{?\s*([^\s{}%\\]+)")
_USUAL = ("main", "ms", "paper", "article", "manuscript", "arxiv", "thesis", "root")


class SourceTree:
    """The text files of one source.

    Parameters
    ----------
    files : mapping of str to bytes
        By path.

    Attributes
    ----------
    guessed : set of str
        Files that are in no encoding that they declare; they were read as Windows-1252.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._texts: dict[str, str] = {}
        self.guessed: set[str] = set()

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def text(self, path: str) -> str:
        r"""Return a file's text, with ``\n`` at the end of lines."""
        if path not in self._texts:
            self._texts[path] = self._decode(path).replace("\r\n", "\n").replace("\r", "\n")
        return self._texts[path]

    def _decode(self, path: str) -> str:
        data = self._files[path]
        marked = next((name for mark, name in _BOMS.items() if data.startswith(mark)), None)
        for encoding in filter(None, (marked, "utf-8", self._declared)):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                continue
        self.guessed.add(path)
        return data.decode("cp1252", errors="replace")

    @cached_property
    def _declared(self) -> str | None:
        for data in self._files.values():
            if found := _INPUTENC.search(data):
                return _ENCODINGS.get(found[1].decode("ascii", "replace").lower())
        return None

    def find(self, name: str, *folders: str) -> str | None:
        """Return the path of the file that TeX would read by this name, from one of the folders.

        Examples
        --------
        >>> SourceTree({"tex/intro.tex": b""}).find("intro", "", "tex")
        'tex/intro.tex'
        """
        name = name.strip().strip('"')
        for folder in folders:
            path = posixpath.normpath(posixpath.join(folder, name))
            for candidate in (path, path + ".tex"):
                if candidate in self._files:
                    return candidate
        return None

    @cached_property
    def main(self) -> str:
        """Path of the file that TeX starts with.

        Raises
        ------
        Unreadable
            ``no_main_file``.
        """
        tex = [path for path in self._files if path.lower().endswith(TEX)] or list(self._files)
        classed = [path for path in tex if _CLASS.search(self._files[path])]
        begun = [path for path in tex if _BEGIN.search(self._files[path])]
        candidates = [path for path in classed if path in begun] or begun or classed
        if not candidates:
            raise Unreadable(
                "no_main_file", f"none of {len(tex)} TeX files has a \\documentclass or a \\begin{{document}}"
            )
        included = {
            posixpath.splitext(posixpath.basename(name.decode("latin-1")))[0]
            for data in self._files.values()
            for name in _INCLUDED.findall(data)
        }

        def rank(path: str) -> tuple[bool, int, bool, bool, int, str]:
            stem = posixpath.splitext(posixpath.basename(path))[0]
            return (
                stem in included,
                path.count("/"),
                posixpath.splitext(path)[0] + ".bbl" not in self._files,
                stem.lower() not in _USUAL,
                -len(self._files[path]),
                path,
            )

        return min(candidates, key=rank)

"""Which papers there are: archives in folders and buckets, and what the arXiv's metadata say of them."""

from __future__ import annotations

import hashlib
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Any

import fsspec
import orjson
from pydantic import BaseModel

from wmbxl import stores
from wmbxl.construct.records import Drop, Paper
from wmbxl.errors import NothingMatches, Unreadable

STAGE = "sources"
LONGEST_ID = 200  # bytes

_OUTER = re.compile(r"arXiv_src_\d{4}_\d{3}\.tar$")
_ID = re.compile(
    r"(?P<new>\d{4}\.\d{4,5})(?P<version>v\d+)?|(?P<archive>[a-z-]+)[_/]?(?P<old>\d{7})(?P<version_of_old>v\d+)?"
)
_SUFFIXES = (".tar.gz", ".tgz", ".tar", ".tex.gz", ".gz", ".tex", ".pdf", ".ps.gz")


@dataclass(frozen=True)
class Source:
    """Where a paper's archive lies.

    Attributes
    ----------
    paper_id : str
    url : str
    member : str
        Name in an outer tar, empty if the file is the archive.
    offset, size : int
        Bytes of the file.
    version : str
        Etag or modification time of the file.
    """

    paper_id: str
    url: str
    member: str = ""
    offset: int = 0
    size: int = 0
    version: str = ""
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False, hash=False)

    def __str__(self) -> str:
        return f"{self.url}!{self.member}" if self.member else self.url

    @property
    def name(self) -> str:
        """File and member without the folder, which is elsewhere on another machine."""
        file = PurePosixPath(self.url).name
        return f"{file}!{self.member}" if self.member else file

    def read(self) -> bytes:
        """Return the archive.

        Raises
        ------
        Unreadable
            ``missing``, ``permission_denied`` or ``io_error``.
        """
        filesystem, path = stores.locate(self.url, self.storage_options)
        try:
            return stores.retry(filesystem.cat_file, path, start=self.offset, end=self.offset + self.size)
        except Exception as error:
            raise stores.unreadable(self.url, error) from error


def paper_id(name: str) -> str:
    """Return a paper's arXiv id as its file's name tells it, or else the name without its suffix.

    Examples
    --------
    >>> paper_id("2401.00001v2.tar.gz"), paper_id("hep-th9901001.gz"), paper_id("thesis.tar.gz")
    ('2401.00001v2', 'hep-th/9901001', 'thesis')
    """
    stem = PurePosixPath(name).name
    for suffix in _SUFFIXES:
        if stem.lower().endswith(suffix):
            stem = stem[: -len(suffix)]
            break
    match = _ID.fullmatch(stem)
    if not match:
        return stem
    if match["new"]:
        return match["new"] + (match["version"] or "")
    return f"{match['archive']}/{match['old']}{match['version_of_old'] or ''}"


def list_sources(urls: Sequence[str], storage_options: Mapping[str, Any]) -> tuple[list[Source], list[Drop]]:
    """List the papers of files, folders and patterns, ordered by id.

    An outer tar such as ``arXiv_src_2401_001.tar`` is opened, and each of its members is a paper.

    Returns
    -------
    sources : list of Source
    drops : list of Drop
        Outer tars that can't be read (``damaged``), papers that lie there twice (``listed_twice``), and those whose
        name can't name a file (``unusable_name``).

    Raises
    ------
    NothingMatches
        A URL names no file.
    """
    found: list[Source] = []
    drops: list[Drop] = []
    for url in urls:
        filesystem, path = stores.locate(url, storage_options)
        paths = sorted(_paths(filesystem, path))
        if not paths:
            raise NothingMatches(f"{url}: no file there: correct sources in the config")
        for place in paths:
            info = stores.retry(filesystem.info, place)
            version = str(info.get("ETag") or info.get("etag") or info.get("mtime") or info.get("LastModified") or "")
            name = filesystem.unstrip_protocol(place) if not stores.is_local(filesystem) else place
            whole = Source(paper_id(place), name, "", 0, int(info["size"]), version, storage_options)
            if not _OUTER.search(place):
                found.append(whole)
                continue
            try:
                found.extend(_members(filesystem, place, whole))
            except (tarfile.TarError, EOFError) as error:
                drops.append(Drop(stage=STAGE, item=name, reason="damaged", detail=f"{type(error).__name__}: {error}"))
    unique: dict[str, Source] = {}
    for source in sorted(found, key=lambda source: (source.paper_id, str(source))):
        if not _usable(source.paper_id):
            shown = ascii(source.paper_id[:LONGEST_ID])
            drops.append(Drop(stage=STAGE, item=shown, reason="unusable_name", detail="rename the archive"))
            continue
        if source.paper_id in unique:
            detail = f"{source}; {unique[source.paper_id]} is taken"
            drops.append(Drop(stage=STAGE, item=source.paper_id, reason="listed_twice", detail=detail))
        unique.setdefault(source.paper_id, source)
    return list(unique.values()), drops


def _usable(paper_id: str) -> bool:
    """Whether a file can be named by an id; an archive's members may have names that no file can have."""
    return 0 < len(paper_id.encode(errors="replace")) <= LONGEST_ID and paper_id.isprintable()


def _paths(filesystem: fsspec.AbstractFileSystem, path: str) -> list[str]:
    if any(character in path for character in "*?["):
        return [name for name in stores.retry(filesystem.glob, path) if not filesystem.isdir(name)]
    if stores.retry(filesystem.isdir, path):
        return [name for name in stores.retry(filesystem.find, path) if not PurePosixPath(name).name.startswith(".")]
    return [path] if stores.retry(filesystem.exists, path) else []


def _members(filesystem: fsspec.AbstractFileSystem, path: str, whole: Source) -> Iterator[Source]:
    """Yield the papers of an outer tar; only its headers are read."""
    with filesystem.open(path, "rb") as file, tarfile.open(fileobj=file, mode="r:") as archive:
        for member in archive:
            if member.isfile():
                yield Source(
                    paper_id(member.name), whole.url, member.name, member.offset_data, member.size, whole.version,
                    whole.storage_options,
                )  # fmt: skip


class _Known(BaseModel):
    """What has to be right about the fields that are used."""

    title: str | None = None
    categories: str | None = None
    license: str | None = None
    update_date: str | None = None
    versions: list[dict[str, str]] | None = None


@dataclass(frozen=True)
class Metadata:
    """What the arXiv's metadata say of the papers that are asked for.

    Attributes
    ----------
    records : dict
        By id without version.
    bad_lines : int
        Lines that are no JSON objects with an id, or whose fields are not what the arXiv's are.
    """

    records: Mapping[str, Mapping[str, Any]]
    bad_lines: int = 0

    def of(self, source: Source) -> Metadata:
        """Return the metadata of one paper alone."""
        base, _ = unversioned(source.paper_id)
        return Metadata({base: self.records[base]} if base in self.records else {})

    def paper(self, source: Source, sha256: str) -> Paper:
        """Put together what is known of a paper."""
        base, version = unversioned(source.paper_id)
        record = self.records.get(base, {})
        versions = [each for each in record.get("versions") or () if isinstance(each, Mapping)]
        return Paper(
            paper_id=source.paper_id if version or not versions else f"{base}{versions[-1].get('version', '')}",
            source=source.name,
            sha256=sha256,
            title=" ".join(str(record.get("title") or "").split()),
            categories=tuple(str(record.get("categories") or "").split()),
            submitted=_date(versions[0].get("created")) if versions else None,
            updated=_date(record.get("update_date")),
            license=record.get("license") or None,
        )


def unversioned(paper_id: str) -> tuple[str, str]:
    """Split an id into itself and its version.

    Examples
    --------
    >>> unversioned("2401.00001v2"), unversioned("thesis")
    (('2401.00001', 'v2'), ('thesis', ''))
    """
    match = re.fullmatch(r"(.*\d)(v\d+)", paper_id)
    return (match[1], match[2]) if match else (paper_id, "")


def _date(text: Any) -> date | None:
    """Read a date as metadata write it: ``2024-01-31``, or as in an e-mail."""
    try:
        return date.fromisoformat(str(text)[:10])
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(str(text)).date()
    except ValueError:
        return None


def read_metadata(url: str | None, wanted: Iterable[str], storage_options: Mapping[str, Any]) -> Metadata:
    """Read the arXiv metadata (JSON lines, compressed or not) of the papers that are wanted.

    Parameters
    ----------
    url : str or None
    wanted : iterable of str
        Ids; versions don't matter.
    storage_options : mapping
    """
    if url is None:
        return Metadata({})
    ids = {unversioned(name)[0] for name in wanted}
    records: dict[str, Mapping[str, Any]] = {}
    bad = 0
    try:
        with fsspec.open(url, "rb", compression="infer", **storage_options) as file:
            for line in file:
                try:
                    record = orjson.loads(line)
                    if record["id"] in ids:
                        _Known.model_validate(record)
                        records[record["id"]] = record
                except (ValueError, KeyError, TypeError):
                    bad += bool(line.strip())
    except FileNotFoundError as error:
        raise NothingMatches(f"{url}: no such file: correct metadata in the config") from error
    except OSError as error:
        raise Unreadable("io_error", f"{url}: {error}") from error
    return Metadata(records, bad)


def sha256(data: bytes) -> str:
    """Return the hash of an archive."""
    return hashlib.sha256(data).hexdigest()

"""Which files belong to a corpus: patterns, folders, links, and what is left out."""

from __future__ import annotations

import os
import re
import stat
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from fsspec import AbstractFileSystem

from wmbxl import formats, readers, stores
from wmbxl.errors import NothingMatches, UsageError
from wmbxl.shards import Shards, urls
from wmbxl.types import LeftOut, ReadOptions, Shard

_TEMPORARY = (".part", ".partial", ".tmp", ".temp", ".crc", ".crdownload", ".download", ".lock", ".swp", "~")


@dataclass(frozen=True)
class Listing:
    """The files of a corpus, and those beside them that are left out."""

    shards: Shards
    left_out: tuple[LeftOut, ...]


def list_files(corpus: str, places: Sequence[str], options: ReadOptions) -> Listing:
    """Find the files that paths, folders or patterns name.

    Raises
    ------
    NothingMatches
        If one of them matches no file.
    UsageError
        If one can't be listed.
    """
    if not places:
        raise NothingMatches(f"corpus {corpus}: no path given")
    tables: list[pa.Table] = []
    left_out: dict[str, LeftOut] = {}
    for url in places:
        files, aside = _expand(corpus, url, options)
        if not len(files):
            first = min(aside, key=lambda item: item.url, default=None)
            beside = f" ({len(aside)} left out, such as {first.url}: {first.reason})" if first else ""
            raise NothingMatches(f"corpus {corpus}: {url} matches no file{beside}")
        tables.append(files)
        left_out.update((item.url, item) for item in aside)
    files, doubles = _without_doubles(pa.concat_tables(tables).sort_by("url"))
    left_out.update((item.url, item) for item in doubles)
    shards = Shards(corpus, options, files.drop_columns(_IDENTITY))
    if left_out and len(places) > 1:  # what one of them leaves out another may name
        for url in urls(files):
            left_out.pop(url, None)
    return Listing(shards, tuple(sorted(left_out.values(), key=lambda item: item.url)))


# Column of a table of files: xxh64 of the name that a file has once links are followed.
_IDENTITY = "identity"


def _expand(corpus: str, url: str, options: ReadOptions) -> tuple[pa.Table, list[LeftOut]]:
    """Return the files that a path, folder or pattern names, and those left out."""
    try:
        filesystem, root = stores.locate(url, options.storage_options)
        if any(sign in root for sign in "*?[") and not stores.retry(filesystem.exists, root):
            base, pattern = _split_pattern(root)
            entries = _walk(filesystem, base, pattern)
        elif stores.retry(filesystem.isdir, root):
            base, entries = root, _walk(filesystem, root, None)
        else:
            info = stores.retry(filesystem.info, root)
            return _table(corpus, filesystem, [{**info, "real": os.path.realpath(info["name"])}], options), []
        files = _table(corpus, filesystem, entries, options)
    except UsageError:
        raise
    except Exception as error:  # each store has errors of its own
        if isinstance(stores.real_error(error), FileNotFoundError):
            return _table(corpus, filesystem, [], options), []
        raise UsageError(f"corpus {corpus}: {url} can't be listed: {stores.last_word(error)}") from error
    return _choose(files, _url(filesystem, base))


def _table(
    corpus: str, filesystem: AbstractFileSystem, entries: Iterable[Mapping[str, Any]], options: ReadOptions
) -> pa.Table:
    """Return a table of files with the columns of `Shards` and their identity."""
    identities = array("Q")

    def shards() -> Iterator[Shard]:
        for info in entries:
            url, size = _url(filesystem, str(info["name"])), info.get("size")
            real = info["real"] if stores.is_local(filesystem) else url
            identities.append(xxhash.xxh64_intdigest(real.encode("utf-8", "surrogateescape")))
            size = -1 if size is None else int(size)
            yield Shard(corpus, url, size=size, version=readers.version_of(info), options=options)

    table = Shards.of(corpus, options, shards()).table
    return table.append_column(_IDENTITY, pa.array(np.frombuffer(identities, dtype=np.uint64)))


def _split_pattern(root: str) -> tuple[str, str]:
    """Return the folder before the first wildcard, and the whole pattern."""
    plain: list[str] = []
    for part in root.split("/")[:-1]:
        if any(sign in part for sign in "*?["):
            break
        plain.append(part)
    return "/".join(plain) or "/", root


def _walk(filesystem: AbstractFileSystem, base: str, pattern: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield the files below `base` that match `pattern` (all, if there is none)."""
    if stores.is_local(filesystem):
        entries = _walk_local(base, pattern)
    elif stores.is_s3(filesystem):
        first = (pattern or "").removeprefix(base).strip("/").split("/")[0]
        entries = stores.list_s3(filesystem, base, re.split(r"[*?\[]", first)[0])
    elif pattern is None:
        entries = iter(stores.retry(filesystem.find, base, detail=True).values())
    else:
        found = stores.retry(filesystem.glob, pattern, detail=True).values()
        entries = (info for info in found if info["type"] == "file")
    return (info for info in entries if pattern is None or _matches(str(info["name"]), pattern))


def _walk_local(base: str, pattern: str | None) -> Iterator[Mapping[str, Any]]:
    """Walk a local folder through links, entering each real folder once, so that a loop of links ends.

    Folders in which nothing can match are not entered; one that can't be listed is an error.
    """

    def fail(error: OSError) -> None:
        raise error

    seen: set[str] = set()
    for folder, folders, files in os.walk(base, followlinks=True, onerror=fail):
        if pattern is not None:
            folders[:] = [name for name in folders if _may_hold(f"{folder}/{name}", pattern)]
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        # Of two names of a folder the real one is used, whatever the order of the directory.
        folders.sort(key=lambda name, folder=folder: (Path(folder, name).is_symlink(), name))  # type: ignore[misc]
        for name in files:
            yield _look_at(f"{folder.rstrip('/')}/{name}", f"{real.rstrip('/')}/{name}")


def _look_at(path: str, real: str) -> Mapping[str, Any]:
    """Return what is known of a local file; `real` is its name once links in its folder are followed."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        real = os.path.realpath(path)
        try:
            status = Path(path).stat()
        except OSError:  # a dangling link: listed, found missing when it is read
            return {"name": path, "size": -1, "real": real}
    return {"name": path, "size": status.st_size, "mtime": status.st_mtime, "real": real}


def _matches(name: str, pattern: str) -> bool:
    """Whether a path matches a pattern part by part; ``**`` stands for any number of parts."""

    def match(parts: Sequence[str], wanted: Sequence[str]) -> bool:
        if not wanted:
            return not parts
        if wanted[0] == "**":
            return any(match(parts[i:], wanted[1:]) for i in range(len(parts) + 1))
        return bool(parts) and fnmatchcase(parts[0], wanted[0]) and match(parts[1:], wanted[1:])

    return match(name.strip("/").split("/"), pattern.strip("/").split("/"))


def _may_hold(folder: str, pattern: str) -> bool:
    """Whether a file somewhere below `folder` can match `pattern`."""
    parts, wanted = folder.strip("/").split("/"), pattern.strip("/").split("/")
    for part, want in zip(parts, wanted, strict=False):
        if want == "**":
            return True
        if not fnmatchcase(part, want):
            return False
    return len(parts) < len(wanted)


def _choose(files: pa.Table, base: str) -> tuple[pa.Table, list[LeftOut]]:
    """Part the files that hold data from hidden, temporary, marker and side files."""
    reasons = [_aside(url, base) for url in urls(files)]
    if any(reason is None and formats.named_records(url) for url, reason in zip(urls(files), reasons, strict=True)):
        reasons = [
            "plain text beside records" if reason is None and formats.named_text(url) else reason
            for url, reason in zip(urls(files), reasons, strict=True)
        ]
    left_out = [LeftOut(url, reason) for url, reason in zip(urls(files), reasons, strict=True) if reason]
    return files.filter(pa.array([reason is None for reason in reasons], pa.bool_())), left_out


def _aside(url: str, base: str) -> str | None:
    """Return why a file in a folder is no data, or None."""
    parts = url.removeprefix(base).strip("/").split("/")
    name = parts[-1]
    if any(part.startswith(".") for part in parts):
        return "hidden"
    if any(part.startswith("_") for part in parts):
        return "marker"
    if name.lower().endswith(_TEMPORARY):
        return "temporary"
    if name in formats.SIDE_FILES:
        return "metadata of a dataset folder"
    if name.startswith("cache-") and name.endswith(".arrow"):
        return "cache of a dataset folder"
    return None


def _url(filesystem: AbstractFileSystem, path: str) -> str:
    """Return a path with its protocol, except for local files, which people know by their path."""
    return path if stores.is_local(filesystem) else str(filesystem.unstrip_protocol(path))


def _without_doubles(files: pa.Table) -> tuple[pa.Table, list[LeftOut]]:
    """Leave out files that links name a second time; copies stay, since a model was trained on each."""
    identities = files[_IDENTITY].to_numpy()
    _, first, which = np.unique(identities, return_index=True, return_inverse=True)
    kept = first[which]
    left_out: list[LeftOut] = []
    for row in np.flatnonzero(kept != np.arange(len(kept))).tolist():
        url, before = urls(files.take([row, int(kept[row])]))
        if os.path.realpath(url) != os.path.realpath(before):  # by a rare chance two names have one hash
            kept[row] = row
        elif url != before:
            left_out.append(LeftOut(url, f"the same file as {before}"))
    return files.filter(pa.array(kept == np.arange(len(kept)))), left_out

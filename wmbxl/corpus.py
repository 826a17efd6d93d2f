"""Corpora: which files belong to one, and how they are cut into pieces."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import dask.bag
import pandas as pd
import pyarrow.parquet as pq

from wmbxl import formats, readers, stores, streams
from wmbxl.batches import Account
from wmbxl.errors import NothingMatches, Unreadable, UsageError
from wmbxl.types import ROLES, LeftOut, ReadOptions, Role, Shard

if TYPE_CHECKING:
    from dask.dataframe import DataFrame
    from fsspec import AbstractFileSystem

BLOCK_SIZE = 64 << 20
SMALLEST_BLOCK = 4 << 10

_TEMPORARY = (".part", ".partial", ".tmp", ".temp", ".crc", ".crdownload", ".download", ".lock", ".swp", "~")


@dataclass(frozen=True)
class Listing:
    """The files of a corpus, and those beside them that are left out."""

    shards: tuple[Shard, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Corpus:
    """A named corpus.

    Parameters
    ----------
    name : str
    urls : str or sequence of str
        Files, folders or patterns (``*``, ``?``, ``[…]``, ``**``), anything that fsspec reaches.
    text_field, id_field : str
        Fields of a record; dots reach into nested fields. Without `id_field` documents have no id.
    role : {"release", "corroboration", "control"}
        Only ``release`` corpora decide S0 and S1; the others are counted apart.
    join_lists : bool
        Join a text that is a list of strings by newlines, instead of counting it as unread.
    max_zstd_window : int
        Largest zstd window accepted, as a power of two.
    storage_options : mapping
        For fsspec. Never written to a file.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://corpus/a.jsonl", "w") as file:
    ...     _ = file.write('{"text": "Let x be given.", "id": "a1"}')
    >>> corpus = Corpus("demo", "memory://corpus/*.jsonl", id_field="id")
    >>> [shard.url for shard in corpus.shards()]
    ['memory:///corpus/a.jsonl']
    >>> corpus.to_bag().compute(scheduler="sync")
    [{'text': 'Let x be given.', 'shard': 'memory:///corpus/a.jsonl', 'row': 0, 'document_id': 'a1'}]
    """

    name: str
    urls: str | Sequence[str]
    text_field: str = "text"
    id_field: str | None = None
    role: Role = "release"
    join_lists: bool = False
    max_zstd_window: int = 27
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name:
            raise UsageError(f"a corpus needs a name without slashes, not {self.name!r}")
        if self.role not in ROLES:
            raise UsageError(f"corpus {self.name}: role must be one of {', '.join(ROLES)}, not {self.role!r}")
        if not 10 <= self.max_zstd_window <= 31:
            raise UsageError(f"corpus {self.name}: max_zstd_window must lie between 10 and 31")

    @property
    def options(self) -> ReadOptions:
        """How records are read."""
        return ReadOptions(
            self.text_field, self.id_field, self.join_lists, self.max_zstd_window, dict(self.storage_options)
        )

    @cached_property
    def listing(self) -> Listing:
        """The files, found once.

        Raises
        ------
        NothingMatches
            If a path or pattern matches no file of the corpus.
        """
        urls = [self.urls] if isinstance(self.urls, str) else list(self.urls)
        if not urls:
            raise NothingMatches(f"corpus {self.name}: no path given")
        found: dict[str, Shard] = {}
        left_out: dict[str, LeftOut] = {}
        for url in urls:
            files, aside = _expand(self, url)
            if not files:
                beside = f" ({len(aside)} left out, such as {aside[0].url}: {aside[0].reason})" if aside else ""
                raise NothingMatches(f"corpus {self.name}: {url} matches no file{beside}")
            found.update((file.url, file) for file in files)
            left_out.update((item.url, item) for item in aside)
        shards, doubles = _without_doubles(found.values())
        left_out.update((item.url, item) for item in doubles)
        aside_only = [item for item in left_out.values() if item.url not in {shard.url for shard in shards}]
        return Listing(tuple(sorted(shards)), tuple(sorted(aside_only, key=lambda item: item.url)))

    def shards(self, block_size: int = BLOCK_SIZE) -> list[Shard]:
        """Return the pieces of the corpus, in order.

        Parameters
        ----------
        block_size : int
            Bytes of a piece: uncompressed JSONL is cut at lines, Parquet at row groups. Compressed files, which
            can only be read from their start, are not cut. At least 4096.
        """
        if block_size < SMALLEST_BLOCK:
            raise UsageError(f"block_size must be at least {SMALLEST_BLOCK} bytes, not {block_size}")
        large = [shard for shard in self.listing.shards if shard.size > block_size]
        with ThreadPoolExecutor(16) as pool:  # only files that may be cut are looked into
            cuts = dict(zip(large, pool.map(lambda shard: _cut(shard, block_size), large), strict=True))
        return [piece for shard in self.listing.shards for piece in cuts.get(shard, (shard,))]

    def to_bag(self, block_size: int = BLOCK_SIZE) -> dask.bag.Bag:
        """Return the documents as a Dask bag of dicts: ``text``, ``shard``, ``row`` in the piece, ``document_id``."""
        pieces = self.shards(block_size)
        return dask.bag.from_sequence(pieces, npartitions=len(pieces)).map(_documents).flatten()

    def to_dataframe(self, block_size: int = BLOCK_SIZE) -> DataFrame:
        """Return the documents as a Dask dataframe with the columns of `to_bag`, one partition for each piece."""
        import dask.dataframe  # takes half a second, which every worker would pay

        meta = {"text": "string", "shard": "string", "row": "int64", "document_id": "string"}
        return dask.dataframe.from_map(
            _frame,
            self.shards(block_size),
            meta=pd.DataFrame({k: pd.Series(dtype=v) for k, v in meta.items()}),
        )


def _documents(shard: Shard) -> Iterator[dict[str, Any]]:
    account = Account()
    for batch in readers.read(shard, account):
        for doc in range(len(batch)):
            yield {
                "text": batch.text(doc),
                "shard": shard.url,
                "row": int(batch.rows[doc]),
                "document_id": batch.ids[doc],
            }
    if account.fault is not None:
        raise account.fault


def _frame(shard: Shard) -> pd.DataFrame:
    frame = pd.DataFrame(_documents(shard), columns=["text", "shard", "row", "document_id"])
    return frame.astype({"text": "string", "shard": "string", "row": "int64", "document_id": "string"})


# ---------------------------------------------------------------- files


def _expand(corpus: Corpus, url: str) -> tuple[list[Shard], list[LeftOut]]:
    """Return the files that a path, folder or pattern names, and those left out."""
    try:
        filesystem, root = stores.locate(url, corpus.storage_options)
        if any(sign in root for sign in "*?[") and not stores.retry(filesystem.exists, root):
            base, pattern = _split_pattern(root)
            entries = list(_walk(filesystem, base, pattern))
        elif stores.retry(filesystem.isdir, root):
            base, entries = root, list(_walk(filesystem, root, None))
        else:
            return [_shard(corpus, filesystem, stores.retry(filesystem.info, root))], []
    except UsageError:
        raise
    except Exception as error:  # each store has errors of its own
        if isinstance(stores.real_error(error), FileNotFoundError):
            return [], []
        raise UsageError(f"corpus {corpus.name}: {url} can't be listed: {stores.last_word(error)}") from error
    return _choose(corpus, filesystem, base, entries)


def _split_pattern(root: str) -> tuple[str, str]:
    """Return the folder before the first wildcard, and the whole pattern."""
    plain: list[str] = []
    for part in root.split("/")[:-1]:
        if any(sign in part for sign in "*?["):
            break
        plain.append(part)
    return "/".join(plain) or "/", root


def _walk(filesystem: AbstractFileSystem, base: str, pattern: str | None) -> Iterator[dict[str, Any]]:
    """Yield the files below `base`, in order, that match `pattern` (all, if there is none)."""
    if stores.is_local(filesystem):
        entries = _walk_local(base, pattern)
    elif pattern is None:
        entries = stores.retry(filesystem.find, base, detail=True).values()
    elif stores.is_s3(filesystem):  # pages of keys, where glob would ask folder by folder
        begin = re.split(r"[*?\[]", pattern.removeprefix(base).strip("/").split("/")[0])[0]
        entries = stores.retry(filesystem.find, base, detail=True, prefix=begin).values()
    else:
        found = stores.retry(filesystem.glob, pattern, detail=True).values()
        entries = (info for info in found if info["type"] == "file")
    for info in sorted(entries, key=lambda info: str(info["name"])):
        if pattern is None or _matches(str(info["name"]), pattern):
            yield info


def _walk_local(base: str, pattern: str | None) -> Iterator[dict[str, Any]]:
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
            path = f"{folder.rstrip('/')}/{name}"
            try:
                status = Path(path).stat()
            except OSError:  # a dangling link: listed, found missing when it is read
                yield {"name": path, "size": -1}
            else:
                yield {"name": path, "size": status.st_size, "mtime": status.st_mtime}


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


def _choose(
    corpus: Corpus, filesystem: AbstractFileSystem, base: str, entries: list[dict[str, Any]]
) -> tuple[list[Shard], list[LeftOut]]:
    """Part the files that hold data from hidden, temporary, marker and side files."""
    records = any(formats.named_records(str(info["name"])) and not _aside(info, base) for info in entries)
    shards: list[Shard] = []
    left_out: list[LeftOut] = []
    for info in entries:
        name = str(info["name"])
        reason = _aside(info, base)
        if reason is None and records and formats.named_text(name):
            reason = "plain text beside records"
        if reason:
            left_out.append(LeftOut(_url(filesystem, name), reason))
        else:
            shards.append(_shard(corpus, filesystem, info))
    return shards, left_out


def _aside(info: Mapping[str, Any], base: str) -> str | None:
    """Return why a file in a folder is no data, or None."""
    parts = PurePosixPath(str(info["name"]).removeprefix(base).strip("/")).parts
    name = parts[-1] if parts else ""
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


def _shard(corpus: Corpus, filesystem: AbstractFileSystem, info: Mapping[str, Any]) -> Shard:
    size = info.get("size")
    return Shard(
        corpus=corpus.name,
        url=_url(filesystem, str(info["name"])),
        size=-1 if size is None else int(size),
        version=readers.version_of(info),
        options=corpus.options,
    )


def _url(filesystem: AbstractFileSystem, path: str) -> str:
    """Return a path with its protocol, except for local files, which people know by their path."""
    return path if stores.is_local(filesystem) else str(filesystem.unstrip_protocol(path))


def _without_doubles(shards: Iterable[Shard]) -> tuple[list[Shard], list[LeftOut]]:
    """Leave out files that links name a second time; copies stay, since a model was trained on each."""
    kept: dict[str, Shard] = {}
    left_out: list[LeftOut] = []
    for shard in sorted(shards):
        real = shard.url if "://" in shard.url else os.path.realpath(shard.url)
        if real in kept:
            left_out.append(LeftOut(shard.url, f"the same file as {kept[real].url}"))
        else:
            kept[real] = shard
    return list(kept.values()), left_out


# ---------------------------------------------------------------- cutting


def _cut(shard: Shard, block_size: int) -> list[Shard]:
    """Cut a file into pieces of about `block_size` bytes, if its format allows it."""
    source = streams.Source.of(shard, stop=formats.HEAD)
    try:
        head = source.read(formats.HEAD)
        if formats.codec_of(head):
            return [shard]
        found = formats.detect(head, shard.url)
        if found.kind == "parquet":
            return _cut_parquet(shard, block_size)
        if found.cuttable:
            return _cut_lines(shard, block_size)
    except Unreadable:  # told, with its reason, when the shard is read
        pass
    finally:
        source.close()
    return [shard]


def _piece(shard: Shard, start: int, stop: int, unit: Any, weight: int) -> Shard:
    return Shard(shard.corpus, shard.url, start, stop, unit, shard.size, shard.version, weight, shard.options)


def _cut_lines(shard: Shard, block_size: int) -> list[Shard]:
    starts = range(0, shard.size, block_size)
    stops = [min(start + block_size, shard.size) for start in starts]
    return [_piece(shard, a, b, "bytes", b - a) for a, b in zip(starts, stops, strict=True)]


def _cut_parquet(shard: Shard, block_size: int) -> list[Shard]:
    filesystem, path = stores.locate(shard.url, shard.options.storage_options)
    try:
        with filesystem.open(path, "rb") as file:
            metadata = pq.ParquetFile(file).metadata
    except Exception:  # told, with its reason, when the shard is read
        return [shard]
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    if len(sizes) < 2:
        return [shard]
    total = sum(sizes) or 1
    pieces: list[Shard] = []
    first, held, placed = 0, 0, 0
    for i, size in enumerate(sizes):
        held += size
        if held * shard.size >= block_size * total or i == len(sizes) - 1:
            # Weights share out the file's bytes exactly, so that nothing is lost in rounding.
            upto = shard.size * sum(sizes[: i + 1]) // total if i < len(sizes) - 1 else shard.size
            pieces.append(_piece(shard, first, i + 1, "row_groups", upto - placed))
            first, held, placed = i + 1, 0, upto
    return pieces

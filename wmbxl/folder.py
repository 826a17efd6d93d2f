"""The run folder: files that appear whole or not at all, anywhere fsspec reaches."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem

from wmbxl import stores
from wmbxl.errors import NothingMatches, UsageError, WmbxlError
from wmbxl.tables import read_parquet

CHECKPOINTS = "checkpoints"
REPORT = "report.html"
FILES = (
    "audit.json", "index.arrow", "problems.parquet", "metadata.parquet", "metadata_by_corpus.parquet",
    "ngrams.parquet", "evidence.parquet", "spans.parquet", "sketches.parquet", "ledger.parquet", REPORT,
)  # fmt: skip


@dataclass(frozen=True)
class RunFolder:
    """A folder of one audit.

    Parameters
    ----------
    url : str
    storage_options : mapping
        For fsspec.
    """

    url: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if "://" not in self.url:  # workers have working folders of their own
            object.__setattr__(self, "url", str(Path(self.url).absolute()))

    @contextlib.contextmanager
    def _place(self, name: str, doing: str) -> Iterator[tuple[AbstractFileSystem, str]]:
        """Give the filesystem and a file's path in it; tell what can't be done, whatever errors a store has."""
        try:
            filesystem, root = stores.locate(self.url, self.storage_options)
            yield filesystem, f"{root.rstrip('/')}/{name}"
        except (FileNotFoundError, NotADirectoryError, WmbxlError):
            raise
        except Exception as error:
            raise WmbxlError(f"{self.url}/{name}: can't be {doing}: {stores.last_word(error)}") from error

    def write(self, name: str, data: bytes, new: bool = False) -> None:
        """Write a file atomically; with `new`, a store may keep one that somebody else wrote in the meantime."""
        try:
            with self._place(name, "written") as (filesystem, path):
                if stores.is_local(filesystem):
                    _write_local(Path(path), data)
                elif new:
                    stores.put_new(filesystem, path, data)
                else:  # an object appears when its last byte has arrived
                    stores.retry(filesystem.pipe_file, path, data)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self._no_folder(error) from error

    def read(self, name: str) -> bytes:
        """Read a file.

        Raises
        ------
        NothingMatches
            If there is none.
        """
        try:
            with self._place(name, "read") as (filesystem, path):
                return stores.retry(stores.get, filesystem, path)
        except (FileNotFoundError, NotADirectoryError):
            raise NothingMatches(
                f"{self.url}: no {name} in this folder: give the folder that wmbxl audit wrote (its --out), not a file "
                "of it, and with all its files"
            ) from None

    def _no_folder(self, error: OSError) -> UsageError:
        return UsageError(f"{self.url}: no folder can be made there ({stores.last_word(error)}): name another one")

    def exists(self, name: str) -> bool:
        """Whether a file is there."""
        with self._place(name, "looked for") as (filesystem, path):
            return bool(stores.retry(filesystem.exists, path))

    def checkpoints(self) -> set[str]:
        """Return the keys of the checkpoints that are there."""
        try:
            with self._place(CHECKPOINTS, "listed") as (filesystem, path):
                filesystem.invalidate_cache()
                names = stores.retry(filesystem.ls, path, detail=False)
        except FileNotFoundError:
            return set()
        except NotADirectoryError as error:
            raise self._no_folder(error) from error
        return {Path(name).stem for name in names if str(name).endswith(".arrow")}

    def clear(self) -> None:
        """Delete the files of an audit, and nothing else that the folder holds."""
        self.remove(*FILES, CHECKPOINTS)

    def remove(self, *names: str) -> None:
        """Delete what is there of these files and folders."""
        for name in names:
            with self._place(name, "deleted") as (filesystem, path):
                if stores.retry(filesystem.exists, path):
                    stores.retry(filesystem.rm, path, recursive=True)

    def read_json(self, name: str = "audit.json") -> dict[str, Any]:
        """Read a JSON file that holds an object."""
        try:
            content = json.loads(self.read(name))
        except ValueError as error:
            raise UsageError(f"{self.url}/{name}: not JSON ({error}): the file was changed by hand?") from error
        if not isinstance(content, dict):
            raise UsageError(
                f"{self.url}/{name}: expected a JSON object, found {type(content).__name__}: the file was changed by "
                "hand?"
            )
        return content

    def write_json(self, content: Mapping[str, Any], name: str = "audit.json") -> None:
        """Write a JSON file."""
        self.write(name, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())

    def read_table(self, name: str) -> pa.Table:
        """Read a Parquet file."""
        return read_parquet(f"{self.url}/{name}", pa.BufferReader(self.read(name)))

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a Parquet file; equal tables give equal bytes."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        self.write(name, sink.getvalue().to_pybytes())


def _write_local(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

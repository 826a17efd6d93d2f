"""Small values that several rooms share. They hold data and know nothing of how it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["release", "corroboration", "control"]
ROLES: tuple[Role, ...] = ("release", "corroboration", "control")


@dataclass(frozen=True)
class ReadOptions:
    """How the records of a corpus are read.

    Parameters
    ----------
    text_field, id_field : str
        Names of the fields, with dots for nesting. A missing `id_field` leaves the document id empty.
    join_lists : bool
        Whether a text that is a list of strings is joined by newlines instead of being counted as unreadable.
    max_zstd_window : int
        Largest zstd window accepted, as a power of two in bytes.
    storage_options : dict
        Passed to fsspec. Never written to a file of the run.
    """

    text_field: str = "text"
    id_field: str | None = None
    join_lists: bool = False
    max_zstd_window: int = 27
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False, hash=False, compare=False)


@dataclass(frozen=True, order=True, slots=True)  # there may be a million of them
class Shard:
    """A file of a corpus, or a piece of one.

    Parameters
    ----------
    corpus : str
        Name of the corpus.
    url : str
        The file, as fsspec names it.
    start, stop : int
        The piece: bytes of an uncompressed file (a record belongs to the piece in which its line starts), or row
        groups of a Parquet file. ``stop = -1`` is the end of the file.
    unit : {"bytes", "row_groups"}
        What `start` and `stop` count.
    size : int
        Bytes of the whole file, -1 if unknown.
    version : str
        The file's etag or modification time when it was listed.
    weight : int
        Bytes of the file that row groups stand for, -1 for pieces that are measured in bytes.
    options : ReadOptions
        How its records are read.
    """

    corpus: str
    url: str
    start: int = 0
    stop: int = -1
    unit: Literal["bytes", "row_groups"] = "bytes"
    size: int = -1
    version: str = ""
    weight: int = field(default=-1, compare=False)
    options: ReadOptions = field(default_factory=ReadOptions, compare=False)

    @property
    def whole(self) -> bool:
        """Whether the piece is the whole file."""
        return self.start == 0 and self.stop == -1

    def __str__(self) -> str:
        if self.whole:
            return self.url
        stop = "end" if self.stop == -1 else self.stop
        return f"{self.url} [{self.unit} {self.start}–{stop}]"


@dataclass(frozen=True)
class LeftOut:
    """A file that a folder or pattern holds and that is not part of the corpus, with the reason."""

    url: str
    reason: str

"""What is known of a run while it goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Watch:
    """The state of a run, or of its part on one corpus, kept up to date by the events that workers send.

    Attributes
    ----------
    pieces, pieces_done, pieces_resumed : int
        Planned, finished, and of these taken up from checkpoints.
    file_bytes, file_bytes_done, file_bytes_resumed : int
        Of all planned files, of those done, and of these taken up from checkpoints.
    documents, windows : int
        Scanned so far by this run (what was resumed is not scanned again).
    flagged : set of int
        Problems with a hit in a ``release`` corpus so far, at the reference n.
    unread : Counter
        Pieces and records that could not be audited, by reason.
    dashboard : str
        Address of the live page, or of Dask's own dashboard if there is no live page.
    notes : list of str
        What the user should know of how the run began.
    started : float
        Monotonic time of the start, in seconds.
    told : float or None
        Monotonic time of the first event of a worker.
    ended : float or None
        Monotonic time of the end, in seconds.
    """

    pieces: int = 0
    pieces_done: int = 0
    pieces_resumed: int = 0
    file_bytes: int = 0
    file_bytes_done: int = 0
    file_bytes_resumed: int = 0
    documents: int = 0
    windows: int = 0
    flagged: set[int] = field(default_factory=set)
    unread: Counter[str] = field(default_factory=Counter)
    dashboard: str = ""
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    told: float | None = None
    ended: float | None = None
    _reading: dict[str, int] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take up an event of a worker."""
        self.told = self.told or time.monotonic()
        match event["kind"]:
            case "start":  # the second time if the first worker was lost
                self._reading[event["task"]] = 0
            case "batch":
                self.documents += event["documents"]
                self.windows += event["windows"]
                self._reading[event["task"]] = self._reading.get(event["task"], 0) + event["file_bytes"]
            case "task":
                self._reading.pop(event["task"], None)
                self.file_bytes_done += event["file_bytes"]
                self.pieces_done += event["pieces"]
                if event["resumed"]:
                    self.pieces_resumed += event["pieces"]
                    self.file_bytes_resumed += event["file_bytes"]
                self.flagged.update(event["flagged"])
                self.unread.update(event["unread"])

    @property
    def file_bytes_read(self) -> int:
        """Bytes read, with those of pieces that are being read."""
        return min(self.file_bytes, self.file_bytes_done + sum(self._reading.values()))

    @property
    def share(self) -> float:
        """How much is done, 0 to 1: by bytes, or by pieces if nobody knows the bytes."""
        by_pieces = self.pieces_done / self.pieces if self.pieces else 1.0
        if not self.file_bytes or by_pieces == 1:
            return by_pieces
        return min(self.file_bytes_read / self.file_bytes, 0.999)  # not all before the last piece is done

    @property
    def seconds(self) -> float:
        """Seconds since the start, or from the start to the end."""
        return (self.ended or time.monotonic()) - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds to go at the mean pace of this run; None if nobody can tell."""
        scanned = self.file_bytes_read - self.file_bytes_resumed
        if self.told is None or scanned <= 0:
            return None
        return (time.monotonic() - self.told) * (self.file_bytes - self.file_bytes_read) / scanned

"""What is known of a run while it goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wmbxl.scan import Progress

REMEMBERED = 8192  # finished tasks: many more than are under way at once, and only these can be done again


@dataclass
class _Reading:
    """A task that a worker is at."""

    worker: str
    progress: Progress = field(default_factory=Progress)


@dataclass
class Watch:
    """The state of a run, or of its part on one corpus, kept up to date by the events that workers send.

    What is done again, because a worker was lost with what it was at or held, counts once.

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
    _reading: dict[str, _Reading] = field(default_factory=dict)
    _finished: dict[str, None] = field(default_factory=dict)  # the latest tasks, in order

    def counts(self, event: Mapping[str, Any]) -> bool:
        """Whether an event tells of work that no other one told of, or will tell of."""
        reading = self._reading.get(event["task"])
        given_up = event["kind"] == "batch" and reading is not None and reading.worker != event["worker"]
        return event["task"] not in self._finished and not given_up

    def take(self, event: Mapping[str, Any]) -> None:
        """Take up an event of a worker."""
        self.told = self.told or time.monotonic()
        if not self.counts(event):
            return
        task = event["task"]
        match event["kind"]:
            case "start":
                if lost := self._reading.get(task):
                    self._count(lost.progress, -1)
                self._reading[task] = _Reading(event["worker"])
            case "batch":
                step = Progress(event["file_bytes"], event["documents"], event["windows"])
                self._reading.setdefault(task, _Reading(event["worker"])).progress += step
                self._count(step, 1)
            case "task":
                self._finish(event)

    def _count(self, progress: Progress, sign: int) -> None:
        self.documents += sign * progress.documents
        self.windows += sign * progress.windows

    def _finish(self, event: Mapping[str, Any]) -> None:
        """Take up the end of a task."""
        self._reading.pop(event["task"], None)
        self._finished[event["task"]] = None
        if len(self._finished) > REMEMBERED:
            del self._finished[next(iter(self._finished))]
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
        return min(
            self.file_bytes,
            self.file_bytes_done + sum(reading.progress.file_bytes for reading in self._reading.values()),
        )

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

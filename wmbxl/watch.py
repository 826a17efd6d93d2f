"""What is known of a run while it goes on."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Watch:
    """The state of a run, kept up to date by the events that workers send.

    Attributes
    ----------
    pieces, pieces_done, pieces_resumed : int
        Planned, finished, and of these taken up from checkpoints.
    file_bytes, file_bytes_done : int
        Of all planned files, and of them read so far.
    documents, windows : int
        Scanned so far by this run (what was resumed is not scanned again).
    flagged : set of int
        Problems with a hit in a ``release`` corpus so far, at the reference n.
    unread : Counter
        Pieces and records that could not be audited, by reason.
    dashboard : str
        Address of Dask's dashboard.
    notes : list of str
        What the user should know of how the run began.
    started : float
        Monotonic time of the start, in seconds.
    told : bool
        Whether a worker has sent anything yet.
    """

    pieces: int = 0
    pieces_done: int = 0
    pieces_resumed: int = 0
    file_bytes: int = 0
    file_bytes_done: int = 0
    documents: int = 0
    windows: int = 0
    flagged: set[int] = field(default_factory=set)
    unread: Counter[str] = field(default_factory=Counter)
    dashboard: str = ""
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    told: bool = False
    _reading: dict[str, int] = field(default_factory=dict)

    def take(self, event: dict[str, Any]) -> None:
        """Take up an event of a worker."""
        self.told = True
        if event["kind"] == "batch":
            self.documents += event["documents"]
            self.windows += event["windows"]
            self._reading[event["task"]] = self._reading.get(event["task"], 0) + event["file_bytes"]
        else:
            self._reading.pop(event["task"], None)
            self.file_bytes_done += event["file_bytes"]
            self.pieces_done += event["pieces"]
            self.pieces_resumed += event["pieces"] if event["resumed"] else 0
            self.flagged.update(event["flagged"])
            self.unread.update(event["unread"])

    @property
    def file_bytes_read(self) -> int:
        """Bytes read, with those of pieces that are being read."""
        return min(self.file_bytes, self.file_bytes_done + sum(self._reading.values()))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

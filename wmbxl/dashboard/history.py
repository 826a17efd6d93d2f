"""How much each worker did, over the whole of a run, in bounded space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

BINS = 300
WIDTH = 2.0  # seconds of a bin at the start; workers tell twice a second


@dataclass
class History:
    """Amounts by worker and time.

    Time is cut into at most `BINS` bins. When a run outgrows them, two become one.

    Attributes
    ----------
    width : float
        Seconds of a bin.
    filled : int
        Bins in use; the last one is still growing.
    amounts : dict of str to ndarray
        For each worker float64 of shape ``(BINS, 3)``: bytes, windows, newly flagged problems.
    """

    width: float = WIDTH
    filled: int = 0
    amounts: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def add(self, worker: str, at: float, file_bytes: int = 0, windows: int = 0, flagged: int = 0) -> None:
        """Add what a worker did, `at` seconds after the start."""
        self.reach(at)
        if worker not in self.amounts:
            self.amounts[worker] = np.zeros((BINS, 3))
        self.amounts[worker][int(at / self.width)] += (file_bytes, windows, flagged)

    def reach(self, at: float) -> None:
        """Let time pass, also if nothing happens."""
        while at >= self.width * BINS:
            self._halve()
        self.filled = max(self.filled, int(at / self.width) + 1)

    def close(self, at: float) -> None:
        """Count the bin that is growing as full: the run has ended."""
        self.reach(at)
        self.filled += 1

    def _halve(self) -> None:
        self.width *= 2
        self.filled = (self.filled + 1) // 2
        for worker, old in self.amounts.items():
            self.amounts[worker] = np.zeros_like(old)
            self.amounts[worker][: BINS // 2] = old.reshape(BINS // 2, 2, -1).sum(axis=1)

    def times(self) -> np.ndarray[Any, Any]:
        """Seconds from the start to the end of each full bin, with 0 before the first; float64, shape ``(times,)``."""
        return self.width * np.arange(max(1, self.filled))

    def rates(self, worker: str | None = None) -> np.ndarray[Any, Any]:
        """Bytes and windows per second up to each time, of one worker or of all; float64, shape ``(times, 2)``."""
        return self._until(worker)[:, :2] / self.width

    def flagged(self) -> np.ndarray[Any, Any]:
        """Problems flagged up to each time; float64, shape ``(times,)``."""
        return np.cumsum(self._until(None)[:, 2])

    def _until(self, worker: str | None) -> np.ndarray[Any, Any]:
        whole = sum(self.amounts.values(), np.zeros((BINS, 3))) if worker is None else self.amounts[worker]
        return np.vstack([np.zeros(3), whole[: max(0, self.filled - 1)]])

"""A run as the scheduler sees it: the plan, and the events of workers added up."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any

from wmbxl.dashboard.history import History
from wmbxl.watch import Watch

RECENT = 15.0  # seconds that a worker's present rate is the mean of
SLOW = 3.0  # times as long as its bytes take at the usual pace: a straggler
PATIENCE = 30.0  # seconds that nothing is called a straggler for
PACES = 1000  # finished tasks that the usual pace is the median of
GAPS_KEPT = 200
FLAGGED_KEPT = 20


@dataclass(frozen=True)
class CorpusPlan:
    """What is to be read of a corpus."""

    name: str
    role: str
    pieces: int
    file_bytes: int


@dataclass(frozen=True)
class Plan:
    """What an audit is about.

    Parameters
    ----------
    benchmark, out : str
        Where the problems come from, and where the run folder is.
    problem_ids : tuple of str
    ns : tuple of int
    reference : int
        The n of the flagged problems that are shown meanwhile.
    corpora : tuple of CorpusPlan
    """

    benchmark: str
    out: str
    problem_ids: tuple[str, ...]
    ns: tuple[int, ...]
    reference: int
    corpora: tuple[CorpusPlan, ...]


@dataclass(frozen=True)
class Outcome:
    """How an audit ended.

    Parameters
    ----------
    status : str
        As in ``audit.json``, or ``failed``, ``stopped`` (by the user), or ``lost`` (the process that ran the audit has
        gone without a word).
    error : str
        Why it failed.
    summary : list of dict
        As in ``audit.json``.
    """

    status: str
    error: str = ""
    summary: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Reading:
    """A task that a worker is at, times in seconds after the start."""

    worker: str
    corpus: str
    shard: str
    pieces: int
    file_bytes: int
    since: float
    heard: float
    bytes_read: int = 0


@dataclass
class Worker:
    """What a worker did so far."""

    address: str
    pieces: int = 0
    file_bytes: int = 0
    windows: int = 0
    gone: bool = False
    recent: deque[tuple[float, int, int]] = field(default_factory=deque)  # time, bytes, windows

    def add(self, at: float, file_bytes: int, windows: int) -> None:
        """Take up a step."""
        self.file_bytes += file_bytes
        self.windows += windows
        self.recent.append((at, file_bytes, windows))
        self._forget(at)

    def rates(self, now: float) -> tuple[float, float]:
        """Bytes and windows per second, lately."""
        self._forget(now)
        span = max(1.0, min(RECENT, now - self.recent[0][0])) if self.recent else 1.0
        return sum(step[1] for step in self.recent) / span, sum(step[2] for step in self.recent) / span

    def _forget(self, now: float) -> None:
        while self.recent and self.recent[0][0] < now - RECENT:
            self.recent.popleft()


class Run:
    """Everything that the live page shows of one audit.

    Parameters
    ----------
    plan : Plan
    clock : callable
        Gives monotonic seconds.
    """

    def __init__(self, plan: Plan, clock: Callable[[], float] = time.monotonic) -> None:
        self.plan = plan
        self.began = datetime.now(UTC)
        self.total = Watch(
            pieces=sum(corpus.pieces for corpus in plan.corpora),
            file_bytes=sum(corpus.file_bytes for corpus in plan.corpora),
        )
        self.corpora = {c.name: Watch(pieces=c.pieces, file_bytes=c.file_bytes) for c in plan.corpora}
        self.workers: dict[str, Worker] = {}
        self.reading: dict[str, Reading] = {}
        self.history = History()
        self.flagged: deque[str] = deque(maxlen=FLAGGED_KEPT)  # the latest ones
        self.gaps: list[dict[str, str]] = []
        self.gaps_left_out = 0
        self.outcome: Outcome | None = None
        self._paces: deque[float] = deque(maxlen=PACES)  # bytes per second of finished tasks
        self._clock = clock
        self._started = clock()
        self._ended: float | None = None

    @property
    def now(self) -> float:
        """Seconds since the start, or from the start to the end."""
        return (self._clock() if self._ended is None else self._ended) - self._started

    def take(self, event: Mapping[str, Any]) -> None:
        """Take up an event of a worker."""
        if self.outcome:
            return
        now, key = self.now, event["task"]
        worker = self.workers.setdefault(event["worker"], Worker(event["worker"]))
        worker.gone = False
        if event["kind"] == "start":
            self.reading[key] = Reading(
                worker.address, event["corpus"], event["shard"], event["pieces"], event["file_bytes"], now, now
            )
        elif event["kind"] == "batch":
            worker.add(now, event["file_bytes"], event["windows"])
            self.history.add(worker.address, now, event["file_bytes"], event["windows"])
            if reading := self.reading.get(key):
                reading.heard, reading.bytes_read = now, reading.bytes_read + event["file_bytes"]
        else:
            self._finish(worker, event, now)
        self.total.take(event)
        self.corpora[event["corpus"]].take(event)

    def _finish(self, worker: Worker, event: Mapping[str, Any], now: float) -> None:
        """Take up the end of a task."""
        worker.pieces += event["pieces"]
        if self.total.counts(event):
            self._take_findings(worker, event, now)
        reading = self.reading.pop(event["task"], None)
        if reading and reading.file_bytes and not event["resumed"] and now > reading.since:
            self._paces.append(reading.file_bytes / (now - reading.since))

    def _take_findings(self, worker: Worker, event: Mapping[str, Any], now: float) -> None:
        new = [problem for problem in event["flagged"] if problem not in self.total.flagged]
        self.flagged.extend(self.plan.problem_ids[problem] for problem in new)
        self.history.add(worker.address, now, flagged=len(new))
        gaps = [{**gap, "corpus": event["corpus"]} for gap in event["gaps"]]
        room = max(0, GAPS_KEPT - len(self.gaps))
        self.gaps += gaps[:room]
        self.gaps_left_out += len(gaps[room:])

    def lose(self, address: str) -> None:
        """Take note that a worker has left."""
        self.reading = {key: reading for key, reading in self.reading.items() if reading.worker != address}
        if address in self.workers:
            self.workers[address].gone = True

    def end(self, outcome: Outcome) -> None:
        """Take note of the end."""
        if self.outcome is None:
            self.history.close(self.now)
            self.outcome, self._ended = outcome, self._clock()
            self.reading.clear()
            for watch in (self.total, *self.corpora.values()):
                watch.ended = time.monotonic()

    def rates(self, worker: Worker | None = None) -> tuple[float, float]:
        """Bytes and windows per second, of one worker or of all: lately, or of the whole run once it has ended."""
        workers = [worker] if worker else list(self.workers.values())
        if self.outcome:
            file_bytes = sum(each.file_bytes for each in workers)
            return file_bytes / max(1.0, self.now), sum(each.windows for each in workers) / max(1.0, self.now)
        rates = [each.rates(self.now) for each in workers]
        return sum(rate[0] for rate in rates), sum(rate[1] for rate in rates)

    def stragglers(self) -> list[tuple[Reading, str]]:
        """Tasks that take much longer than their size explains, with the reason in words, worst first."""
        now = self.now
        pace = median(self._paces) if self._paces else None
        found = []
        for reading in self.reading.values():
            spent, silent = now - reading.since, now - reading.heard
            expected = reading.file_bytes / pace if pace else None
            if silent > PATIENCE:
                found.append((reading, f"nothing heard for {silent:.0f} s"))
            elif expected and spent > max(PATIENCE, SLOW * expected):
                found.append((reading, f"{spent / expected:.0f} times as long as its size takes elsewhere"))
        return sorted(found, key=lambda pair: pair[0].since)

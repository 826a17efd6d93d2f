"""What runs on a worker: the index that it holds, and one task."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from distributed import Status, WorkerPlugin, get_worker

from wmbxl.errors import Unreadable, WmbxlError
from wmbxl.folder import CHECKPOINTS, RunFolder
from wmbxl.index import ProbeIndex
from wmbxl.metadata import ledger_table
from wmbxl.plan import Task
from wmbxl.readers import Upcoming
from wmbxl.records import GAPS
from wmbxl.scan import Progress, Scanned, scan_piece, unread_piece
from wmbxl.tally import Tally
from wmbxl.types import Shard

TELL_EVERY = 0.5  # seconds between a worker's events
BLOCK_KEPT = 32 << 20  # bytes of the largest block that malloc keeps, which is the most that glibc allows
FREE_KEPT = 256 << 20  # bytes
GAPS_TOLD = 20  # lines about unread pieces in one event; the ledger has all
ERROR_TOLD = 300  # characters of an error in an event
# Tried again when a run is resumed.
PASSING_FAULTS = ("missing", "permission_denied", "io_error", "changed", "killed_worker")

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h

_indexes: dict[str, ProbeIndex] = {}


@dataclass(frozen=True)
class _UntilItCloses:
    """Lets through what a worker logs, but not that its last heartbeat found the connection closed."""

    worker: Any

    def filter(self, record: logging.LogRecord) -> bool:
        closing = self.worker.status in (Status.closing, Status.closing_gracefully, Status.closed)
        return not closing or "heartbeat" not in record.getMessage()


class QuietWorker(WorkerPlugin):  # type: ignore[misc]
    """Stops Dask's profiler, which asks for the frames of all threads a hundred times a second, and a false alarm.

    Before Python 3.11.9 the profiler can lock a process up for good (https://github.com/python/cpython/issues/106883).
    The alarm is a traceback from a worker that closes while it waits for the answer to a heartbeat.
    """

    name = "wmbxl-quiet"

    def setup(self, worker: Any) -> None:
        """Stop both."""
        logger = logging.getLogger("distributed.worker")
        for earlier in [item for item in logger.filters if isinstance(item, _UntilItCloses)]:
            if earlier.worker.status == Status.closed:  # one of the same process
                logger.removeFilter(earlier)
        logger.addFilter(_UntilItCloses(worker))
        for name in ("profile", "profile-cycle"):
            if callback := worker.periodic_callbacks.pop(name, None):
                callback.stop()


class IndexPlugin(WorkerPlugin):  # type: ignore[misc]
    """Puts the index on every worker, also on one that joins late, as a file mapped into memory.

    (``scatter(broadcast=True)`` reaches only the workers of that moment, and the scheduler drops copies.)
    """

    def __init__(self, fingerprint: str, data: bytes) -> None:
        self.name = f"wmbxl-{fingerprint[:16]}"
        self.fingerprint = fingerprint
        self.data = data

    def setup(self, worker: Any) -> None:
        """Write the index beside the worker's other files and map it."""
        QuietWorker().setup(worker)
        _keep_freed_memory()
        path = Path(worker.local_directory) / f"{self.name}.arrow"
        path.write_bytes(self.data)
        self.data = b""  # this copy of the plugin lives as long as the worker
        _indexes[self.fingerprint] = ProbeIndex.open(path)
        if worker.nanny is not None and not gc.get_freeze_count():  # a process of its own
            gc.freeze()  # what was imported stays, and need not be looked through, least of all when the worker ends

    def teardown(self, worker: Any) -> None:
        """Forget the index."""
        _indexes.pop(self.fingerprint, None)


def _keep_freed_memory() -> None:
    """Have glibc keep the buffers of a batch for the next one.

    Dask starts workers with a MALLOC_TRIM_THRESHOLD_ so low that all of them go back to the system and are cleared by
    it again, which makes a third of a scan.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        for option, size in ((_M_MMAP_THRESHOLD, BLOCK_KEPT), (_M_TRIM_THRESHOLD, FREE_KEPT)):
            libc.mallopt(option, size)


@dataclass(frozen=True)
class Result:
    """What a task, or any number of them, found: a tally for each corpus, and the ledger."""

    tallies: Mapping[str, Tally]
    ledger: pa.Table

    @classmethod
    def sum(cls, results: Iterable[Result]) -> Result:
        """Add results; ledgers stand one behind the other."""
        parts = list(results)
        names = dict.fromkeys(name for part in parts for name in part.tallies)
        tallies = {name: Tally.sum(p.tallies[name] for p in parts if name in p.tallies) for name in names}
        # In one chunk: a row in chunks of its own takes kilobytes.
        return cls(tallies, pa.concat_tables([part.ledger for part in parts]).combine_chunks())

    def to_bytes(self) -> bytes:
        """Return the result as two Arrow IPC streams."""
        tallies = pa.table(
            {"corpus": list(self.tallies), "tally": [tally.to_bytes() for tally in self.tallies.values()]}
        )
        sink = pa.BufferOutputStream()
        for table in (tallies, self.ledger):
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Result:
        """Read a result that `to_bytes` wrote."""
        source = pa.BufferReader(data)
        table = pa.ipc.open_stream(source).read_all()
        pairs = zip(table["corpus"].to_pylist(), table["tally"].to_pylist(), strict=True)
        tallies = {name: Tally.from_bytes(tally) for name, tally in pairs}
        return cls(tallies, pa.ipc.open_stream(source).read_all())


@dataclass(frozen=True)
class Job:
    """What all tasks of a run have in common.

    Parameters
    ----------
    fingerprint : str
        Of the index.
    cap : int
        Most evidence rows for each entry.
    folder : RunFolder
    topic : str
        Under which events are sent.
    release : frozenset of str
        Corpora that decide S0 and S1.
    reference : int
        Position in `ns` of the n whose flagged problems are shown meanwhile.
    """

    fingerprint: str
    cap: int
    folder: RunFolder
    topic: str
    release: frozenset[str]
    reference: int


def run_task(planned: tuple[Task, bool], job: Job) -> Result:
    """Scan a task and leave a checkpoint, or take the checkpoint up if there is one."""
    task, has_checkpoint = planned
    # Also of this run: a result may have been lost with the worker that held it.
    result = _take_up(task, job)
    if result is not None:
        _Teller(job, task).done(result, _flagged(_indexes[job.fingerprint], job, result), resumed=True)
        return result
    teller = _Teller(job, task)
    with contextlib.closing(Upcoming(task.shards)) as upcoming:
        result = _scan(upcoming, job, teller)
    _keep(task, job, result, new=not has_checkpoint)
    teller.done(result, _flagged(_indexes[job.fingerprint], job, result), resumed=False)
    return result


def _scan(upcoming: Upcoming, job: Job, teller: _Teller) -> Result:
    index = _indexes[job.fingerprint]
    return Result.sum(_result(scan_piece(shard, index, job.cap, teller.batch, source)) for shard, source in upcoming)


def run_shard(shard: Shard, job: Job) -> Result:
    """Scan one shard of a task, without a checkpoint and without a word."""
    return _result(scan_piece(shard, _indexes[job.fingerprint], job.cap))


def leave_out(shard: Shard, job: Job, fault: Unreadable) -> Result:
    """Record a shard as unread, without touching it."""
    return _result(unread_piece(shard, _indexes[job.fingerprint], job.cap, fault))


def finish_task(task: Task, result: Result, job: Job) -> Result:
    """Keep and tell the result of a task whose shards were run one by one."""
    _keep(task, job, result, new=False)
    _Teller(job, task).done(result, _flagged(_indexes[job.fingerprint], job, result), resumed=False)
    return result


def _result(piece: Scanned) -> Result:
    return Result({piece.ledger["corpus"]: piece.tally}, ledger_table([piece.ledger]))


def _keep(task: Task, job: Job, result: Result, new: bool) -> None:
    """Leave a checkpoint, unless a fault in it may pass; one that is not `new` replaces a damaged one."""
    if not any(reason in PASSING_FAULTS for tally in result.tallies.values() for reason in tally.faults):
        job.folder.write(f"{CHECKPOINTS}/{task.key}.arrow", result.to_bytes(), new)


def _take_up(task: Task, job: Job) -> Result | None:
    """Read a checkpoint; None if it is gone or damaged, so that the task is scanned again."""
    try:
        return Result.from_bytes(job.folder.read(f"{CHECKPOINTS}/{task.key}.arrow"))
    except (WmbxlError, OSError, ValueError, KeyError, pa.ArrowException):
        return None


def _flagged(index: ProbeIndex, job: Job, result: Result) -> list[int]:
    """Return the problems with a hit at the reference n in a corpus that decides S0."""
    found = [tally.entries.keys for name, tally in result.tallies.items() if name in job.release]
    at_reference = [entries[entries % len(index.ns) == job.reference] for entries in found]
    return sorted({problem for entries in at_reference for problem in index.problems_of(entries).tolist()})


class _Teller:
    """Sends events about a task, a few in a second."""

    def __init__(self, job: Job, task: Task) -> None:
        self._worker, self._topic, self._task = get_worker(), job.topic, task
        self._held = Progress()
        self._last = time.monotonic()
        self._send(kind="start", shard=str(task.shards[0]), pieces=len(task.shards), file_bytes=task.file_bytes)

    def batch(self, progress: Progress) -> None:
        self._held = self._held + progress
        if time.monotonic() - self._last > TELL_EVERY:
            self._flush()

    def done(self, result: Result, flagged: list[int], resumed: bool) -> None:
        self._flush()
        self._send(
            kind="task",
            pieces=len(self._task.shards),
            file_bytes=self._task.file_bytes,
            flagged=flagged,
            unread={k: v for tally in result.tallies.values() for k, v in unread_reasons(tally).items()},
            gaps=gaps(result.ledger),
            resumed=resumed,
        )

    def _flush(self) -> None:
        held, self._held, self._last = self._held, Progress(), time.monotonic()
        self._send(kind="batch", file_bytes=held.file_bytes, documents=held.documents, windows=held.windows)

    def _send(self, **event: Any) -> None:
        where = {"task": self._task.key, "corpus": self._task.corpus, "worker": self._worker.address}
        self._worker.log_event(self._topic, {**event, **where})


def unread_reasons(tally: Tally) -> dict[str, int]:
    """Return how many pieces or records were not read, by reason."""
    gaps = {reason: amount.count for reason, amount in tally.skipped.items() if reason in GAPS}
    return gaps | {reason: amount.count for reason, amount in tally.faults.items()}


def gaps(ledger: pa.Table) -> list[dict[str, str]]:
    """Return the first few pieces of a ledger that were not read whole: ``shard``, ``reason`` and ``detail``."""
    found = []
    for line in ledger.select(["shard", "reason", "error", "skipped"]).to_pylist():
        reasons = [(line["reason"], line["error"][:ERROR_TOLD])] if line["reason"] else []
        reasons += [(name, f"{count:,} {GAPS[name]}") for name, count in line["skipped"] if name in GAPS]
        found += [{"shard": line["shard"], "reason": reason, "detail": detail} for reason, detail in reasons]
    return found[:GAPS_TOLD]

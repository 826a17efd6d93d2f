"""The audit on Dask: scan every piece, sum in a tree, checkpoint, resume, and write the run folder."""

from __future__ import annotations

import contextlib
import platform
import tempfile
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import dask
import dask.bag
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import CommClosedError

from wmbxl import dashboard, metadata, words
from wmbxl.__about__ import __version__
from wmbxl.benchmark import Benchmark
from wmbxl.corpus import BLOCK_SIZE, Corpus
from wmbxl.dashboard import Outcome
from wmbxl.errors import Interrupted, RunMismatch, UsageError, WmbxlError
from wmbxl.folder import REPORT, RunFolder
from wmbxl.index import ProbeIndex
from wmbxl.isolate import run_apart
from wmbxl.plan import Task, Tasks, check_fields, field_not_found, plan
from wmbxl.processes import local_client
from wmbxl.scan import EVIDENCE_CAP
from wmbxl.spans import find_spans
from wmbxl.tally import Tally
from wmbxl.text import Profile
from wmbxl.views import View, audit_view
from wmbxl.watch import Watch
from wmbxl.worker import IndexPlugin, Job, Result, run_task

WINDOW = 256  # tasks submitted as one graph
WINDOWS_AHEAD = 3  # graphs under way at once, so that no worker waits for the end of one
SPLIT_EVERY = 8  # results added at a time
REFERENCE_N = 13  # the paper's n, shown while a run goes on

_UNDER_WAY = ("status", "tasks")  # what audit.json holds at least
_FINISHED = (
    "status", "wmbxl", "versions", "benchmark", "index", "profile", "ns", "channels", "evidence_cap", "accept_unread",
    "corpora", "summary",
)  # fmt: skip

Status = Literal["running", "complete", "incomplete"]


@dataclass(frozen=True)
class Audit:
    """A run folder, opened.

    Parameters
    ----------
    folder : RunFolder

    Examples
    --------
    ``Audit.open("audit/").view("S0", n=13).ids`` lists the problems without a hit.
    """

    folder: RunFolder

    @classmethod
    def open(cls, url: str, storage_options: Mapping[str, Any] | None = None) -> Audit:
        """Open the folder of a finished audit.

        Raises
        ------
        NothingMatches
            If there is no audit in the folder.
        UsageError
            If the audit is not finished, or ``audit.json`` lacks what it should hold.
        """
        made = cls(RunFolder(url, dict(storage_options or {})))
        if made.status == "running":
            raise UsageError(f"{url}: this audit is not finished: run the same wmbxl audit command again to resume it")
        return made

    @cached_property
    def info(self) -> dict[str, Any]:
        """The content of ``audit.json``."""
        info = self.folder.read_json()
        expected = _UNDER_WAY if info.get("status") == "running" else _FINISHED
        if lacking := [name for name in expected if name not in info]:
            raise UsageError(
                f"{self.folder.url}/audit.json: lacks {', '.join(lacking)}: the file was changed by hand, or written "
                "by an older wmbxl: run the audit again"
            )
        return info

    @property
    def status(self) -> Status:
        """``complete``, ``incomplete`` (something was not read) or ``running``."""
        return self.info["status"]

    @cached_property
    def metadata(self) -> pd.DataFrame:
        """One row for each problem, channel and n; see `wmbxl.metadata.METADATA`."""
        frame = self.folder.read_table("metadata.parquet").to_pandas()
        nullable = {"in_S0": "boolean", "in_S1": "boolean", "longest_span": "Int64"}
        return frame.astype({name: nullable[name] for name in nullable if name in frame})

    @cached_property
    def metadata_by_corpus(self) -> pd.DataFrame:
        """The same counts for each corpus."""
        return self.folder.read_table("metadata_by_corpus.parquet").to_pandas()

    @cached_property
    def ngrams(self) -> pd.DataFrame:
        """The matched n-grams of each corpus."""
        return self.folder.read_table("ngrams.parquet").to_pandas()

    @cached_property
    def evidence(self) -> pd.DataFrame:
        """Matches with their place in the corpus, a sample for each problem, channel, n and corpus."""
        table = self.folder.read_table("evidence.parquet")
        return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)

    @cached_property
    def spans(self) -> pd.DataFrame:
        """Overlapping evidence of one problem in one document, merged."""
        table = self._later_table("spans.parquet", metadata.SPANS)
        return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)

    @cached_property
    def problems(self) -> pd.DataFrame:
        """The texts that were looked for, one row for each problem and channel."""
        return self._later_table("problems.parquet", metadata.PROBLEMS).to_pandas()

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """What became of every piece of every corpus."""
        return self.folder.read_table("ledger.parquet").to_pandas(maps_as_pydicts="strict")

    @cached_property
    def sketches(self) -> dict[str, np.ndarray[Any, Any]]:
        """The smallest xxh64 of each corpus's distinct documents; uint64, ascending."""
        frame = self._later_table("sketches.parquet", metadata.SKETCHES).to_pandas()
        return {
            corpus["name"]: frame.loc[frame["corpus"] == corpus["name"], "xxh64"].to_numpy()
            for corpus in self.info["corpora"]
        }

    def _later_table(self, name: str, schema: pa.Schema) -> pa.Table:
        """Read a table that older versions of wmbxl did not write, or not as it is now."""
        if not self.folder.exists(name):
            raise UsageError(
                f"{self.folder.url}: no {name} in this folder: it was removed, or the audit was made by an older "
                "wmbxl, which didn't write it: run the audit again"
            )
        table = self.folder.read_table(name)
        if lacking := [column for column in schema.names if column not in table.column_names]:
            raise UsageError(
                f"{self.folder.url}/{name}: no column {', '.join(lacking)}: the audit was made by an older wmbxl: run "
                "the audit again"
            )
        return table

    @cached_property
    def index(self) -> ProbeIndex:
        """The index that was looked for."""
        return ProbeIndex.from_bytes(self.folder.read("index.arrow"))

    def _repr_html_(self) -> str:
        """Return the status and S0 and S1 by n, for a notebook."""
        columns = ["channel", "n", "problems", "auditable", "flagged", "S0", "S1", "S0_undecided", "S1_undecided"]
        table = pd.DataFrame(self.info["summary"])[columns]
        corpora = ", ".join(f"{c['name']} ({c['documents']:,} documents)" for c in self.info["corpora"])
        return (
            f"<p><strong>Audit</strong> of {escape(self.info['benchmark']['source'] or 'a benchmark in memory')} "
            f"against {escape(corpora)}.<br>{escape(words.status(self.info))}</p>{table.to_html(index=False, border=0)}"
            f"<p><code>{escape(self.folder.url)}</code></p>"
        )

    def view(self, name: Literal["S0", "S1"], n: int, channel: str | None = None, **options: Any) -> View:
        """Return a set of problems by its rule; see `wmbxl.views.audit_view`."""
        return audit_view(self.metadata, name, n, channel, **options)


def audit(
    benchmark: Benchmark,
    corpora: Sequence[Corpus],
    out: str,
    ns: Iterable[int] = (13,),
    profile: Profile = "release",
    client: Client | None = None,
    workers: int | None = None,
    block_size: int = BLOCK_SIZE,
    evidence_cap: int = EVIDENCE_CAP,
    accept_unread: float = 0.0,
    restart: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Audit:
    """Look for a benchmark's n-grams in corpora, on all cores.

    A killed run is resumed by the same call: what was scanned is taken up from checkpoints.

    Parameters
    ----------
    benchmark : Benchmark
    corpora : sequence of Corpus
    out : str
        The run folder, anywhere fsspec reaches.
    ns : iterable of int
        Lengths of n-grams in tokens.
    profile : {"release", "raw"}
    client : distributed.Client, optional
        A cluster that is there already; without one, a local cluster of processes is started and stopped.
    workers : int, optional
        Processes of the local cluster; by default one for each core.
    block_size : int
        Bytes of a piece, for formats that can be cut.
    evidence_cap : int
        Most evidence rows for each problem, channel, n and corpus.
    accept_unread : float
        Largest share of a corpus's bytes, 0 to 1, that may be unread in an audit that still counts as complete.
    restart : bool
        Delete the audit that the run folder holds first; nothing else in it.
    storage_options : mapping, optional
        For the run folder.
    watch : Watch, optional
        Kept up to date while the run goes on.

    Returns
    -------
    Audit

    Raises
    ------
    RunMismatch
        If the folder holds an audit of another benchmark, profile, n or evidence cap.
    FieldNotFound
        If no document of a corpus has its text field.
    Interrupted
        If the scheduler or the run folder is lost. The same call resumes the run.
    UsageError
        If something else about the call is wrong.
    """
    watch = watch or Watch()
    _check(corpora, accept_unread, evidence_cap)
    index = ProbeIndex.build(benchmark, ns, profile)
    packed = index.to_bytes()
    folder = RunFolder(out, dict(storage_options or {}))
    about = _about(benchmark, index, evidence_cap)
    for corpus in corpora:
        check_fields(corpus)
    plans = [plan(corpus, block_size, index.fingerprint, evidence_cap) for corpus in corpora]
    keys = {key for tasks in plans for key in tasks.keys}
    with_checkpoint = _open_folder(folder, about, packed, keys, restart, watch)
    folder.write_table("problems.parquet", metadata.problems_table(benchmark))
    watch.pieces = sum(len(tasks.pieces) for tasks in plans)
    watch.file_bytes = sum(int(tasks.file_bytes.sum()) for tasks in plans)
    job = Job(
        fingerprint=index.fingerprint,
        cap=evidence_cap,
        folder=folder,
        topic=f"wmbxl-{uuid.uuid4().hex}",
        release=frozenset(corpus.name for corpus in corpora if corpus.role == "release"),
        reference=index.ns.index(_reference(index)),
    )
    planned = ((task, task.key in with_checkpoint) for tasks in plans for task in tasks)
    with (
        contextlib.nullcontext(client) if client else local_client(workers) as connected,
        _indexed(connected, index.fingerprint, packed),
        _watched(connected, job.topic, watch, _shown_plan(benchmark, folder, index, corpora, plans)) as tell_outcome,
        _Ledger() as ledger,
    ):
        total = {c.name: Tally.empty(index.fingerprint, len(index.ns), evidence_cap) for c in corpora}
        for result in _results(connected, planned, job, out):
            total = {
                name: total[name] + result.tallies[name] if name in result.tallies else total[name] for name in total
            }
            ledger.append(result.ledger)
        _finish(folder, about, index, corpora, total, ledger, accept_unread)
        done = Audit.open(out, storage_options)
        tell_outcome(Outcome(done.status, summary=done.info["summary"]))
    return done


def _check(corpora: Sequence[Corpus], accept_unread: float, evidence_cap: int) -> None:
    if not corpora:
        raise UsageError("no corpus given: name at least one with --corpus NAME=PATH")
    names = [corpus.name for corpus in corpora]
    if len(set(names)) < len(names):
        raise UsageError(f"two corpora have the same name: {', '.join(names)}")
    if all(corpus.role != "release" for corpus in corpora):
        raise UsageError("no corpus has the role release, so nothing would decide S0 and S1: give one that role")
    if not 0 <= accept_unread <= 1:
        raise UsageError(f"accept_unread is a share between 0 and 1, not {accept_unread}")
    if evidence_cap < 0:
        raise UsageError(f"the evidence cap can't be negative: {evidence_cap}")


def _about(benchmark: Benchmark, index: ProbeIndex, cap: int) -> dict[str, Any]:
    """Return what of ``audit.json`` is known from the start, and what a resumed run must agree with."""
    return {
        "status": "running",
        "wmbxl": __version__,
        "versions": {
            "python": platform.python_version(),
            **{module.__name__: module.__version__ for module in (np, pa, pd, dask)},
        },
        "benchmark": {"source": benchmark.source, "sha256": benchmark.sha256, "problems": len(benchmark)},
        "index": index.fingerprint,
        "profile": index.profile,
        "ns": list(index.ns),
        "channels": list(index.channels),
        "evidence_cap": cap,
    }


def _open_folder(
    folder: RunFolder,
    about: dict[str, Any],
    index: bytes,
    tasks: Set[str],
    restart: bool,
    watch: Watch,
) -> set[str]:
    """Make sure that the folder belongs to this audit, with these keys of tasks; return those of its checkpoints."""
    if restart:
        folder.clear()
    if folder.exists("audit.json"):
        there = folder.read_json()
        settings = ("profile", "ns", "channels", "evidence_cap")
        differing = [
            f"{name} was {there.get(name)}, is {about[name]}" for name in settings if there.get(name) != about[name]
        ]
        if differing or there.get("index") != about["index"]:
            raise RunMismatch(
                f"{folder.url} holds another audit ({'; '.join(differing) or 'the benchmark has changed'}): "
                "choose another --out, or --restart to delete the audit that is there"
            )
    keys = folder.checkpoints()
    stale = len(keys - tasks)
    if stale:
        watch.notes.append(
            f"{stale} checkpoint(s) in {folder.url} belong to shards, block sizes or options that have changed, and "
            "are not used; what they covered is scanned again"
        )
    folder.remove(REPORT)  # it speaks of an earlier state
    folder.write("index.arrow", index)
    folder.write_json({**about, "tasks": len(tasks)})
    return keys


@contextlib.contextmanager
def _indexed(client: Client, fingerprint: str, index: bytes) -> Iterator[None]:
    """Have every worker hold the index while the block runs."""
    plugin = IndexPlugin(fingerprint, index)
    client.register_plugin(plugin)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.unregister_worker_plugin(plugin.name)


@contextlib.contextmanager
def _watched(client: Client, topic: str, watch: Watch, plan: dashboard.Plan) -> Iterator[Callable[[Outcome], None]]:
    """Take the workers' events up while the block runs, here and on the live page; give what tells the outcome."""

    def handle(event: tuple[float, dict[str, Any]]) -> None:
        watch.take(event[1])

    with dashboard.shown(client, topic, plan) as (watch.dashboard, tell_outcome):
        client.subscribe_topic(topic, handle)
        try:
            yield tell_outcome
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                client.unsubscribe_topic(topic)


def _shown_plan(
    benchmark: Benchmark, folder: RunFolder, index: ProbeIndex, corpora: Sequence[Corpus], plans: Sequence[Tasks]
) -> dashboard.Plan:
    """Return what the live page says of the audit from the start."""
    return dashboard.Plan(
        benchmark=benchmark.source,
        out=folder.url,
        problem_ids=index.problem_ids,
        ns=index.ns,
        reference=_reference(index),
        corpora=tuple(
            dashboard.CorpusPlan(corpus.name, corpus.role, len(tasks.pieces), int(tasks.file_bytes.sum()))
            for corpus, tasks in zip(corpora, plans, strict=True)
        ),
    )


def _reference(index: ProbeIndex) -> int:
    """Return the n whose flagged problems are shown while a run goes on."""
    return REFERENCE_N if REFERENCE_N in index.ns else index.ns[0]


def _results(client: Client, planned: Iterator[tuple[Task, bool]], job: Job, out: str) -> Iterator[Result]:
    """Yield the sums of windows of tasks, in order, with a few windows under way."""
    under_way: deque[tuple[list[tuple[Task, bool]], Future]] = deque()
    try:
        while window := list(islice(planned, WINDOW)):
            under_way.append((window, _submit(client, window, job)))
            if len(under_way) >= WINDOWS_AHEAD:
                yield _result_of(client, *under_way.popleft(), job)
        while under_way:
            yield _result_of(client, *under_way.popleft(), job)
    except UsageError:
        raise
    except WmbxlError as error:
        raise Interrupted(f"{error}\nWhat was finished is kept in {out}") from error
    except (CancelledError, CommClosedError) as error:
        raise Interrupted(f"the scheduler is gone: {error}\nWhat was finished is kept in {out}") from error


def _result_of(client: Client, window: list[tuple[Task, bool]], future: Future, job: Job) -> Result:
    try:
        return future.result()
    except KilledWorker:
        future.release()
        return run_apart(client, [task for task, _ in window], job)


def _submit(client: Client, window: list[tuple[Task, bool]], job: Job) -> Future:
    bag = dask.bag.from_sequence(window, npartitions=len(window)).map(partial(run_task, job=job))
    return client.compute(bag.reduction(Result.sum, Result.sum, split_every=SPLIT_EVERY))


class _Ledger:
    """The ledger of a run, kept on disk while it grows."""

    def __enter__(self) -> _Ledger:
        self._file = tempfile.NamedTemporaryFile(suffix=".parquet")
        self._writer = pq.ParquetWriter(self._file.name, metadata.LEDGER, compression="zstd")
        self.without_field: Counter[str] = Counter()
        self.rows = metadata.RowNumbers()
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._file.close()

    def append(self, table: pa.Table) -> None:
        """Add lines."""
        self._writer.write_table(table)
        self.rows.learn(table)
        for line in table.select(["corpus", "documents", "skipped"]).to_pylist():
            self.without_field[line["corpus"]] += not line["documents"] and "text_missing" in dict(line["skipped"])

    def to_bytes(self) -> bytes:
        """Return the whole as Parquet; nothing can be added after this."""
        self._writer.close()
        return Path(self._file.name).read_bytes()


def _finish(
    folder: RunFolder, about: dict[str, Any], index: ProbeIndex, corpora: Sequence[Corpus],
    total: Mapping[str, Tally], ledger: _Ledger, accept_unread: float,
) -> None:  # fmt: skip
    """Write the tables, and ``audit.json`` last."""
    for corpus in corpora:
        tally = total[corpus.name]
        if tally.names and not tally.documents and set(tally.skipped) <= {"text_missing"}:
            raise field_not_found(corpus, tally.names)
    gaps = {name: _unread_share(tally) > accept_unread for name, tally in total.items()}
    release = [corpus.name for corpus in corpora if corpus.role == "release"]
    spans = {name: find_spans(index, tally) for name, tally in total.items()}
    table = metadata.metadata_table(
        index,
        [total[name] for name in release],
        any(gaps[name] for name in release),
        [spans[name] for name in release],
    )
    folder.write_table("metadata.parquet", table)
    folder.write_table("metadata_by_corpus.parquet", metadata.by_corpus_table(index, total))
    folder.write_table("ngrams.parquet", metadata.ngrams_table(index, total))
    folder.write_table("evidence.parquet", metadata.evidence_table(index, total, ledger.rows))
    folder.write_table("spans.parquet", metadata.spans_table(index, spans, ledger.rows))
    folder.write_table("sketches.parquet", metadata.sketches_table(total))
    folder.write("ledger.parquet", ledger.to_bytes())
    folder.write_json(
        {
            **about,
            "status": "incomplete" if any(gaps.values()) else "complete",
            "accept_unread": accept_unread,
            "corpora": [
                {
                    **_corpus_info(corpus, total[corpus.name], index),
                    "pieces_without_field": ledger.without_field[corpus.name],
                }
                for corpus in corpora
            ],
            "summary": metadata.summary(table),
        }
    )


def _unread_share(tally: Tally) -> float:
    """Return the share of a corpus's bytes that was not audited; 1 where nobody can tell."""
    if not tally.unread_bytes:
        return 0.0
    return tally.unread_bytes / tally.file_bytes if tally.file_bytes and not tally.unsized else 1.0


def _corpus_info(corpus: Corpus, tally: Tally, index: ProbeIndex) -> dict[str, Any]:
    return {
        "name": corpus.name,
        "role": corpus.role,
        "text_field": corpus.text_field,
        "id_field": corpus.id_field,
        "join_lists": corpus.join_lists,
        "max_zstd_window": corpus.max_zstd_window,
        "shards": len(corpus.listing.shards),
        "records": tally.records,
        "documents": tally.documents,
        "tokens": tally.tokens,
        "windows": dict(zip(map(str, index.ns), tally.windows, strict=True)),
        "file_bytes": tally.file_bytes,
        "decoded_bytes": tally.decoded_bytes,
        "unread_bytes": tally.unread_bytes,
        "unread_share": _unread_share(tally),
        "skipped": {name: {"records": a.count, "bytes": a.bytes} for name, a in tally.skipped.items()},
        "faults": {name: {"pieces": a.count, "bytes": a.bytes} for name, a in tally.faults.items()},
        "left_out": [{"url": item.url, "reason": item.reason} for item in corpus.listing.left_out],
    }

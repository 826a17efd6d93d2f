"""The build on Dask: papers apart, each with a checkpoint; then what the set as a whole decides; then the files."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import dask
import dask.bag
import pandas as pd
from distributed import Client, KilledWorker, as_completed
from pydantic import BaseModel

from wmbxl.__about__ import __version__
from wmbxl.construct import relevance, solvability
from wmbxl.construct.config import BuildConfig
from wmbxl.construct.funnel import funnel
from wmbxl.construct.paper import PaperResult, PaperRun
from wmbxl.construct.records import Drop, Problem, parse_lines
from wmbxl.construct.screening.judgements import Judgement, history, latest, on
from wmbxl.construct.screening.settlement import STAGE as SCREENING
from wmbxl.construct.screening.settlement import settle
from wmbxl.construct.sources import STAGE as SOURCES
from wmbxl.construct.sources import Metadata, Source, list_sources, read_metadata
from wmbxl.errors import Interrupted, NothingMatches, RecordsError, UsageError, WmbxlError
from wmbxl.extras import needs
from wmbxl.folder import RunFolder
from wmbxl.processes import local_client
from wmbxl.worker import QuietWorker

PAPERS, REPLAYED, CALLS = "papers", "replayed", "calls"
PER_TASK = 4  # papers
REPEATS = "repeats"

Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Build:
    """A version of a benchmark, built.

    Attributes
    ----------
    folder : RunFolder
        The version's own, such as ``out/v1``.
    """

    folder: RunFolder

    @cached_property
    def info(self) -> dict[str, Any]:
        """The content of ``build.json``."""
        return self.folder.read_json("build.json")

    @cached_property
    def funnel(self) -> pd.DataFrame:
        """``stage, unit, outcome, items``."""
        return pd.read_csv(f"{self.folder.url}/funnel.csv")

    @cached_property
    def problems(self) -> list[Problem]:
        """What is released."""
        return self._read("problems.jsonl")

    @cached_property
    def candidates(self) -> list[Problem]:
        """What passed every check but a person's."""
        return self._read("candidates.jsonl")

    def _read(self, name: str) -> list[Problem]:
        lines = enumerate(self.folder.read(name).splitlines(), start=1)
        return parse_lines(Problem, lines, f"{self.folder.url}/{name}")


@dataclass(frozen=True)
class Job:
    """What a worker has to know.

    Attributes
    ----------
    config : BuildConfig
    out : RunFolder
        With an absolute path, since workers may have working folders of their own.
    workers : int or None
        How many share the endpoint; None replays.
    """

    config: BuildConfig
    out: RunFolder
    workers: int | None

    @property
    def papers(self) -> str:
        """Where results are: those of a replay are no checkpoints, since the record may lack answers."""
        return REPLAYED if self.workers is None else PAPERS


def build(
    config: BuildConfig,
    since: date | None = None,
    replay: bool = False,
    client: Client | None = None,
    told: Told = lambda done, papers: None,
) -> Build:
    """Build a benchmark, or the next version of it.

    A killed build is resumed by the same call: papers that are done are taken from checkpoints, and calls to models
    that were answered from the record.

    Parameters
    ----------
    config : BuildConfig
    since : datetime.date, optional
        Add the papers submitted on this day or later that no earlier version has, as a new version. The same date
        again rebuilds that version.
    replay : bool
        Ask no model: the record has to hold every answer. Where the version is there already, every file has to come
        out byte for byte.
    client : distributed.Client, optional
        Without one, a local cluster is started and stopped.
    told : callable, optional
        Called with papers done and papers in all.

    Returns
    -------
    Build

    Raises
    ------
    UsageError
        Sources or settings are wrong, a package is missing, or the endpoint refuses every call.
    Interrupted
        The endpoint or a worker is lost. The same call resumes.
    WmbxlError
        A replay differs.
    """
    for module in ("pylatexenc", *([] if replay else ["openai"])):  # say what is missing before the work
        needs(module, extra="construct", what="a build")
    out = RunFolder(config.out)
    if "://" in out.url:
        raise UsageError(
            f"{config.out}: out has to be a local folder, since calls to models are appended to files in it"
        )
    sources, dropped = list_sources(config.sources, config.storage_options)
    metadata = read_metadata(config.metadata, [source.paper_id for source in sources], config.storage_options)
    version, base = _version(out, since)
    chosen, passed_over = _chosen(sources, metadata, since, base)
    dropped += passed_over
    with _connected(config, client) as connected:
        job = Job(config, out, None if replay else max(1, len(connected.nthreads())))
        keys = _run(connected, [(source, metadata.of(source)) for source in chosen], job, told)
    results = [PaperResult.model_validate_json(out.read(f"{job.papers}/{key}.json")) for key in keys]
    out.remove(REPLAYED)
    files = _files(config, results, dropped, metadata, since, base, history(out.url))
    folder = RunFolder(f"{out.url}/v{version}")
    if replay:
        _compare(folder, files)
    for name, data in files.items():
        folder.write(name, data)
    return Build(folder)


# ---------------------------------------------------------------- versions


def _version(out: RunFolder, since: date | None) -> tuple[int, Build | None]:
    """Return the version to build, and the one before it."""
    number, before = 1, None
    while out.exists(f"v{number}/build.json"):
        found = Build(RunFolder(f"{out.url}/v{number}"))
        if found.info["since"] == (since and since.isoformat()):
            return number, before
        number, before = number + 1, found
    if since and before is None:
        raise UsageError(
            f"{out.url}: there is no version yet that papers could be added to: build without --since first"
        )
    return number, before


def _chosen(
    sources: Sequence[Source], metadata: Metadata, since: date | None, base: Build | None
) -> tuple[list[Source], list[Drop]]:
    """Choose the papers of this version."""
    if since is None:
        return list(sources), []
    chosen, dropped = [], []
    earlier = set(base.info["papers"]) if base else set()
    for source in sources:
        paper = metadata.paper(source, "")
        if paper.paper_id in earlier:
            continue
        if paper.submitted is None or paper.submitted < since:
            reason = "submitted_earlier" if paper.submitted else "no_date"
            dropped.append(Drop(stage=SOURCES, item=paper.paper_id, reason=reason))
        else:
            chosen.append(source)
    return chosen, dropped


# ---------------------------------------------------------------- papers


def _run(client: Client, papers: Sequence[tuple[Source, Metadata]], job: Job, told: Told) -> list[str]:
    """Take all papers through their stages; return the keys of their results, in the order of the papers."""
    if not papers:
        return []
    client.register_plugin(QuietWorker())
    bag = dask.bag.from_sequence(papers, partition_size=PER_TASK).starmap(partial(run_paper, job=job))
    futures = client.compute(bag.to_delayed())
    done = 0
    try:
        for _, keys in as_completed(futures, with_results=True):
            done += len(keys)
            told(done, len(papers))
        return list(chain.from_iterable(client.gather(futures)))
    except KilledWorker as error:
        raise Interrupted(
            f"a worker was killed again and again: {error}\nWhat was finished is kept in {job.config.out}"
        ) from error
    finally:
        client.cancel(futures)


def run_paper(source: Source, metadata: Metadata, job: Job) -> str:
    """Take a paper through its stages, unless a checkpoint has the result; return its key."""
    content = [job.config.fingerprint, source.paper_id, source.name, source.size, source.version, metadata.records]
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    name = f"{job.papers}/{key}.json"
    if job.workers is None or not job.out.exists(name) or not _final(job.out, name):
        calls = Path(job.out.url) / CALLS / f"{source.paper_id.replace('/', '_')}.jsonl"
        result = PaperRun(job.config, calls, job.workers, source, metadata).run()
        job.out.write(name, result.model_dump_json().encode())
    return key


def _final(folder: RunFolder, name: str) -> bool:
    return PaperResult.model_validate_json(folder.read(name)).is_final


@contextmanager
def _connected(config: BuildConfig, client: Client | None) -> Iterator[Client]:
    if client is not None:
        yield client
    elif config.scheduler:
        with Client(config.scheduler, timeout=20) as made:
            yield made
    else:
        with local_client(config.workers) as made:
            yield made


# ---------------------------------------------------------------- the set


def _files(
    config: BuildConfig, results: Iterable[PaperResult], dropped: Sequence[Drop], metadata: Metadata,
    since: date | None, base: Build | None, judgements: Sequence[Judgement],
) -> dict[str, bytes]:  # fmt: skip
    """Put the version's files together, ``build.json`` last."""
    found = sorted(results, key=lambda result: result.paper.paper_id)
    entered = Counter[str]({SOURCES: len(dropped)})
    drops = list(dropped)
    new: list[Problem] = []
    for result in found:
        entered.update(result.entered)
        drops += result.drops
        new += result.problems
    earlier = base.candidates if base else []
    entered[REPEATS] = len(new)
    repeated = {drop.item: drop.model_copy(update={"stage": REPEATS}) for drop in solvability.repeats([*earlier, *new])}
    known = {problem.problem_id for problem in earlier}
    drops += [drop for drop in repeated.values() if drop.item not in known]
    candidates = [*earlier, *(problem for problem in new if problem.problem_id not in repeated)]
    entered[SCREENING] = len(candidates)
    released, unreleased = settle(
        candidates, latest(on(candidates, judgements)), config.quality.release == "unreviewed"
    )
    drops += unreleased
    files = {
        "problems.jsonl": _lines(released),
        "candidates.jsonl": _lines(candidates),
        "extractions.jsonl": _lines(chain.from_iterable(result.extractions for result in found)),
        "papers.csv": _papers(found),
        "drops.jsonl": _lines(drops),
        "funnel.csv": funnel(entered, drops).to_csv(index=False, lineterminator="\n").encode(),
    }
    if base:
        files |= _diff(base.problems, released)
    if config.relevance.labels:
        files["relevance.json"] = _json(_measured(config, found))
    papers = sorted({result.paper.paper_id for result in found} | set(base.info["papers"] if base else ()))
    about = {
        "wmbxl": __version__,
        "since": since and since.isoformat(),
        "base": base and base.folder.url.rpartition("/")[2],
        "config": json.loads(
            config.model_dump_json(exclude={"storage_options", "out", "workers", "scheduler", "sources", "metadata"})
        ),
        "metadata_bad_lines": metadata.bad_lines,
        "papers": papers,
        "problems": len(released),
        "candidates": len(candidates),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    return {**files, "build.json": _json(about)}


def _diff(before: Sequence[Problem], after: Sequence[Problem]) -> dict[str, bytes]:
    old = {problem.problem_id: problem for problem in before}
    new = {problem.problem_id: problem for problem in after}
    diff = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    return {"diff.json": _json(diff), "added.jsonl": _lines(new[name] for name in diff["added"])}


def _measured(config: BuildConfig, results: Sequence[PaperResult]) -> dict[str, Any]:
    """Hold the score, and the model where it was asked, against the labels."""
    labels = read_labels(str(config.relevance.labels))
    threshold = config.relevance.threshold
    by_score = {r.paper.paper_id: r.score["score"] >= threshold for r in results if r.score}
    by_model = {r.paper.paper_id: r.model_says for r in results if r.model_says is not None}
    said = {"score": by_score, "model": by_model}
    return {name: relevance.measure(labels, each) for name, each in said.items()}


def read_labels(path: str) -> dict[str, bool]:
    """Read a CSV with the columns ``paper_id`` and ``relevant``.

    Raises
    ------
    UsageError
        It can't be read, lacks a column, or holds another value than true and false.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read ({error}): correct relevance.labels") from error
    values = {"true": True, "false": False}
    issues = [
        f"line {number}: expected paper_id and relevant (true or false), found {row}"
        for number, row in enumerate(rows, start=2)
        if not row.get("paper_id") or (row.get("relevant") or "").lower() not in values
    ]
    if issues:
        raise RecordsError(path, issues)
    return {row["paper_id"]: values[row["relevant"].lower()] for row in rows}


def _compare(folder: RunFolder, files: Mapping[str, bytes]) -> None:
    """Hold a replay against the version that is there.

    Raises
    ------
    WmbxlError
        They differ.
    """
    try:
        different = [name for name, data in files.items() if folder.read(name) != data]
    except NothingMatches:  # nothing is there yet, or a file was lost
        return
    if different:
        raise WmbxlError(
            f"{folder.url}: the replay differs in {', '.join(different)}: the config, the sources, the judgements or "
            "the record of calls changed since this version was built. Nothing was written."
        )


# ---------------------------------------------------------------- files


def _papers(results: Sequence[PaperResult]) -> bytes:
    """Write what became of each paper as CSV: its score with all parts, and what was found."""
    rows = [
        {
            "paper_id": result.paper.paper_id,
            "source": result.paper.source,
            "source_license": result.paper.license,
            "submitted": result.paper.submitted,
            **(result.score or {}),
            "model_says": result.model_says,
            "found": result.entered.get("equations", 0),
            "extracted": len(result.extractions),
            "problems": len(result.problems),
            "fell": "; ".join(drop.reason for drop in result.drops if drop.item == result.paper.paper_id),
            "notes": "; ".join(f"{name} {count}" for name, count in result.notes.items()),
        }
        for result in results
    ]
    return pd.DataFrame(rows, columns=PAPER_COLUMNS).to_csv(index=False, lineterminator="\n").encode()


PAPER_COLUMNS = [
    "paper_id", "source", "source_license", "submitted", "score", "categories", "terms", "equations", "terms_found",
    "model_says", "found", "extracted", "problems", "fell", "notes",
]  # fmt: skip


def _lines(records: Iterable[BaseModel]) -> bytes:
    return b"".join(record.model_dump_json().encode() + b"\n" for record in records)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()

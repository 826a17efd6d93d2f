"""The files under ``data/``, in the layout of the paper's release."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

import orjson
import pandas as pd

from wmbxl.audit import Audit
from wmbxl.errors import UsageError
from wmbxl.export import export_release
from wmbxl.folder import RunFolder
from wmbxl.papers import paper_disjoint_slice, paper_disjoint_split
from wmbxl.release import layout
from wmbxl.release.licences import RECORD_LICENCES, RecordLicence
from wmbxl.release.results import result_tables
from wmbxl.release.settings import ReleaseConfig
from wmbxl.release.sources import Problem, Sources
from wmbxl.stats.sensitivity import lengths
from wmbxl.tables import Record, encode_table, read_records
from wmbxl.views import audit_rows


def data_files(config: ReleaseConfig, sources: Sources) -> tuple[dict[str, bytes], list[str]]:
    """Make every file under ``data/``; a file of records that would be empty is left out.

    Returns
    -------
    files : dict of str to bytes
    remarks : list of str
        What is odd about the verdicts.

    Raises
    ------
    UsageError
        The benchmark has no test or no training problems, or a further table can't be used.
    """
    disjoint = paper_disjoint_slice(sources.frame)
    records = {
        problem.problem_id: _record(problem, sources, licence)
        for problem in sources.problems
        if (licence := sources.licence_of(problem))
    }
    public = [name for name, record in records.items() if record["split"] == "test"]
    tables = {
        layout.MANIFEST: _manifest(sources),
        layout.PAPERS: _papers(sources),
        layout.flags_path(config.about.version): _flags(sources),
        layout.MEMBERSHIP: _membership(sources, config.channel),
        layout.split_path(config.paper_split.seed): _paper_split(config, sources),
        layout.DISJOINT: sources.frame[sources.frame["problem_id"].isin(disjoint.ids)].drop(columns="split"),
    }
    results, remarks = result_tables(config, sources, public)
    lines = _record_files(records, public, set(disjoint.ids)) | {layout.METADATA: list(_metadata(sources))}
    files = {
        **{path: b"".join(_line(record) for record in found) for path, found in lines.items() if found},
        **{path: encode_table(table, "csv") for path, table in tables.items()},
        **{f"data/{name}.csv": encode_table(table, "csv") for name, table in results.items()},
        layout.PUBLIC_IDS: orjson.dumps(public, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
    }
    return {**files, **_further_tables(config, files), **_external_audits(config)}, remarks


def _line(record: Record) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def _record(problem: Problem, sources: Sources, licence: RecordLicence) -> Record:
    """Return a released problem with the fields of the paper's release, in its order."""
    paper = sources.papers[problem.paper_id]
    made = {
        "paper_title": problem.paper_title or f"Source paper {problem.paper_id}",
        "prompt": problem.asked(),
        "contamination": _labels(problem.problem_id, sources),
        "source_license": paper.source_license,
        "source_license_class": paper.licence_class,
        "record_license": licence.spdx,
    }
    record = {**problem.model_dump(), **made}
    return {name: record[name] for name in layout.Record.model_fields}


def _labels(name: str, sources: Sources, withheld: bool = False) -> dict[str, Any]:
    row = sources.metadata.loc[name].to_dict()
    counts = {key: int(row[key]) for key in ("hits_total", "docs_total")}
    matched = {} if withheld else {layout.MATCHED: sources.matched.get(name, [])}
    return counts | matched | {key: None if pd.isna(row[key]) else bool(row[key]) for key in ("in_S0", "in_S1")}


def _metadata(sources: Sources) -> Iterable[Record]:
    for problem in sources.problems:
        name = problem.problem_id
        yield {"problem_id": name, **_labels(name, sources, withheld=not sources.licence_of(problem))}


def _record_files(records: dict[str, Record], public: Sequence[str], disjoint: set[str]) -> dict[str, list[Record]]:
    files = {
        licence.path: [record for record in records.values() if record["record_license"] == licence.spdx]
        for licence in RECORD_LICENCES
    }
    shown = [records[name] for name in public]
    return {
        **files,
        layout.S0_VIEW: [record for record in shown if record["contamination"]["in_S0"]],
        layout.S1_VIEW: [record for record in shown if record["contamination"]["in_S1"]],
        layout.DISJOINT_VIEW: [record for record in shown if record["problem_id"] in disjoint],
    }


def _manifest(sources: Sources) -> pd.DataFrame:
    rows = []
    for problem in sources.problems:
        if not sources.licence_of(problem):
            paper = sources.papers[problem.paper_id]
            about = (paper.arxiv_id, problem.split, problem.type, paper.licence_class, paper.source_license)
            rows.append((problem.problem_id, problem.paper_id, *about))
    return pd.DataFrame(rows, columns=layout.columns(layout.Withheld))


def _papers(sources: Sources) -> pd.DataFrame:
    rows = [(p.paper_id, p.arxiv_id, p.source_license, p.licence_class) for p in sources.papers.values()]
    return pd.DataFrame(rows, columns=layout.columns(layout.SourcePaper))


def _flags(sources: Sources) -> pd.DataFrame:
    labels = sources.metadata[["hits_total", "docs_total", "auditable", "in_S0", "in_S1"]]
    return sources.frame.join(labels, on="problem_id").assign(
        released=[sources.licence_of(problem) is not None for problem in sources.problems]
    )[layout.columns(layout.Flags)]


def _membership(sources: Sources, channel: str) -> pd.DataFrame:
    """Return in which S0 each test problem is, a column for each n."""
    tests = sources.frame.loc[sources.frame["split"] == "test", ["problem_id"]]
    for n in lengths(sources.audit.metadata):
        labels = audit_rows(sources.audit.metadata, n, channel).set_index("problem_id")["in_S0"]
        tests = tests.join(labels.rename(layout.membership(n)), on="problem_id")
    return tests


def _paper_split(config: ReleaseConfig, sources: Sources) -> pd.DataFrame:
    split = paper_disjoint_split(sources.frame, config.paper_split.fraction, config.paper_split.seed)
    held_out = sources.frame["problem_id"].isin(split.test.ids)
    frame = sources.frame.rename(columns={"split": "original_split"})
    return frame.assign(paper_disjoint_split=held_out.map({True: "test", False: "train"}))


def _further_tables(config: ReleaseConfig, taken: Iterable[str]) -> dict[str, bytes]:
    """Copy the author's own tables, as CSV with this project's line ends."""
    files = {}
    for name, path in config.tables.items():
        if PurePosixPath(path).suffix != ".csv":
            raise UsageError(f"tables.{name}: expected a .csv file, found {path}")
        if f"data/{name}.csv" in taken:
            raise UsageError(f"tables.{name}: the release has a file of that name already: choose another one")
        files[f"data/{name}.csv"] = encode_table(pd.DataFrame(read_records(path, f"tables.{name}")), "csv")
    return files


def _external_audits(config: ReleaseConfig) -> dict[str, bytes]:
    """Export the audits of other benchmarks, in the layout of the paper's release."""
    files = {}
    for name, url in config.external_audits.items():
        with tempfile.TemporaryDirectory() as folder:
            out = RunFolder(folder)
            export_release(Audit.open(url, config.storage_options), out, config.n, config.channel)
            files[f"data/external-audits/{name}.jsonl"] = out.read("contamination-audit.jsonl")
    return files

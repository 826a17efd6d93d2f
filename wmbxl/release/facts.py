"""What the documents of a release say in numbers, counted from its tables and from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from wmbxl.release import layout
from wmbxl.release.licences import RECORD_LICENCES
from wmbxl.release.rows import Files, Row, read_rows
from wmbxl.release.settings import Released

OWN_LICENCE = "each record's `record_license`"
TRUE = "True"  # as a table has it


@dataclass(frozen=True)
class DataFile:
    """A file of a release."""

    path: str
    rows: int
    licence: str


@dataclass(frozen=True)
class SetAtLength:
    """S0 of the test problems at one n."""

    n: int
    s0: int
    problems: int

    @property
    def percent(self) -> str:
        """Share of S0."""
        return f"{100 * self.s0 / self.problems:.1f}"


@dataclass(frozen=True)
class Facts:
    """Counts that documents show. Counters are in order of their keys."""

    problems: int
    papers: int
    released: int
    withheld: int
    splits: dict[str, int]
    types: dict[str, int]
    withheld_classes: dict[str, int]
    paper_classes: dict[str, int]
    paper_splits: dict[str, int]
    flagged: int
    s0: int
    s1: int
    undecided: int
    unauditable: int
    test: int
    test_s0: int
    test_s1: int
    public: int
    disjoint: int
    by_n: tuple[SetAtLength, ...]
    files: tuple[DataFile, ...]
    record_files: tuple[DataFile, ...]
    view_files: tuple[DataFile, ...]
    results: tuple[dict[str, Any], ...]


def gather(files: Files, released: Released) -> Facts:
    """Count what the documents say.

    Parameters
    ----------
    files : mapping of str to bytes
        The files of a release; those of a view or licence that has no record may be absent.
    released : Released
        What the author and the run say; tells how files are named.

    Raises
    ------
    BadRow
        A table can't be read.
    KeyError
        A file or a column is absent.
    """
    flags_path = layout.flags_path(released.about.version)
    flags = _values(read_rows(flags_path, files[flags_path]))
    manifest = _values(read_rows(layout.MANIFEST, files[layout.MANIFEST]))
    papers = _values(read_rows(layout.PAPERS, files[layout.PAPERS]))
    split_path = layout.split_path(released.run.paper_split.seed)
    listed = _data_files(files, released)
    records = [file for file in listed if file.path in layout.PROBLEMS]
    tests = [row for row in flags if row["split"] == "test"]
    return Facts(
        problems=len(flags),
        papers=len(papers),
        released=sum(file.rows for file in records),
        withheld=len(manifest),
        splits=_count(flags, "split"),
        types=_count(flags, "type"),
        withheld_classes=_count(manifest, "license_class"),
        paper_classes=_count(papers, "license_class"),
        paper_splits=_count(_values(read_rows(split_path, files[split_path])), "paper_disjoint_split"),
        flagged=_count(flags, "in_S0").get("False", 0),
        s0=_count(flags, "in_S0").get(TRUE, 0),
        s1=_count(flags, "in_S1").get(TRUE, 0),
        undecided=_count(flags, "in_S0").get("", 0),
        unauditable=_count(flags, "auditable").get("False", 0),
        test=len(tests),
        test_s0=_count(tests, "in_S0").get(TRUE, 0),
        test_s1=_count(tests, "in_S1").get(TRUE, 0),
        public=len(orjson.loads(files[layout.PUBLIC_IDS])),
        disjoint=len(read_rows(layout.DISJOINT, files[layout.DISJOINT])),
        by_n=_by_n(_values(read_rows(layout.MEMBERSHIP, files[layout.MEMBERSHIP])), released.run.ns),
        files=tuple(listed),
        record_files=tuple(records),
        view_files=tuple(file for file in listed if file.path in layout.VIEWS),
        results=_results(files),
    )


def _values(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [row.value for row in rows]


def _count(rows: Iterable[dict[str, Any]], column: str) -> dict[str, int]:
    return dict(sorted(Counter(row[column] for row in rows).items()))


def _by_n(rows: list[dict[str, Any]], ns: list[int]) -> tuple[SetAtLength, ...]:
    return tuple(SetAtLength(n, _count(rows, layout.membership(n)).get(TRUE, 0), len(rows)) for n in sorted(ns))


def _results(files: Files) -> tuple[dict[str, Any], ...]:
    path = layout.PUBLIC_RESULTS
    return tuple(_values(read_rows(path, files[path]))) if path in files else ()


def _data_files(files: Files, released: Released) -> list[DataFile]:
    """List the tables and the id list, with their rows and licences."""
    own = {licence.path: licence.spdx for licence in RECORD_LICENCES} | dict.fromkeys(layout.VIEWS, OWN_LICENCE)
    rows = {path: len(read_rows(path, files[path])) for path in files if path.endswith((".csv", ".jsonl"))}
    rows[layout.PUBLIC_IDS] = len(orjson.loads(files[layout.PUBLIC_IDS]))
    return [DataFile(path, rows[path], own.get(path, released.about.metadata_licence)) for path in sorted(rows)]

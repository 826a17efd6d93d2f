"""Is the Croissant description right, and can every record be read through it?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wmbxl.release import layout
from wmbxl.release.croissant import mlcroissant, statements
from wmbxl.release.facts import gather
from wmbxl.release.opened import Issue, Opened, Tables
from wmbxl.release.rows import Files, Row
from wmbxl.release.settings import Released


@dataclass(frozen=True)
class Described:
    """A Croissant description, read.

    Attributes
    ----------
    metadata : mlcroissant.Metadata or None
        None if it can't be read.
    issues : tuple of Issue
    records : int
        Records that were read through it.
    """

    metadata: Any
    issues: tuple[Issue, ...]
    records: int


def read_description(opened: Opened, tables: Tables) -> Described:
    """Validate the description by mlcroissant, hold its files against those of the folder, and read all records.

    No data are downloaded: what is not a file of the folder is an issue, and is not read.
    """
    mlc = mlcroissant()
    try:
        dataset = mlc.Dataset(opened.folder / layout.CROISSANT)
    except Exception as error:  # mlcroissant, rdflib and json each have their own
        lines = [line.strip(" -") for line in str(error).splitlines() if line.strip().startswith("-")]
        issues = [_issue(line) for line in lines or [f"can't be read: {error}"]]
        return Described(None, tuple(issues), 0)
    wrong = dict(_wrong_files(opened, dataset.metadata))
    issues, records = list(wrong.values()), 0
    unread = {path for path in (*layout.PROBLEMS, layout.METADATA) if path in tables.rows}
    for record_set in dataset.metadata.record_sets:
        sources = {field.source.file_object for field in record_set.fields}
        if len(sources) != 1 or not sources <= set(tables.rows) - set(wrong):
            issues.append(_issue(f"record set {record_set.id}: not read, since its files are not as described"))
            continue
        (path,) = sources
        issues += _records(tables.rows[path], dataset, record_set, path)
        records += len(tables.rows[path])
        unread.discard(path)
    issues += [_issue(f"{path}: no record set reads it") for path in sorted(unread)]
    return Described(dataset.metadata, tuple(issues), records)


def differing_statements(files: Files, released: Released, described: Described) -> Iterator[Issue]:
    """Yield what the description says in words and in numbers, and should not say."""
    if described.metadata is None:
        return
    for name, expected in statements(files, released, gather(files, released)).items():
        found = getattr(described.metadata, name)
        if _listed(found) != _listed(expected):
            yield _issue(f"{name}: expected {expected!r}, found {found!r}")


def _issue(message: str) -> Issue:
    return Issue("croissant", layout.CROISSANT, message)


def _listed(value: Any) -> list[Any]:
    """Return a value or values as a sorted list: JSON-LD makes no difference between them, and knows no order."""
    return [] if value is None else sorted(value) if isinstance(value, list) else [value]


def _wrong_files(opened: Opened, metadata: Any) -> Iterator[tuple[str, Issue]]:
    """Yield files that are not as described, each with what is wrong."""
    there = {path for path in opened.files if path.startswith("data/")}
    described = {file.id: file for file in metadata.distribution}
    for path in sorted(there - set(described)):
        yield path, _issue(f"{path}: not described")
    for path, file in described.items():
        if path not in there or file.content_url != path:
            yield path, _issue(f"{path}: its contentUrl {file.content_url!r} is not this file")
            continue
        expected = {"sha256": hashlib.sha256(opened.files[path]).hexdigest(), "size": f"{len(opened.files[path])} B"}
        found = {"sha256": file.sha256, "size": file.content_size}
        if found != expected:
            yield path, _issue(f"{path}: expected {expected}, found {found}")


def _records(rows: list[Row], dataset: Any, record_set: Any, path: str) -> Iterator[Issue]:
    """Read a record set, and compare it with the rows of its file."""
    try:
        read = list(dataset.records(record_set.id))
    except Exception as error:  # pandas, jsonpath and mlcroissant each have their own
        yield _issue(f"record set {record_set.id}: can't be read: {error}")
        return
    if len(read) != len(rows):
        yield _issue(f"record set {record_set.id}: {len(read)} records, and {path} has {len(rows)}")
        return
    for row, record in zip(rows, read, strict=True):
        for field in record_set.fields:
            expected, found = _value(row.value, field.source), record[field.id]
            found = found.decode() if isinstance(found, bytes) else found
            if found != expected:
                message = f"{field.name}: read through {layout.CROISSANT} it is {found!r:.80}, not {expected!r:.80}"
                hint = ": what looks like a number is read as one, so give it a letter" if found is not None else ""
                yield Issue("croissant", path, message + hint, row.line)


def _value(row: dict[str, Any], source: Any) -> Any:
    """Follow a field's source by hand."""
    value = row.get(source.extract.column)
    for transform in source.transforms:
        value = value.get(transform.json_path) if isinstance(value, dict) else None
    return value

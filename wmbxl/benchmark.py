"""The evaluation set: its problems, and the text of each that is looked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from wmbxl import formats, jsonl, stores
from wmbxl.errors import BenchmarkError, FieldNotFound, NothingMatches, Unreadable, UsageError
from wmbxl.records import REPAIRED, Number, Skip, get_field, names_in, parse_json
from wmbxl.streams import Source, decompress, to_utf8
from wmbxl.text import replace_surrogates

PROMPT, ANSWER = "prompt", "answer"
_MISSING = object()


@dataclass(frozen=True)
class Problem:
    """A problem of a benchmark.

    Parameters
    ----------
    id : str
    surfaces : mapping of str to str
        Channel (``"prompt"``, ``"answer"``) to the text that is looked for.
    record : mapping
        The record as it was read.
    """

    id: str
    surfaces: Mapping[str, str]
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Benchmark:
    """A set of problems. Read one with `wmbxl.read_benchmark`.

    Parameters
    ----------
    problems : tuple of Problem
    source : str
        Where it was read from.
    sha256 : str
        Digest of the file, or of all files in order of their names.
    """

    problems: tuple[Problem, ...]
    source: str = ""
    sha256: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the problems, in the benchmark's order."""
        return tuple(problem.id for problem in self.problems)

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels that the surfaces have."""
        return tuple(self.problems[0].surfaces)

    def __len__(self) -> int:
        return len(self.problems)

    @classmethod
    def from_surfaces(cls, surfaces: Mapping[str, str | Mapping[str, str]]) -> Benchmark:
        """Make a benchmark of texts in memory.

        Parameters
        ----------
        surfaces : mapping
            Problem id to its prompt, or to a mapping of channels to texts (the same channels for all).

        Examples
        --------
        >>> Benchmark.from_surfaces({"p1": "What is $1 + 1$?"}).ids
        ('p1',)

        Raises
        ------
        UsageError
            If there is no problem, or they differ in their channels.
        """
        problems = tuple(
            Problem(replace_surrogates(id), {PROMPT: text} if isinstance(text, str) else text)
            for id, text in surfaces.items()
        )
        if not problems:
            raise UsageError("a benchmark needs at least one problem")
        if any(list(problem.surfaces) != list(problems[0].surfaces) for problem in problems):
            raise UsageError("all problems must have the same channels, in the same order")
        return cls(problems)


def read_benchmark(
    path: str,
    id_field: str = "problem_id",
    text_fields: Sequence[str] = ("text",),
    answer_field: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Benchmark:
    """Read a benchmark.

    Parameters
    ----------
    path : str
        A JSONL file (plain, gz, bz2, xz, zst) or JSON array, a Parquet, Arrow or CSV file, or a folder of these
        such as ``datasets.save_to_disk`` writes. Anything that fsspec reaches.
    id_field : str
        The field that names a problem; dots reach into nested fields, here and below.
    text_fields : sequence of str
        The fields that make up the prompt, in order, joined by a blank line. Empty and null ones are left out.
    answer_field : str, optional
        The field with the answer, indexed as a channel of its own. A number is taken as it is
        written; null is no answer.
    storage_options : mapping, optional
        For fsspec.

    Returns
    -------
    Benchmark

    Raises
    ------
    FieldNotFound
        If no record has one of the fields.
    BenchmarkError
        If there are bad records, with all of them, or none at all.
    NothingMatches
        If there is no such file.
    """
    if not text_fields:
        raise UsageError("text_fields is empty: name at least one field with --text-field")
    files = _files(path, dict(storage_options or {}))
    digest = hashlib.sha256()
    rows: list[tuple[str, Any]] = []
    for url in files:
        rows.extend(_read_file(url, dict(storage_options or {}), digest))
    if not rows:
        raise BenchmarkError(path, ["no records: the benchmark is empty"])
    options = {id_field: "--id-field", **dict.fromkeys(text_fields, "--text-field")}
    if answer_field:
        options[answer_field] = "--answer-field"
    for name, option in options.items():
        if all(not isinstance(row, dict) or get_field(row, name, _MISSING) is _MISSING for _, row in rows):
            raise FieldNotFound(path, name, names_in(row for _, row in rows), option)
    return Benchmark(_problems(path, rows, id_field, text_fields, answer_field), path, digest.hexdigest())


def _problems(
    path: str,
    rows: list[tuple[str, Any]],
    id_field: str,
    text_fields: Sequence[str],
    answer_field: str | None,
) -> tuple[Problem, ...]:
    """Compose the problems; collect every bad record before raising."""
    issues: list[str] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for place, row in rows:
        if isinstance(row, Skip):
            issues.append(f"{place}: {_SAYS[row.reason]}")
            continue
        if not isinstance(row, dict):
            issues.append(f"{place}: not an object but {type(row).__name__}")
            continue
        found = list(_issues(row, id_field, text_fields, answer_field))
        id = replace_surrogates(str(get_field(row, id_field)))
        if not found and id in seen:
            found.append(f"{id_field} {id!r} is a duplicate of the one in {seen[id]}")
        issues.extend(f"{place}: {issue}" for issue in found)
        if not found:
            seen[id] = place
            parts = (get_field(row, name) for name in text_fields)
            surfaces = {PROMPT: "\n\n".join(part for part in parts if part)}
            if answer_field:
                answer = get_field(row, answer_field)
                surfaces[ANSWER] = "" if answer is None else str(answer)
            problems.append(Problem(id, surfaces, row))
    if issues:
        raise BenchmarkError(path, issues)
    return tuple(problems)


_SAYS = {"not_json": "not JSON", "too_nested": "nested too deeply", REPAIRED: "not UTF-8"}


def _issues(row: dict[str, Any], id_field: str, text_fields: Sequence[str], answer_field: str | None) -> Iterator[str]:
    id = get_field(row, id_field, _MISSING)
    if id is _MISSING:
        yield f"no field {id_field!r}"
    elif (
        isinstance(id, bool)
        or not isinstance(id, str | int)
        or id == ""
        or (isinstance(id, Number) and not id.is_integer)
    ):
        yield f"{id_field} must be text or an integer, found {id!r:.60}"
    text = False
    for name in text_fields:
        value = get_field(row, name, _MISSING)
        if value is _MISSING:
            yield f"no field {name!r}"
        elif value is not None and (not isinstance(value, str) or isinstance(value, Number)):
            kind = "number" if isinstance(value, Number) else type(value).__name__
            yield f"{name} must be text, found {kind} {value!s:.60}"
        else:
            text = text or bool(value and value.strip())
            continue
        return
    if not text:
        yield f"no text: {' and '.join(text_fields)} empty"
    if answer_field:
        answer = get_field(row, answer_field, _MISSING)
        if answer is _MISSING:
            yield f"no field {answer_field!r}"
        elif isinstance(answer, bool) or (answer is not None and not isinstance(answer, str | int | float)):
            yield f"{answer_field} must be text or a number, found {type(answer).__name__}"


# ---------------------------------------------------------------- files


def _files(path: str, storage_options: dict[str, Any]) -> list[str]:
    try:
        filesystem, root = stores.locate(path, storage_options)
        if not stores.retry(filesystem.exists, root):
            raise NothingMatches(f"{path}: there is no such benchmark file or folder")
        folder = stores.retry(filesystem.isdir, root)
    except UsageError:
        raise
    except Exception as error:  # each store has errors of its own
        raise UsageError(f"{path}: the benchmark can't be reached: {stores.last_word(error)}") from error
    if not folder:
        return [path]
    names = sorted(
        name for name in filesystem.find(root)
        if formats.named_records(name) and not PurePosixPath(name).name.startswith((".", "_", "cache-"))
    )  # fmt: skip
    names = [name for name in names if PurePosixPath(name).name not in formats.SIDE_FILES]
    splits = {str(PurePosixPath(name).parent) for name in names}
    if len(splits) > 1:
        raise UsageError(f"{path}: holds several splits ({', '.join(sorted(splits))}): name one of them")
    if not names:
        raise NothingMatches(f"{path}: the folder holds no JSONL, Parquet or Arrow file")
    return [filesystem.unstrip_protocol(name) for name in names]


def _read_file(url: str, storage_options: dict[str, Any], digest: Any) -> list[tuple[str, Any]]:
    """Return (place, record) for all records of a file; a record that can't be parsed is a Skip."""
    try:
        source = Source(url, storage_options)
        data = b"".join(iter(source.read, b""))
        digest.update(data)
        codec = formats.codec_of(data)
        if codec:
            data = b"".join(decompress(Source(url, storage_options), codec))
        if formats.stem(url).endswith((".csv", ".tsv")):
            return _read_csv(url, data)
        found = formats.detect(data[: formats.HEAD], url)
        if found.kind in ("parquet", "arrow_file", "arrow_stream"):
            return _read_columns(url, found.kind, data)
        if found.encoding != "utf-8":
            data = b"".join(to_utf8(iter([data]), found.encoding))
        return _read_json(url, found.kind, data.removeprefix(b"\xef\xbb\xbf"))
    except (Unreadable, pa.ArrowException) as error:
        raise UsageError(f"the benchmark can't be read: {error}") from error


def _read_json(url: str, kind: str, data: bytes) -> list[tuple[str, Any]]:
    numbered: Iterable[tuple[str, bytes]]
    if kind == "values":
        items = (item for group in jsonl.values([data]) for item in group)
        numbered = ((f"{url} record {i}", item) for i, item in enumerate(items, 1))
    else:
        numbered = ((f"{url} line {i}", line) for i, line in enumerate(data.split(b"\n"), 1))
    rows: list[tuple[str, Any]] = []
    for place, item in numbered:
        if not item or item.isspace():
            continue
        try:
            parsed = parse_json(item, exact_numbers=True)
            rows.append((place, Skip(REPAIRED) if parsed.repaired else parsed.value))
        except Skip as skip:
            rows.append((place, skip))
    return rows


def _read_csv(url: str, data: bytes) -> list[tuple[str, Any]]:
    separator = "\t" if formats.stem(url).endswith(".tsv") else ","
    try:
        table = pd.read_csv(pa.BufferReader(data), sep=separator, dtype=str, keep_default_na=False)
    except (ValueError, pd.errors.ParserError) as error:
        raise UsageError(f"{url}: not CSV: {error}") from error
    return [(f"{url} row {i}", row) for i, row in enumerate(table.to_dict("records"), 1)]


def _read_columns(url: str, kind: str, data: bytes) -> list[tuple[str, Any]]:
    source = pa.BufferReader(data)
    if kind == "parquet":
        table = pq.read_table(source)
    else:
        table = (pa.ipc.open_file if kind == "arrow_file" else pa.ipc.open_stream)(source).read_all()
    return [(f"{url} row {i}", row) for i, row in enumerate(table.to_pylist(), 1)]

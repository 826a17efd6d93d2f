"""Flat tables: records from JSON lines, CSV and Parquet; frames to CSV, Parquet, LaTeX and Markdown."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import fsspec
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from wmbxl.errors import NothingMatches, RecordsError, UsageError
from wmbxl.filesystems import filesystem_of

Record = dict[str, Any]

FORMATS = ("csv", "parquet", "latex", "markdown")
_SUFFIX = {"csv": "csv", "parquet": "parquet", "latex": "tex", "markdown": "md"}


def read_records(path: str, option: str) -> list[Record]:
    """Read a file of records, one dict each, in file order.

    Parameters
    ----------
    path : str
        A ``.jsonl``, ``.csv`` or ``.parquet`` file, local or anywhere fsspec reaches. A further suffix such
        as ``.gz`` names a compression.
    option : str
        The command-line option that gave the path; errors name it.

    Returns
    -------
    list of dict
        In CSV every value is a string and an empty cell is None.

    Raises
    ------
    NothingMatches
        There is no such file.
    RecordsError
        Some lines are not JSON objects; every one of them is listed.
    UsageError
        The suffix is none of the three, there is no such filesystem, or the Parquet file is not whole.
    """
    filesystem_of(path)  # or say that there is none
    suffixes = PurePosixPath(path).suffixes
    try:
        if ".parquet" in suffixes:
            with fsspec.open(path, "rb") as stream:
                return list(read_parquet(path, stream).to_pylist())
        if ".csv" in suffixes:
            with fsspec.open(path, "rt", encoding="utf-8-sig", newline="", compression="infer") as stream:
                return list(_csv_records(stream))
        if ".jsonl" in suffixes:
            with fsspec.open(path, "rb", compression="infer") as stream:
                return _json_records(path, stream)
    except FileNotFoundError:
        raise NothingMatches(f"{path}: there is no such file. Check the path given to {option}.") from None
    raise UsageError(f"{path}: expected a .jsonl, .csv or .parquet file for {option}; rename or convert it.")


def read_parquet(name: str, source: Any) -> pa.Table:
    """Read a Parquet file.

    Parameters
    ----------
    name : str
        For errors.
    source : file-like or pyarrow.Buffer

    Raises
    ------
    UsageError
        If it is not Parquet, or not whole.
    """
    try:
        return pq.read_table(source)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(
            f"{name}: not a whole Parquet file ({error}): copy it again from where it is whole, or make it again"
        ) from error


def _csv_records(stream: io.TextIOBase) -> Iterator[Record]:
    for row in csv.DictReader(stream):
        yield {name: value or None for name, value in row.items()}


def _json_records(path: str, stream: io.BufferedIOBase) -> list[Record]:
    records: list[Record] = []
    issues: list[str] = []
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            issues.append(f"line {number}: not JSON ({error})")
            continue
        if isinstance(value, dict):
            records.append(value)
        else:
            issues.append(f"line {number}: expected an object, found {type(value).__name__}")
    if issues:
        raise RecordsError(path, issues)
    return records


def read_ids(path: str, option: str) -> tuple[str, ...]:
    """Read a list of problem ids.

    Parameters
    ----------
    path : str
        A JSON list of strings, an object whose only list holds them, or a text file with one id a line.
    option : str
        The command-line option that gave the path; errors name it.

    Returns
    -------
    tuple of str
        The ids in file order.

    Raises
    ------
    NothingMatches
        There is no such file.
    UsageError
        The file holds no list of ids, or repeats some, or there is no such filesystem.
    """
    filesystem_of(path)  # or say that there is none
    try:
        with fsspec.open(path, "rb") as stream:
            content = stream.read()
    except FileNotFoundError:
        raise NothingMatches(f"{path}: there is no such file. Check the path given to {option}.") from None
    ids = _json_ids(path, content) if path.endswith(".json") else content.decode().split("\n")
    cleaned = [str(name).strip() for name in ids if str(name).strip()]
    repeated = [name for name, times in Counter(cleaned).items() if times > 1]
    if repeated:
        raise UsageError(
            f"{path}: {len(repeated)} id(s) are listed more than once, such as {repeated[0]!r}. List each once."
        )
    return tuple(cleaned)


def _json_ids(path: str, content: bytes) -> list[Any]:
    value = orjson.loads(content)
    if isinstance(value, dict):
        lists = [entry for entry in value.values() if isinstance(entry, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not all(isinstance(entry, str | int) for entry in value):
        raise UsageError(f"{path}: expected a JSON list of problem ids, or an object with one such list.")
    return value


def encode_table(frame: pd.DataFrame, form: str) -> bytes:
    """Write a frame as CSV, Parquet, LaTeX or Markdown.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its index is left out.
    form : {"csv", "parquet", "latex", "markdown"}
        CSV and Parquet keep every digit; LaTeX and Markdown are for reading and keep two decimals.

    Returns
    -------
    bytes
        The file's content.

    Examples
    --------
    >>> print(encode_table(pd.DataFrame({"view": ["S0"], "delta_pp": [-0.4383]}), "markdown").decode())
    | view | delta_pp |
    | --- | --- |
    | S0 | -0.44 |
    """
    if form == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if form == "latex":
        return (
            frame.map(show)
            .style.hide(axis="index")
            .format(escape="latex")
            .format_index(escape="latex", axis=1)
            .to_latex(hrules=True)
            .encode()
        )
    if form == "markdown":
        rows = [list(frame.columns), ["---"] * frame.shape[1], *frame.map(show).to_numpy().tolist()]
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows).encode()
    return frame.to_csv(index=False, lineterminator="\n").encode()


def show(value: Any) -> str:
    """Write one cell for a reader: two decimals, four for small numbers, nothing for a missing value.

    Examples
    --------
    >>> show(91.6883), show(0.0004), show(float("nan")), show(12)
    ('91.69', '0.0004', '', '12')
    """
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if 0 < abs(value) < 0.01 else f"{value:.2f}"
    return str(value)


def write_files(folder: str, files: dict[str, bytes]) -> None:
    """Write several files into a folder, each of them whole or not at all, in the order given.

    Parameters
    ----------
    folder : str
        Local or anywhere fsspec reaches; made if it is not there.
    files : dict of str to bytes
        Content by file name.
    """
    fs, root = filesystem_of(folder)
    fs.makedirs(root, exist_ok=True)
    for name, content in files.items():
        with fs.transaction, fs.open(f"{root}/{name}", "wb") as stream:
            stream.write(content)


def json_lines(rows: Iterable[Mapping[Any, Any]]) -> bytes:
    """Encode rows as JSON lines; numbers may be numpy's."""
    return b"".join(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n" for row in rows)


def write_table(path: str, frame: pd.DataFrame, option: str) -> None:
    """Write a frame to one file, in the format that its suffix names: .jsonl, .csv or .parquet.

    Raises
    ------
    UsageError
        The suffix is none of the three; `option` gave the path.
    """
    folder, _, name = path.rpartition("/")
    form = PurePosixPath(path).suffix.removeprefix(".")
    if form == "jsonl":
        content = json_lines(frame.to_dict("records"))
    elif form in ("csv", "parquet"):
        content = encode_table(frame, form)
    else:
        raise UsageError(f"{path}: expected a .jsonl, .csv or .parquet file for {option}")
    write_files(folder or ".", {name: content})


def table_files(tables: dict[str, pd.DataFrame], formats: Sequence[str]) -> dict[str, bytes]:
    """Encode named tables in each of several formats.

    Examples
    --------
    >>> sorted(table_files({"pairs": pd.DataFrame({"view": ["S0"]})}, ["csv", "latex"]))
    ['pairs.csv', 'pairs.tex']
    """
    return {f"{name}.{_SUFFIX[form]}": encode_table(frame, form) for name, frame in tables.items() for form in formats}

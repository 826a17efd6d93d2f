"""Rows of the tables of a release, each with the line on which it stands."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Row:
    """A record of a JSONL file, or a row of a CSV file, whose cells are text."""

    line: int
    value: dict[str, Any]


class BadRow(Exception):
    """A row that can't be read."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


def read_rows(path: str, data: bytes) -> list[Row]:
    r"""Read the rows of a file of a release.

    Raises
    ------
    BadRow
        At the first row that can't be read.

    Examples
    --------
    >>> read_rows("a.csv", b"problem_id,n\np1,13\n")
    [Row(line=2, value={'problem_id': 'p1', 'n': '13'})]
    """
    try:
        return _csv(data) if path.endswith(".csv") else _json_lines(data)
    except UnicodeDecodeError as error:
        raise BadRow(data.count(b"\n", 0, error.start) + 1, "not UTF-8") from error
    except csv.Error as error:
        raise BadRow(1, f"not CSV ({error})") from error


def _csv(data: bytes) -> list[Row]:
    reader = csv.DictReader(io.StringIO(data.decode(), newline=""))
    rows = []
    for value in reader:
        if None in value or None in value.values():
            raise BadRow(reader.line_num, f"expected {len(reader.fieldnames or ())} cells")
        rows.append(Row(reader.line_num, dict(value)))
    return rows


def _json_lines(data: bytes) -> list[Row]:
    rows = []
    for line, content in enumerate(data.split(b"\n"), 1):
        if content.strip():
            try:
                value = orjson.loads(content)
            except orjson.JSONDecodeError as error:
                raise BadRow(line, f"not JSON ({error})") from error
            if not isinstance(value, dict):
                raise BadRow(line, f"expected an object, found {type(value).__name__}")
            rows.append(Row(line, value))
    return rows

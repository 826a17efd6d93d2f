"""One record: from the bytes of a JSON value to a text and a document id, or the reason why not."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from wmbxl.text import replace_surrogates

# Reasons that leave a gap, and what a person is told about them. The others (text_missing, text_null, text_empty:
# there is no text to audit; utf8_repaired: it was audited) leave none.
GAPS = {
    "not_json": "records that are not JSON",
    "not_object": "records that are not JSON objects",
    "too_nested": "records nested too deeply for the JSON parsers",
    "text_number": "texts that are numbers",
    "text_boolean": "texts that are booleans",
    "text_object": "texts that are objects",
    "text_list": "texts that are lists (join lists of strings with --join-lists)",
    "text_other": "texts of a type that isn't text",
}
REPAIRED = "utf8_repaired"

NAMES_DEPTH = 16  # fields nested more deeply are not named

_MISSING = object()
_LONG = 4096


@dataclass(frozen=True)
class Skip(Exception):
    """A record that can't be used, with the ledger's reason."""

    reason: str


@dataclass(frozen=True)
class Parsed:
    """A JSON value, and whether bytes that were not UTF-8 became U+FFFD on the way."""

    value: Any
    repaired: bool = False


class Number(str):
    """A number as it is written in JSON."""

    __slots__ = ()

    @property
    def is_integer(self) -> bool:
        """Whether it is written without a fraction or an exponent."""
        return self.lstrip("-").isdigit()


def parse_json(data: bytes, exact_numbers: bool = False) -> Parsed:
    """Parse one JSON value, tolerantly.

    What strict parsers refuse and Python's `json` reads is read: NaN, lone surrogates, huge integers, raw control
    characters. The last of several equal keys wins. Bytes that are not UTF-8 become U+FFFD. With `exact_numbers`,
    numbers come as `Number`, the way they are written.

    Raises
    ------
    Skip
        ``not_json`` or ``too_nested``.
    """
    if not exact_numbers:
        with contextlib.suppress(orjson.JSONDecodeError):
            return Parsed(orjson.loads(data))
    try:
        text, repaired = data.decode(), False
    except UnicodeDecodeError:
        text, repaired = data.decode(errors="replace"), True
    try:
        return Parsed(json.loads(text.lstrip("\ufeff"), strict=False, parse_int=Number, parse_float=Number), repaired)
    except RecursionError:
        raise Skip("too_nested") from None
    except ValueError:
        raise Skip("not_json") from None


def is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    if data.isascii():
        return True
    if len(data) > _LONG:  # Arrow checks faster than Python decodes, but takes a few microseconds to ask
        offsets = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
        text = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)])
        try:
            text.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def get_field(record: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Return a field by its name, or by its dotted path where no field has the whole name.

    Examples
    --------
    >>> get_field({"meta": {"id": 7}}, "meta.id")
    7
    """
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return default
        value = value[part]
    return value


def field_names(record: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted names of a record's fields.

    Examples
    --------
    >>> field_names({"text": "a", "meta": {"id": 7}})
    ['text', 'meta', 'meta.id']
    """
    names: list[str] = []
    for key, value in record.items():
        names.append(f"{prefix}{key}")
        if isinstance(value, Mapping) and prefix.count(".") < NAMES_DEPTH:
            names.extend(field_names(value, f"{prefix}{key}."))
    return names


def text_of(value: Any, join_lists: bool) -> str:
    """Return a field's value as text.

    Raises
    ------
    Skip
        With the reason, if it isn't text.
    """
    if isinstance(value, Number):
        raise Skip("text_number")
    if isinstance(value, str):
        return replace_surrogates(value)
    if value is _MISSING:
        raise Skip("text_missing")
    if value is None:
        raise Skip("text_null")
    if isinstance(value, list):
        if join_lists and all(isinstance(item, str) and not isinstance(item, Number) for item in value):
            return replace_surrogates("\n".join(value))
        raise Skip("text_list")
    if isinstance(value, bool):
        raise Skip("text_boolean")
    if isinstance(value, Mapping):
        raise Skip("text_object")
    raise Skip("text_number" if isinstance(value, int | float | Number) else "text_other")


def record_text(parsed: Any, name: str, join_lists: bool) -> str:
    """Return the text of a parsed record.

    Raises
    ------
    Skip
        With the reason, if there is none.
    """
    if not isinstance(parsed, dict):
        raise Skip("not_object")
    return text_of(get_field(parsed, name, _MISSING), join_lists)


def as_id(value: Any) -> str | None:
    """Return a record's id as text; None for what is missing, null, an object or a list."""
    if not isinstance(value, str):
        if value is None or isinstance(value, Mapping | list):
            return None
        value = str(value)
    return replace_surrogates(value)


def names_in(records: Iterable[Any]) -> set[str]:
    """Return the dotted names of all fields of `records`."""
    return {name for record in records if isinstance(record, dict) for name in field_names(record)}

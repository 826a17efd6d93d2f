"""One record: its text and id, or the reason why not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmbxl.records import (
    GAPS,
    Skip,
    as_id,
    field_names,
    get_field,
    names_in,
    parse_json,
    record_text,
    text_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(JSON)
def test_what_json_can_say_is_read(value: Any) -> None:
    parsed = parse_json(json.dumps(value).encode())
    assert (parsed.value, parsed.repaired) == (value, False)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"text": "a", "x": NaN, "y": -Infinity}', "a"),
        (b'{"text": "a\\ud800b"}', "a\ufffdb"),
        (b'{"text": "\\ud83d\\ude00"}', "\U0001f600"),
        (b'{"text": "a\x00\x01\tb"}', "a\x00\x01\tb"),
        (b'{"text": "a\\u0000b"}', "a\x00b"),
        (b'{"text": "a", "text": "b"}', "b"),
        (b'{"text": "a", "text": "b", "x": NaN}', "b"),
        (b'{"n": 1' + b"0" * 5000 + b', "text": "a"}', "a"),
        (b'{"n": 1e999999, "text": "a"}', "a"),
        (b'\xef\xbb\xbf{"text": "a"}', "a"),
        (b'  {"text": "a"} \r', "a"),
        (b'{"text": ""}', ""),
    ],
)
def test_a_strict_refusal_is_not_the_last_word(data: bytes, text: str) -> None:
    parsed = parse_json(data)
    assert record_text(parsed.value, "text", False) == text
    assert not parsed.repaired


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"text": "caf\xe9 x"}', "caf\ufffd x"),
        (b'{"text": "\xff\xfe"}', "\ufffd\ufffd"),
        (b'{"text": "\xe4\xb8"}', "\ufffd"),
        (b'{"text": "\xc0\x80"}', "\ufffd\ufffd"),
        (b'{"text": "a", "other": "\xff"}', "a"),
    ],
)
def test_bytes_that_are_not_utf8_are_repaired(data: bytes, text: str) -> None:
    parsed = parse_json(data)
    assert record_text(parsed.value, "text", False) == text
    assert parsed.repaired


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not_json"),
        (b"oops", "not_json"),
        (b'{"text": "a"} {"text": "b"}', "not_json"),
        (b'{"text": "a",}', "not_json"),
        (b"\x00" * 20, "not_json"),
        (b"\xff", "not_json"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "too_nested"),
        (b"[" * 100_000 + b"]" * 100_000, "too_nested"),
    ],
)
def test_unreadable_records(data: bytes, reason: str) -> None:
    with pytest.raises(Skip) as caught:
        parse_json(data)
    assert caught.value.reason == reason
    assert reason in GAPS


@pytest.mark.parametrize("rest", ["", ', "x": NaN', ', "x": "\\ud800"'])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("5", "text_number"),
        ("-1.50", "text_number"),
        ("123456789012345678901234567890", "text_number"),
        ("true", "text_boolean"),
        ("null", "text_null"),
        ("[]", "text_list"),
        ('["a"]', "text_list"),
        ("{}", "text_object"),
    ],
)
def test_the_reason_does_not_depend_on_the_parser(value: str, reason: str, rest: str) -> None:
    """A record that the strict parser refuses is judged alike."""
    parsed = parse_json(f'{{"text": {value}{rest}}}'.encode())
    with pytest.raises(Skip) as caught:
        record_text(parsed.value, "text", False)
    assert caught.value.reason == reason
    assert (reason in GAPS) == (reason != "text_null")


@pytest.mark.parametrize("value", [[], "a", 1, None])
def test_not_an_object(value: Any) -> None:
    with pytest.raises(Skip, match="not_object"):
        record_text(value, "text", False)


@pytest.mark.parametrize("rest", ["", ', "x": NaN'])
def test_lists_are_joined_when_asked(rest: str) -> None:
    def text(value: str) -> str:
        return record_text(parse_json(f'{{"text": {value}{rest}}}'.encode()).value, "text", True)

    assert text('["a", "", "b c"]') == "a\n\nb c"
    assert text("[]") == ""
    for mixed in ('["a", 1]', '["a", null]', '[["a"]]'):
        with pytest.raises(Skip, match="text_list"):
            text(mixed)


def test_surrogates_of_a_list() -> None:
    assert text_of(["\ud83d", "\ude00"], True) == "\ufffd\n\ufffd"


RECORD = {"text": "a", "meta": {"id": 7, "a": {"b": None}}, "meta.id": "dotted", "x.y": 1, "l": [1]}


@pytest.mark.parametrize(
    ("name", "value"),
    [("text", "a"), ("meta.a", {"b": None}), ("meta.a.b", None), ("meta.id", "dotted"), ("x.y", 1), ("l", [1])],
)
def test_fields(name: str, value: Any) -> None:
    assert get_field(RECORD, name, "default") == value


@pytest.mark.parametrize("name", ["", "x", "x.z", "text.a", "meta.a.b.c", "l.0", "meta."])
def test_absent_fields(name: str) -> None:
    assert get_field(RECORD, name, "default") == "default"


@pytest.mark.parametrize(
    ("value", "id"),
    [("a", "a"), (7, "7"), (True, "True"), (None, None), ({}, None), ([1], None), ("\ud800", "\ufffd"), ("", "")],
)
def test_ids(value: Any, id: str | None) -> None:
    assert as_id(value) == id


def test_names() -> None:
    assert field_names({"a": {"b": {"c": 1}}, "d": []}) == ["a", "a.b", "a.b.c", "d"]
    assert names_in([{"a": 1}, "x", {"b": {"c": 1}}]) == {"a", "b", "b.c"}


def test_names_of_a_deep_record_end() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    names = field_names(deep)
    assert names[:3] == ["a", "a.a", "a.a.a"]
    assert len(names) < 100

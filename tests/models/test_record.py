"""The record of calls: what it survives, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from wmbxl.errors import RecordsError
from wmbxl.models.call import Call, Reply
from wmbxl.models.record import Record

CALL = Call("m", ({"role": "user", "content": "1 + 1?"},), {"temperature": 0, "max_tokens": 8})


def test_every_part_of_a_call_decides_its_key() -> None:
    others = [
        Call("other", CALL.messages, CALL.parameters),
        Call("m", ({"role": "system", "content": "1 + 1?"},), CALL.parameters),
        Call("m", CALL.messages, {**CALL.parameters, "max_tokens": 9}),
        Call("m", CALL.messages, CALL.parameters, sample=1),
    ]
    assert len({call.key for call in [CALL, *others]}) == 5
    assert Call("m", CALL.messages, {"max_tokens": 8, "temperature": 0}).key == CALL.key


def test_a_line_holds_the_whole_call(tmp_path: Path) -> None:
    Record(tmp_path / "deep" / "calls.jsonl").add(CALL, Reply("2", "stop", completion_tokens=1))
    [line] = (tmp_path / "deep" / "calls.jsonl").read_bytes().splitlines()
    content = orjson.loads(line)
    assert content["messages"] == list(CALL.messages)
    assert content["parameters"] == CALL.parameters
    assert content["reply"]["text"] == "2"
    assert {"key", "model", "sample", "version", "time"} < set(content)


def test_a_torn_last_line_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    Record(path).add(CALL, Reply("2", "stop"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:30])
    record = Record(path)
    assert record.get(CALL) == Reply("2", "stop")
    record.add(Call("m", (), {}), Reply("?", "stop"))
    record.add(Call("m", (), {}, sample=1), Reply("!", "stop"))
    assert path.read_bytes().startswith(whole)
    assert len([orjson.loads(line) for line in path.read_bytes().splitlines()]) == 3


def test_what_is_no_record_is_refused_with_every_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text('{"a": 1}\nnot JSON\n{"key": "k", "reply": {"words": "?"}}\n')
    with pytest.raises(RecordsError) as error:
        Record(path)
    assert [issue.partition(":")[0] for issue in error.value.issues] == ["line 1", "line 2", "line 3"]

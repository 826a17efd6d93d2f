"""Progress, fed with events by hand: what is done again counts once."""

from __future__ import annotations

from typing import Any

import pytest

from wmbxl import watch as module
from wmbxl.watch import Watch


def event(kind: str, task: str = "t", worker: str = "w", **more: Any) -> dict[str, Any]:
    content: dict[str, dict[str, Any]] = {
        "start": {},
        "batch": {"file_bytes": 40, "documents": 4, "windows": 400},
        "task": {"pieces": 2, "file_bytes": 100, "flagged": [], "unread": {"io_error": 1}, "resumed": False},
    }
    return {"kind": kind, "task": task, "worker": worker, **content[kind], **more}


@pytest.fixture
def watch() -> Watch:
    return Watch(pieces=4, file_bytes=200)


def counted(watch: Watch) -> tuple[int, int, int, int, int]:
    return watch.pieces_done, watch.file_bytes_read, watch.documents, watch.windows, watch.unread["io_error"]


def feed(watch: Watch, *events: dict[str, Any]) -> None:
    for each in events:
        watch.take(each)


def test_a_worker_lost_in_mid_scan(watch: Watch) -> None:
    feed(watch, event("start"), event("batch"), event("batch"))
    assert counted(watch) == (0, 80, 8, 800, 0)
    feed(watch, event("start", worker="v"))
    assert counted(watch) == (0, 0, 0, 0, 0)
    feed(watch, event("batch", worker="v"), event("task", worker="v"))
    assert counted(watch) == (2, 100, 4, 400, 1)


@pytest.mark.parametrize("resumed", [False, True])
def test_a_result_lost_with_its_worker(watch: Watch, resumed: bool) -> None:
    feed(watch, event("start"), event("batch"), event("task"))
    before = counted(watch)
    again = event("task", worker="v", resumed=resumed)
    feed(watch, event("start", worker="v"), event("batch", worker="v"), again)
    assert counted(watch) == before
    assert watch.pieces_resumed == 0


def test_a_worker_that_was_given_up_and_is_there_still(watch: Watch) -> None:
    feed(watch, event("start"), event("batch"), event("start", worker="v"), event("batch", worker="v"))
    feed(watch, event("batch"), event("task"), event("batch", worker="v"), event("task", worker="v"))
    assert counted(watch) == (2, 100, 4, 400, 1)


def test_only_the_latest_tasks_are_remembered(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 10)
    feed(watch, *(event("task", task=str(i)) for i in range(100)))
    assert watch.pieces_done == 200
    feed(watch, *(event("task", task=str(i)) for i in range(90, 100)))
    assert watch.pieces_done == 200
    assert len(watch._finished) == 10

"""A run as the scheduler sees it, fed with events by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wmbxl.dashboard.history import BINS, WIDTH, History
from wmbxl.dashboard.page import page_texts
from wmbxl.dashboard.run import GAPS_KEPT, PATIENCE, RECENT, CorpusPlan, Outcome, Plan, Run

PLAN = Plan(
    benchmark="problems.jsonl",
    out="run",
    problem_ids=("p0", "p1", "p2"),
    ns=(13,),
    reference=13,
    corpora=(CorpusPlan("a", "release", 3, 300), CorpusPlan("b", "control", 1, 100)),
)


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run(clock: Clock) -> Run:
    return Run(PLAN, clock)


def event(kind: str, task: str = "t", worker: str = "w", corpus: str = "a", **more: Any) -> dict[str, Any]:
    content: dict[str, dict[str, Any]] = {
        "start": {"shard": f"{task}.gz", "pieces": 1, "file_bytes": 100},
        "batch": {"file_bytes": 50, "documents": 5, "windows": 500},
        "task": {"pieces": 1, "file_bytes": 100, "flagged": [], "unread": {}, "gaps": [], "resumed": False},
    }
    return {"kind": kind, "task": task, "worker": worker, "corpus": corpus, **content[kind], **more}


def test_bytes_are_counted_by_corpus_and_in_all(run: Run) -> None:
    run.take(event("start"))
    run.take(event("batch"))
    assert (run.total.file_bytes_read, run.corpora["a"].file_bytes_read, run.corpora["b"].file_bytes_read) == (
        50,
        50,
        0,
    )
    run.take(event("task"))
    run.take(event("task", task="u", corpus="b"))
    assert (run.total.file_bytes_read, run.corpora["a"].file_bytes_read, run.corpora["b"].file_bytes_read) == (
        200,
        100,
        100,
    )
    assert run.total.share == 0.5
    assert run.corpora["b"].share == 1


def test_a_piece_that_is_read_again_counts_once(run: Run) -> None:
    for worker in ("w", "v"):
        run.take(event("start", worker=worker))
        run.take(event("batch", worker=worker))
    assert run.total.file_bytes_read == 50


def test_a_corpus_is_not_done_before_its_last_piece(run: Run) -> None:
    for task in "tuv":
        run.take(event("start", task))
        run.take(event("batch", task, file_bytes=100))
    assert run.corpora["a"].share < 1


def test_flagged_problems_are_named_once(run: Run) -> None:
    run.take(event("task", flagged=[2, 0]))
    run.take(event("task", task="u", flagged=[0, 1]))
    assert list(run.flagged) == ["p2", "p0", "p1"]
    run.history.close(run.now)
    assert run.history.flagged()[-1] == 3


def test_unread_pieces_are_kept_up_to_a_number(run: Run) -> None:
    gaps = [{"shard": "s", "reason": "truncated", "detail": "why"}] * (GAPS_KEPT - 1)
    run.take(event("task", gaps=gaps))
    for _ in range(2):  # the second time after its result was lost
        run.take(event("task", task="u", gaps=gaps[:3]))
    assert len(run.gaps) == GAPS_KEPT
    assert run.gaps_left_out == 2
    assert run.gaps[0] == {"shard": "s", "reason": "truncated", "detail": "why", "corpus": "a"}


def test_rates_are_those_of_the_last_seconds(run: Run, clock: Clock) -> None:
    run.take(event("start"))
    run.take(event("batch", file_bytes=10**9))
    clock.seconds += 2 * RECENT
    for _ in range(10):
        clock.seconds += 1
        run.take(event("batch", file_bytes=50, windows=500))
        run.take(event("batch", worker="v", file_bytes=20, windows=200))
    assert run.rates(run.workers["w"])[0] == pytest.approx(50, rel=0.2)
    assert run.rates()[1] == pytest.approx(700, rel=0.2)
    clock.seconds += 2 * RECENT
    assert run.rates() == (0, 0)


def test_time_left_leaves_resumed_pieces_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [50.0]
    monkeypatch.setattr("wmbxl.watch.time.monotonic", lambda: seconds[0])
    run.take(event("task", "t", resumed=True))
    assert run.total.seconds_left is None
    seconds[0] += 10
    run.take(event("start", "u"))
    run.take(event("batch", "u", file_bytes=100))
    assert run.total.seconds_left == pytest.approx(20)  # 100 bytes in 10 s, 200 to go


def test_stragglers(run: Run, clock: Clock) -> None:
    run.take(event("start", "quick"))
    clock.seconds += 1
    run.take(event("task", "quick"))  # 100 bytes a second is the usual pace
    run.take(event("start", "slow"))
    run.take(event("start", "silent", worker="v"))
    run.take(event("start", "large", worker="u", file_bytes=1_000_000))
    clock.seconds += PATIENCE - 1
    assert run.stragglers() == []
    clock.seconds += 2
    run.take(event("batch", "slow", file_bytes=1))
    run.take(event("batch", "large", file_bytes=1, worker="u"))
    found = {reading.shard: why for reading, why in run.stragglers()}
    assert found == {
        "slow.gz": "31 times as long as its size takes elsewhere",
        "silent.gz": "nothing heard for 31 s",
    }


def test_a_lost_worker_reads_nothing_more(run: Run) -> None:
    run.take(event("start"))
    run.lose("w")
    assert run.reading == {}
    assert run.workers["w"].gone
    run.take(event("start"))
    assert not run.workers["w"].gone


def test_the_first_end_stands_and_stops_the_clock(run: Run, clock: Clock) -> None:
    run.take(event("start"))
    run.take(event("batch", file_bytes=1000))
    clock.seconds += 10
    run.end(Outcome("complete"))
    clock.seconds += 10
    run.end(Outcome("lost"))
    run.take(event("batch"))
    assert run.outcome == Outcome("complete")
    assert run.now == 10
    assert run.rates()[0] == 100
    assert run.reading == {}


def test_hostile_text_stays_text(clock: Clock) -> None:
    bad = "<img src=x onerror=alert(1)>"
    corpus = CorpusPlan(bad, "release", 2, 200)
    run = Run(Plan(bad, bad, (bad,), (13,), 13, (corpus,)), clock)
    more = {"task": bad, "worker": bad, "corpus": bad}
    run.take(event("start", shard=bad) | more)
    gap = {"shard": bad, "reason": bad, "detail": bad}
    run.take(event("task", flagged=[0], unread={bad: 1}, gaps=[gap]) | more)
    run.take(event("start", shard=bad) | more)
    clock.seconds += PATIENCE + 1
    running = page_texts(run, 1)
    run.end(Outcome("failed", bad))
    ended = page_texts(run, 1)
    for name in ("head", "corpora", "workers", "unread", "stragglers", "flagged"):
        assert "&lt;img" in running[name], name
    assert "&lt;img" in ended["head"]
    assert "<img" not in "".join([*running.values(), *ended.values()])


def test_history_keeps_the_whole_run_in_bounded_space() -> None:
    history = History()
    seconds = 10 * WIDTH * BINS
    for at in np.arange(0, seconds, 7.0):
        history.add("w" if at % 2 else "v", float(at), 14, 7)
    history.close(seconds)
    assert history.filled <= BINS + 1
    total = (history.rates() * history.width).sum(axis=0)
    assert total.tolist() == [14 * len(np.arange(0, seconds, 7.0)), 7 * len(np.arange(0, seconds, 7.0))]
    assert np.allclose(history.rates()[1:-2, 1], 1, atol=0.6)
    assert len(history.times()) == len(history.rates("w")) == len(history.flagged())


def test_history_shows_a_standstill() -> None:
    history = History()
    history.add("w", 0.0, 10)
    history.reach(5 * WIDTH)
    assert history.rates()[:, 0].tolist() == [0, 10 / WIDTH, 0, 0, 0, 0]

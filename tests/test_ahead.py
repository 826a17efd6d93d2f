"""Reading ahead: the right bytes, whatever the order of reads; a bounded amount; nothing behind the piece."""

from __future__ import annotations

import random
import threading
from itertools import pairwise

import pytest

from wmbxl.ahead import AHEAD, BEGINNING, ReadAhead

DATA = random.Random(0).randbytes(100_000)
RANGE = 1000


class Fetched:
    """Gives bytes, and remembers what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.lock = threading.Lock()

    def __call__(self, begin: int, end: int) -> bytes:
        with self.lock:
            self.asked.append((begin, end))
        return DATA[begin:end]


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_reads_gives_the_right_bytes(seed: int) -> None:
    chooser = random.Random(seed)
    cache = ReadAhead(RANGE, Fetched(), len(DATA))
    at = 0
    for _ in range(500):
        if chooser.random() < 0.1:
            at = chooser.randrange(len(DATA) + 10)
        size = chooser.choice([1, 10, 999, 1000, 1001, 7000])
        assert cache._fetch(at, at + size) == DATA[at : at + size]
        at += size
    cache.close()


def test_reading_forward_asks_once_for_each_range() -> None:
    fetched = Fetched()
    cache = ReadAhead(RANGE, fetched, len(DATA))
    assert b"".join(cache._fetch(at, at + 300) for at in range(0, len(DATA), 300)) == DATA
    cache.close()
    bounds = [0, RANGE // 4, RANGE * 3 // 4, *range(RANGE * 7 // 4, len(DATA), RANGE), len(DATA)]
    assert sorted(fetched.asked) == list(pairwise(bounds))


def test_a_bounded_amount_is_held() -> None:
    cache = ReadAhead(RANGE, Fetched(), len(DATA))
    held = []
    for at in range(0, len(DATA), 300):
        cache._fetch(at, at + 300)
        held.append(sum(end - begin for begin, end, _ in cache._ranges))
    cache.close()
    assert AHEAD * RANGE < max(held) <= (AHEAD + 2) * RANGE


@pytest.mark.parametrize(("forward", "asked"), [(False, 2), (True, AHEAD + 1)])
def test_much_is_asked_for_at_once_only_where_all_will_be_read(forward: bool, asked: int) -> None:
    fetched = Fetched()
    cache = ReadAhead(RANGE, fetched, len(DATA), forward=forward)
    cache._fetch(0, 10)
    assert len(cache._ranges) == asked
    cache.close()


def test_nothing_behind_the_piece_is_fetched_before_it_is_asked_for() -> None:
    fetched = Fetched()
    cache = ReadAhead(RANGE, fetched, len(DATA), stop=5500)
    for at in range(0, 5500, 500):
        cache._fetch(at, at + 500)
    assert max(end for _, end in fetched.asked) == 5500
    assert cache._fetch(5500, 5600) == DATA[5500:5600]
    cache.close()
    assert max(end for _, end in fetched.asked) == 5600


@pytest.mark.parametrize(("forward", "asked"), [(False, 2), (True, BEGINNING)])
def test_a_beginning_is_asked_for_once_and_without_waiting(forward: bool, asked: int) -> None:
    fetched, may_answer = Fetched(), threading.Event()

    def wait(begin: int, end: int) -> bytes:
        may_answer.wait(10)
        return fetched(begin, end)

    cache = ReadAhead(RANGE, wait, len(DATA), forward=forward)
    cache.begin(500)
    assert len(cache._ranges) == asked
    may_answer.set()
    assert b"".join(cache._fetch(at, at + 300) for at in range(500, len(DATA), 300)) == DATA[500:]
    cache.close()
    assert len(fetched.asked) == len(set(fetched.asked))
    assert sum(end - begin for begin, end in fetched.asked) == len(DATA) - 500


def test_an_error_of_the_store_reaches_the_reader() -> None:
    def fail(begin: int, end: int) -> bytes:
        raise ConnectionError("reset")

    cache = ReadAhead(RANGE, fail, len(DATA))
    with pytest.raises(ConnectionError, match="reset"):
        cache._fetch(0, 10)
    cache.close()

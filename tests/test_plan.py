"""Which pieces share a task: tiny files do, and nothing else, and there are tasks for all workers."""

from __future__ import annotations

import pytest

from wmbxl.corpus import BLOCK_SIZE, Corpus
from wmbxl.listing import Listing
from wmbxl.plan import TASKS_AIMED_AT, TASKS_FOR_ALL, TINY_BYTES, TINY_TOGETHER, Tasks, plan
from wmbxl.shards import Shards
from wmbxl.types import Shard


def planned(count: int, size: int, block_size: int = BLOCK_SIZE) -> Tasks:
    """Plan a corpus of so many files of a size, none of which exists."""
    corpus = Corpus("c", "nowhere")
    shards = Shards.of("c", corpus.options, (Shard("c", f"s3://b/{i:07}", size=size) for i in range(count)))
    corpus.__dict__["listing"] = Listing(shards, ())
    tasks = plan(corpus, block_size, "index", 20)
    assert [shard.url for task in tasks for shard in task.shards] == [shard.url for shard in shards]
    assert int(tasks.file_bytes.sum()) == count * size
    return tasks


@pytest.mark.parametrize(
    ("count", "size", "tasks"),
    [
        (5, 100, 5),  # fewer than would give each of many workers one
        (TASKS_FOR_ALL * 2, 100, TASKS_FOR_ALL),
        (TASKS_FOR_ALL * TINY_TOGETHER, 100, TASKS_FOR_ALL),
        (10_000, 100, 625),
        (10_000, TINY_BYTES // 4, 2_500),
        (8_000, TINY_BYTES, 8_000),  # not tiny
        (100_000, 100, 4_167),
        (30_000, 40 << 20, 5_000),  # as many as a block holds, though that makes more tasks than are aimed at
    ],
)
def test_tiny_files_share_tasks(count: int, size: int, tasks: int) -> None:
    assert len(planned(count, size)) == tasks


def test_a_task_holds_no_more_than_a_block() -> None:
    assert len(planned(TASKS_FOR_ALL * TINY_TOGETHER, 1_000, block_size=4096)) == TASKS_FOR_ALL * TINY_TOGETHER // 4
    assert len(planned(TASKS_AIMED_AT * 8, 3_000, block_size=4096)) == TASKS_AIMED_AT * 8


def test_files_of_unknown_size_do_not_share_a_task() -> None:
    """As on a web server that doesn't tell."""
    assert len(planned(4, 0)) == 4

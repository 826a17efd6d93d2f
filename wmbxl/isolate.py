"""When tasks kill their workers: find the shards that do it, leave those out as unread, and keep the rest."""

from __future__ import annotations

from collections.abc import Sequence

from distributed import Client, KilledWorker, wait

from wmbxl.errors import Unreadable
from wmbxl.plan import Task
from wmbxl.types import Shard
from wmbxl.worker import Job, Result, finish_task, leave_out, run_shard, run_task


def run_apart(client: Client, tasks: Sequence[Task], job: Job) -> Result:
    """Run tasks of which some killed several workers, and sum their results in order.

    First each task runs by itself, or is taken up from its checkpoint. A task that kills workers again, perhaps
    because it waited on the same one as a bad task, is cut into its shards, and these run one after the other. A shard
    that kills workers even then is recorded as unread.
    """
    futures = [client.submit(run_task, (task, True), job=job, pure=False) for task in tasks]
    wait(futures)
    results: list[Result] = []
    for task, future in zip(tasks, futures, strict=True):
        if isinstance(future.exception(), KilledWorker):
            shards = [_run_alone(client, shard, job) for shard in task.shards]
            results.append(client.submit(finish_task, task, Result.sum(shards), job, pure=False).result())
        else:
            results.append(future.result())
        future.release()
    return Result.sum(results)


def _run_alone(client: Client, shard: Shard, job: Job) -> Result:
    try:
        return client.submit(run_shard, shard, job, pure=False).result()
    except KilledWorker as error:
        fault = Unreadable(
            "killed_worker",
            f"{shard.url}: {error.allowed_failures + 1} workers died over it, although it ran alone (out of memory, or "
            f"a crash; the log of {error.last_worker.address} may say more): give each worker more memory or a smaller "
            "--block-size, and run again; or accept the gap with --accept-unread",
        )
        return client.submit(leave_out, shard, job, fault, pure=False).result()

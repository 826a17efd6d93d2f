"""What every script of this folder shares: its arguments, its clock, and the line of JSON that it prints.

The scripts run in environments of their own, without wmbxl, so this needs the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True, help="folder of JSON lines")
    parser.add_argument("--benchmark", type=Path, required=True, help="JSON lines of problem_id and text")
    parser.add_argument("--scratch", type=Path, required=True, help="empty folder")
    parser.add_argument("--n", type=int, default=13)
    return parser.parse_args()


def problems(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8") as file:
        return {row["problem_id"]: row["text"] for row in map(json.loads, file)}


def cpu() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def timed(scan: Callable[[], T]) -> tuple[T, dict[str, float]]:
    """Run the scan alone, after the index was built; return what it returns, and its CPU and wall seconds."""
    began, used = time.perf_counter(), cpu()
    result = scan()
    return result, {"cpu_s": cpu() - used, "wall_s": time.perf_counter() - began}


def tell(
    version: str,
    seconds: dict[str, float],
    documents: Iterable[str],
    read: int | None,
    told: Iterable[str] | None = None,
) -> None:
    """Print what was found.

    `documents` are the ids of flagged documents, `read` is how many documents the tool says it read, and `told` is
    what it says about input that it could not read; None if that can only be in what it printed.
    """
    found = {"documents": sorted(set(documents)), "read": read, "told": None if told is None else list(told)}
    print(json.dumps({"version": version, **seconds, **found}))

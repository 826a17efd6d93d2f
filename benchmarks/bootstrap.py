"""Time and memory of the bootstrap, against the obvious NumPy gather.

    python benchmarks/bootstrap.py [--quick] [--json FILE]

The gather draws as many resamples, looks every verdict up by index, and gives the same intervals: full
minus view of each model, and every two models' difference on full and on the view. It reuses one draw for
all of them, which favours it. Both times are the best of several; CPU time also holds on a busy machine.
Memory is the peak of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

from wmbxl.stats.compare import full_vs_view
from wmbxl.stats.pairs import pairs
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.verdicts import Verdicts
from wmbxl.views import View


def simulated(items: int, models: int, flagged: int) -> tuple[Verdicts, View]:
    rng = np.random.default_rng(0)
    correct = rng.random((items, models)) < np.linspace(0.2, 0.9, models)
    ids = tuple(f"p{k:06d}" for k in range(items))
    names = tuple(f"model-{k:02d}" for k in range(models))
    return Verdicts(ids, names, correct, np.ones_like(correct)), View("S0", ids[flagged:], "simulated")


def gather(verdicts: Verdicts, view: View, replicates: int) -> np.ndarray:
    correct = verdicts.correct.astype(float)
    inside = verdicts.contains(view.ids).astype(float)
    n = len(correct)
    index = np.random.default_rng(0).integers(0, n, size=(replicates, n))
    full = np.stack([correct[:, k][index].mean(axis=1) for k in range(correct.shape[1])], axis=1)
    weight = inside[index].sum(axis=1)
    part = np.stack([(correct[:, k] * inside)[index].sum(axis=1) / weight for k in range(correct.shape[1])], axis=1)
    columns = [full - part]
    for accuracy in (full, part):
        columns += [(accuracy[:, a] - accuracy[:, b])[:, None] for a, b in combinations(range(correct.shape[1]), 2)]
    return np.percentile(100 * np.concatenate(columns, axis=1), [2.5, 97.5], axis=0)


def counts(verdicts: Verdicts, view: View, replicates: int) -> None:
    bootstrap = Bootstrap(replicates=replicates)
    full_vs_view(verdicts, [view], bootstrap)
    pairs(verdicts, [view], bootstrap)


def best_of(times: int, run: Callable[[], object], clock: Callable[[], float]) -> float:
    seconds = []
    for _ in range(times):
        start = clock()
        run()
        seconds.append(clock() - start)
    return min(seconds)


def speed(items: int, models: int, replicates: int, times: int) -> dict[str, float]:
    verdicts, view = simulated(items, models, items // 27)
    found: dict[str, float] = {"items": items, "models": models, "replicates": replicates}
    for name, clock in (("wall", time.perf_counter), ("cpu", time.process_time)):
        slow = best_of(times, lambda: gather(verdicts, view, replicates), clock)
        fast = best_of(times, lambda: counts(verdicts, view, replicates), clock)
        found |= {f"gather_{name}_s": slow, f"wmbxl_{name}_s": fast, f"{name}_ratio": fast / slow}
    return found


def _measured(items: int, models: int, replicates: int, queue: multiprocessing.Queue[dict[str, float]]) -> None:
    verdicts, view = simulated(items, models, items // 23)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    full_vs_view(verdicts, [view], Bootstrap(replicates=replicates))
    queue.put({
        "items": items, "models": models, "replicates": replicates,
        "seconds": time.perf_counter() - start,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "before_gb": before / 1e6,
    })  # fmt: skip


def memory(items: int, models: int, replicates: int) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[dict[str, float]] = context.Queue()
    process = context.Process(target=_measured, args=(items, models, replicates, queue))
    process.start()
    found = queue.get()
    process.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/bootstrap.json"))
    options = parser.parse_args()
    small = options.quick
    found = {
        "speed": speed(80, 4, 500, 1) if small else speed(800, 19, 10_000, 3),
        "memory": memory(80, 4, 500) if small else memory(4_027, 20, 1_000_000),
    }
    for name, figures in found.items():
        print(
            f"{name:8}",
            "  ".join(f"{key} {value:,.3f}".replace(".000", "") for key, value in figures.items()),
        )
    options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

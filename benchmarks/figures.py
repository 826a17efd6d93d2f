"""Figures, their targets, and how they are measured and shown."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wmbxl.__about__ import __version__
from wmbxl.errors import WmbxlError

MB = 1e6


@dataclass(frozen=True)
class Target:
    """What a figure has to reach, and what it would like to; upper bounds if `most`."""

    must: float
    aim: float
    most: bool = False

    def verdict(self, value: float) -> str:
        def reaches(bound: float) -> bool:
            return value <= bound if self.most else value >= bound

        return "aim" if reaches(self.aim) else "must" if reaches(self.must) else "MISSED"

    def __str__(self) -> str:
        return f"{'≤' if self.most else '≥'} {self.must:g}, aim {self.aim:g}"


def at_least(must: float, aim: float) -> Target:
    return Target(must, aim)


def at_most(must: float, aim: float) -> Target:
    return Target(must, aim, most=True)


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str = ""
    target: Target | None = None

    def row(self, judged: bool = True) -> str:
        beside = f"   {self.target.verdict(self.value):6} ({self.target})" if self.target and judged else ""
        return f"{self.name:>52} {self.value:12,.2f} {self.unit:8}{beside}".rstrip()

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.target.verdict(self.value) if self.target else None}


def json_file(given: str) -> Path:
    """Return where to write figures, for argparse, which is to say before anything is measured that it can't be."""
    path = Path(given)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


@contextmanager
def told_by(parser: argparse.ArgumentParser) -> Iterator[None]:
    """Tell what is wrong with the input as argparse tells what is wrong with options."""
    try:
        yield
    except WmbxlError as error:
        parser.error(str(error))


def clean_up_when_terminated() -> None:
    """Let SIGTERM end this process as an exit does, so that servers and folders that it made go with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@dataclass(frozen=True)
class Times:
    """CPU seconds of bodies in each of several rounds."""

    seconds: Mapping[str, Sequence[float]]

    def fastest(self, body: str) -> float:
        return min(self.seconds[body])

    def typical(self, body: str) -> float:
        """Return the median."""
        return statistics.median(self.seconds[body])

    def ratio(self, body: str, other: str) -> float:
        """Return a body's time over another's: the median of the rounds, each of which saw one state of the machine."""
        rounds = zip(self.seconds[body], self.seconds[other], strict=True)
        return statistics.median(spent / beside for spent, beside in rounds)


def by_turns(bodies: Mapping[str, Callable[[], object]], rounds: int) -> Times:
    """Time bodies that take turns, so that a slow minute of the machine meets them all."""
    seconds: dict[str, list[float]] = {name: [] for name in bodies}
    for _ in range(rounds):
        for name, body in bodies.items():
            began = time.process_time()
            body()
            seconds[name].append(time.process_time() - began)
    return Times(seconds)


def peak_of(process: int | str = "self") -> int:
    """Return the most memory that a process has held, in bytes. (getrusage would count its parent's too.)"""
    return int(Path(f"/proc/{process}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def machine(packages: Sequence[str] = ("numba", "numpy", "pyarrow", "dask", "orjson")) -> dict[str, str]:
    """Return what the figures depend on."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "wmbxl": __version__,
        **{name: version(name) for name in packages},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()

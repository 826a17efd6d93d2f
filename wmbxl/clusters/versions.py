"""Whether scheduler and workers have the same versions as the process that runs the audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from distributed import Client
from distributed.versions import get_versions

from wmbxl.errors import UsageError

# What tasks, tallies and checkpoints pass through. Dask itself adds its own requirements.
COMPARED = (
    "wmbxl", "dask", "distributed", "cloudpickle", "msgpack", "numpy", "pandas", "pyarrow", "numba", "orjson", "fsspec",
)  # fmt: skip
ASKED_FOR = ["wmbxl", "pyarrow", "numba", "orjson", "fsspec"]  # Dask reports the others unasked


def check_versions(client: Client) -> None:
    """Compare the versions of Python and of packages on scheduler and workers with those here.

    Workers and scheduler report versions as text, so that even what can't load a task can be told.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    UsageError
        If one differs; it says which, where, and what to install.
    """
    here = _versions(get_versions(packages=ASKED_FOR))
    reported = client.get_versions(packages=ASKED_FOR)
    others = {f"worker {address}": report for address, report in reported["workers"].items()}
    others[f"scheduler {client.scheduler.address}"] = reported["scheduler"]
    differing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for place, report in others.items():
        there = _versions(report)
        for name, version in here.items():
            if there.get(name) != version:
                differing[name, there.get(name, "none")].append(place)
    if differing:
        lines = [f"  {name} {here[name]} here, {there} on {_places(p)}" for (name, there), p in differing.items()]
        raise UsageError(
            "versions differ, so tasks could fail or count differently:\n"
            + "\n".join(lines)
            + "\nUse one environment for all (a shared folder, or an image), or change theirs: "
            + _remedy(here, differing)
        )


def _versions(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of what is installed; a source tree that is only on the path has none."""
    python = ".".join(report["host"]["python"].split(".")[:2])
    return {"Python": python, **{name: found for name in COMPARED if (found := report["packages"].get(name))}}


def _places(places: list[str]) -> str:
    return places[0] + (f" and {len(places) - 1:,} more" if len(places) > 1 else "")


def _remedy(here: Mapping[str, str], differing: Mapping[tuple[str, str], list[str]]) -> str:
    """Return what to install where versions differ."""
    names = dict.fromkeys(name for name, _ in differing)
    pip = " ".join(f"{name}=={here[name]}" for name in names if name != "Python")
    python = f"install Python {here['Python']}" if "Python" in names else ""
    return ", then ".join(filter(None, [python, f"pip install {pip}" if pip else ""]))

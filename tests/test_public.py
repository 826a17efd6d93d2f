"""The public names: pinned, documented, and with a docstring that speaks of every parameter."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import wmbxl

PUBLIC = [
    "Audit",
    "Benchmark",
    "Corpus",
    "Normaliser",
    "Problem",
    "ProbeIndex",
    "Shard",
    "Tally",
    "View",
    "WmbxlError",
    "__version__",
    "audit",
    "read_benchmark",
    "scan_shard",
]


def test_public_names_are_pinned() -> None:
    assert sorted(wmbxl.__all__) == sorted(PUBLIC)
    assert all(hasattr(wmbxl, name) for name in PUBLIC)


def defined() -> Iterator[tuple[str, Any]]:
    """Yield every public class, function and method of the package."""
    for module_info in pkgutil.walk_packages(wmbxl.__path__, "wmbxl."):
        if module_info.name == "wmbxl.__main__":
            continue
        module = import_module(module_info.name)
        for name, item in vars(module).items():
            if name.startswith("_") or getattr(item, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(item) or inspect.isfunction(item):
                yield f"{module.__name__}.{name}", item
            if inspect.isclass(item):
                for method, body in vars(item).items():
                    if not method.startswith("_") and inspect.isfunction(body) and body.__name__ != "<lambda>":
                        yield f"{module.__name__}.{name}.{method}", body


@pytest.mark.parametrize(("name", "item"), [pytest.param(*pair, id=pair[0]) for pair in defined()])
def test_public_things_have_a_docstring(name: str, item: Any) -> None:
    assert (item.__doc__ or "").strip(), name


@pytest.mark.parametrize("item", [wmbxl.audit, wmbxl.read_benchmark, wmbxl.scan_shard, wmbxl.ProbeIndex.build])
def test_docstrings_speak_of_every_parameter(item: Any) -> None:
    documented = inspect.getdoc(item) or ""
    names = [name for name in inspect.signature(item).parameters if name not in ("self", "cls")]
    assert [name for name in names if f"{name} :" not in documented and f"{name}, " not in documented] == []

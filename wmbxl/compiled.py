"""Compiled kernels, kept on disk from one process to the next.

Numba has a cache of its own, but that is an index and the files that it points to, written one after the other. Workers
that share a folder and compile several signatures at once can leave an index that points to another signature's code,
which crashes whoever calls it. Here each signature is a file of its own. Its name covers all that the code depends on,
it appears whole, and it is used only if its digest is right; otherwise the kernel is compiled, as it is where no file
can be kept. So every file that can be loaded is the right one, whoever wrote it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import platformdirs
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target

SOURCES = ("kernels.py", "vector.py", "hashing.py", "interpreted.py")  # all modules that have code of kernels
_DIGEST = 32  # bytes of a SHA-256


def folder() -> Path:
    """Return where compiled kernels are kept: ``WMBXL_KERNELS``, or a folder in the user's cache."""
    return Path(os.environ.get("WMBXL_KERNELS") or platformdirs.user_cache_path("wmbxl") / "kernels")


@functools.cache
def _sources() -> str:
    """Return a digest of the code, of what compiles it, and of how that is set up."""
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    digest = hashlib.sha256(repr((versions, settings)).encode())
    for name in SOURCES:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()


def _digest(*content: Any) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]


def _prefix(kernel: str, context: Any) -> str:
    # The processor's name and features are part of the code generator's tuple.
    return f"{kernel}-{_digest(_sources(), context.codegen().magic_tuple())}-"


def is_kept(kernel: str) -> bool:
    """Whether an earlier process has compiled a kernel, for one signature at least, and kept the code."""
    return any(folder().glob(f"{_prefix(kernel, cpu_target.target_context)}*"))


class KernelCache(NullCache):  # type: ignore[misc]
    """What a dispatcher of Numba asks for compiled code before it compiles."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _path(self, signature: Any, context: Any) -> Path:
        return folder() / f"{_prefix(self._name, context)}{_digest(signature)}"

    def load_overload(self, signature: Any, context: Any) -> CompileResult | None:
        """Return the compiled code for a signature, or None."""
        try:
            data = self._path(signature, context).read_bytes()
            packed = data[_DIGEST:]
            if hashlib.sha256(packed).digest() != data[:_DIGEST]:
                return None
            return CompileResult._rebuild(context, *pickle.loads(packed))
        except Exception:  # whatever is wrong with a file, the kernel can be compiled
            return None

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        """Keep compiled code, if that is possible."""
        if result.library.has_dynamic_globals:  # addresses of this process
            return
        path = self._path(signature, result.target_context)
        packed = serialize.dumps(result._reduce())
        with contextlib.suppress(OSError):  # such as a home that can't be written to
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(hashlib.sha256(packed).digest() + packed)
            Path(file.name).replace(path)

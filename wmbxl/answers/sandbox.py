"""Child processes that compute with limits on time and memory, and may be lost.

A time limit by signals works in a process's main thread only, and one by threads can't stop a computation. So steps
that could run away run in a child: it answers in time, or it is killed and replaced. Children are started by
`subprocess`, which also works in daemonic processes such as Dask's workers, and live on for the next request. A child
ends when its standard input closes, and by an alarm of its own if its parent was killed meanwhile.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

START_SECONDS = 300.0  # imports, on a machine that may be busy
_READY = b"ready\n"


class Overdue(Exception):
    """The child did not answer in time, or died over the request; it has been replaced."""


class _Child:
    def __init__(self, module: str) -> None:
        # One thread each: a BLAS with more would compete for cores and reserve memory for every one.
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        # -P: a file such as random.py in the working directory would stand in the way of Python's own.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
        )
        try:
            self._line(time.monotonic() + START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        line = json.dumps({"seconds": seconds, **request}).encode() + b"\n"
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line)
            return json.loads(self._line(time.monotonic() + seconds))
        except (OSError, ValueError) as error:
            raise Overdue("the process died") from error

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        read = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not read.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise Overdue("no answer in time")
                chunk = os.read(self._process.stdout.fileno(), 65536)
                if not chunk:
                    raise Overdue("the process died")
                read += chunk
        return read

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class Sandbox:
    """A few children that answer requests; any number of threads may ask.

    Parameters
    ----------
    module : str
        What a child runs: a module that calls `serve`.
    size : int
        How many children there are at most. They start when they are first needed.
    """

    def __init__(self, module: str, size: int) -> None:
        self._module = module
        self._free = threading.BoundedSemaphore(size)
        self._idle: list[_Child] = []
        self._owner = os.getpid()
        atexit.register(self.close)

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """Let a child answer a request, a mapping that JSON can hold.

        Raises
        ------
        Overdue
            There was no answer within `seconds`, of which neither waiting for a free child nor starting one is part,
            or the child died, as it does if it needs more memory than it may have.
        """
        with self._free:
            try:
                child = self._idle.pop()
            except IndexError:
                child = _Child(self._module)
            try:
                answer = child.ask(request, seconds)
            except BaseException:
                child.kill()
                raise
            self._idle.append(child)
            return answer

    def close(self) -> None:
        """End the idle children; the next request starts new ones."""
        while self._idle and os.getpid() == self._owner:  # a fork has the list, but not the children
            self._idle.pop().kill()


def serve(answer: Callable[[Mapping[str, Any]], Any], megabytes: int) -> None:
    """Answer requests from standard input until it closes: what a child runs. Memory is limited on Linux.

    Parameters
    ----------
    answer : callable
        From request to answer, both of JSON.
    megabytes : int
        How much memory the child may take on top of what it has when it starts.
    """
    import resource

    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + megabytes * 1_000_000,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the pipe
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, 2 * request["seconds"])
        sys.stdout.buffer.write(json.dumps(answer(request)).encode() + b"\n")
        sys.stdout.buffer.flush()
        signal.setitimer(signal.ITIMER_REAL, 0)

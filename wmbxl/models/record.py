"""The record of calls: each call and its reply, one JSON line, kept as soon as the reply is there."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import orjson

from wmbxl.__about__ import __version__
from wmbxl.errors import RecordsError
from wmbxl.models.call import Call, Reply


class Record:
    """A file of calls and their replies, found by the content of the call.

    It is a cache (a call on record is not made again), what an interrupted run resumes from, and what replays a run
    without a model. No key, header or address is in it.

    Parameters
    ----------
    path : str or Path
        A local file of JSON lines: ``key, model, messages, parameters, sample, reply, version, time``. Made, with its
        folder, by the first call that is added.

    Raises
    ------
    RecordsError
        Lines are no calls. A last line that was cut off when a run was killed is no error: its call is made again.

    Examples
    --------
    >>> import tempfile
    >>> call = Call("m", ({"role": "user", "content": "1 + 1?"},))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Record(f"{folder}/calls.jsonl").add(call, Reply("2", "stop"))
    ...     Record(f"{folder}/calls.jsonl").get(call).text
    '2'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        content = self.path.read_bytes() if self.path.exists() else b""
        whole, _, self._torn = content.rpartition(b"\n")
        self._replies = _replies(whole, str(path))

    def get(self, call: Call) -> Reply | None:
        """Return the reply to a call, or None if the call is not on record."""
        return self._replies.get(call.key)

    def add(self, call: Call, reply: Reply) -> None:
        """Put a call on record; when this returns, its line is in the file, whatever happens to this process."""
        line = {
            "key": call.key,
            **asdict(call),
            "reply": asdict(reply),
            "version": __version__,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._torn:
            os.truncate(self.path, self.path.stat().st_size - len(self._torn))
            self._torn = b""
        with self.path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")
        self._replies[call.key] = reply


def _replies(lines: bytes, where: str) -> dict[str, Reply]:
    replies = {}
    issues = []
    for number, line in enumerate(lines.split(b"\n") if lines else (), start=1):
        try:
            content = orjson.loads(line)
            replies[content["key"]] = Reply(**content["reply"])
        except (ValueError, KeyError, TypeError) as error:
            issues.append(f"line {number}: expected a call with its reply ({type(error).__name__}: {error})")
    if issues:
        raise RecordsError(where, issues)
    return replies

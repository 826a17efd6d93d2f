"""Reading ahead in a store: the next ranges are fetched while this one is scanned."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fsspec.caching import BaseCache, register_cache

# At 50 ms before the first byte, and 60 MB/s for each connection as S3 gives it, a range takes 0.12 s. Sixteen at once
# bring 560 MB/s.
RANGE = 4 << 20  # bytes of a request
AHEAD = 16  # requests under way at once
BEGINNING = 3  # ranges asked for before a file's turn comes
BEGINNING_BYTES = RANGE // 4 + RANGE // 2 + RANGE
FILES_AHEAD = AHEAD  # files whose beginning is asked for, if they are that small

# Requests wait in threads of their own. All files share them, since to start a thread costs more than to scan a tiny
# object.
_pool = ThreadPoolExecutor(4 * AHEAD, "wmbxl-ahead")


class ReadAhead(BaseCache):  # type: ignore[misc]
    """A cache, as fsspec calls it, for a file that is read forward; at most `AHEAD` + 1 ranges are in memory.

    The first two ranges are a quarter and a half of the others, so that there is soon something to do. (fsspec's own
    "readahead" waits for each range, and its "background" fetches one at a time.)

    Parameters
    ----------
    blocksize : int
        Bytes of a range.
    fetcher : callable
        Gives the bytes of the file between two positions.
    size : int
        Bytes of the file.
    stop : int
        Position behind which nothing is fetched before it is asked for; negative for the end of the file.
    forward : bool
        Whether it is known that the file is read forward. Else that has to show before much is fetched.
    """

    name = "wmbxl_ahead"

    def __init__(
        self, blocksize: int, fetcher: Callable[[int, int], bytes], size: int, stop: int = -1, forward: bool = False
    ) -> None:
        super().__init__(blocksize, fetcher, size)
        self._stop = size if stop < 0 else min(stop, size)
        self._ranges: deque[tuple[int, int, Future[bytes]]] = deque()  # begin, end; one behind the other
        self._asked = 0  # ranges, in a row
        self._at_once = AHEAD if forward else 1  # grows while the file is read forward

    def begin(self, start: int) -> None:
        """Ask for the first ranges from a position on, and don't wait for them."""
        while len(self._ranges) < min(BEGINNING, self._at_once + 1) and start < self._stop:
            self._ask(start, start)
            start = self._ranges[-1][1]

    def _fetch(self, start: int | None, end: int | None) -> bytes:
        start = start or 0
        end = self.size if end is None else min(end, self.size)
        if start >= end:
            return b""
        if self._ranges and not self._ranges[0][0] <= start <= self._ranges[-1][1]:
            self._forget()
        while self._ranges and self._ranges[0][1] <= start:
            self._ranges.popleft()
            self._at_once = min(AHEAD, 2 * self._at_once)
        if not self._ranges:
            self._ask(start, end)
        while self._ranges[-1][1] < end or (len(self._ranges) <= self._at_once and self._ranges[-1][1] < self._stop):
            self._ask(self._ranges[-1][1], end)
        return b"".join(
            memoryview(future.result())[max(0, start - a) : end - a]
            for a, b, future in self._ranges
            if a < end and start < b
        )

    def _ask(self, begin: int, wanted: int) -> None:
        """Fetch a range, up to `stop` unless more is wanted."""
        size = max(1, self.blocksize >> max(0, 2 - self._asked))
        end = min(begin + size, max(wanted, self._stop))
        self._asked += 1
        self._ranges.append((begin, end, _pool.submit(self.fetcher, begin, end)))

    def _forget(self) -> None:
        for *_, future in self._ranges:
            future.cancel()
        self._ranges.clear()
        self._asked, self._at_once = 0, 1

    def close(self) -> None:
        """Give up what is under way."""
        self._forget()


register_cache(ReadAhead, clobber=True)


def options(stop: int, forward: bool) -> dict[str, Any]:
    """Return how a filesystem is asked to open a file that is read like this."""
    return {"block_size": RANGE, "cache_type": ReadAhead.name, "cache_options": {"stop": stop, "forward": forward}}

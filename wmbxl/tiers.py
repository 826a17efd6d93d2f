"""When a kernel pays for its compilation: what a process does without kernels until it has seen enough data.

Compiling takes seconds, in which Python and Arrow read megabytes. So a process begins with what they offer for JSON,
columns and letters outside ASCII, and looks for n-grams with the kernels as plain Python, all of which finds the same.
Small audits never compile a kernel. What an earlier process has compiled and kept is used at once.
"""

from __future__ import annotations

from wmbxl import compiled

MB = 1 << 20


class Tier:
    """Work that Python can do, until a process has had so much of it that a kernel should.

    Parameters
    ----------
    kernel : str
        Its name, or that of one that is compiled with it.
    bytes_first : int
        Of such work, done by Python.
    longest : int
        Bytes at a time. What is longer goes to the kernels, which need less memory for it.
    """

    def __init__(self, kernel: str, bytes_first: int, longest: int) -> None:
        self.kernel, self.longest = kernel, longest
        self.bytes_first = self.bytes_left = bytes_first

    def compiles(self, size: int) -> bool:
        """Take work of `size` bytes into account; whether it is for the kernel."""
        untouched = self.bytes_left == self.bytes_first
        if size > min(self.longest, self.bytes_left) or (untouched and compiled.is_kept(self.kernel)):
            self.bytes_left = 0
            return True
        self.bytes_left -= size
        return False


scan = Tier("find_matches", 1 * MB, 1 * MB)
json = Tier("find_texts", 32 * MB, 8 * MB)
columns = Tier("are_utf8", 32 * MB, 8 * MB)
letters = Tier("lower_capitals", 8 * MB, 2 * MB)
ALL = (scan, json, columns, letters)

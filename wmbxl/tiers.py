"""When a kernel pays for its compilation: what a process does without kernels until it has seen enough data.

Compiling the kernels that read JSON, check columns and lower-case letters outside ASCII takes seconds, and Python and
Arrow read megabytes in that time. So a process begins with what they offer, which finds the same, and small audits
never compile these kernels.
"""

from __future__ import annotations

from wmbxl import compiled

MB = 1 << 20
LONGEST = 8 * MB  # what is longer goes to the kernels, which need less memory for it


class Tier:
    """Work that Python can do, until a process has had so much of it that a kernel should.

    Parameters
    ----------
    kernel : str
        Its name, or that of one that is compiled with it.
    bytes_first : int
        Of such work, done by Python.
    """

    def __init__(self, kernel: str, bytes_first: int) -> None:
        self.kernel = kernel
        self.bytes_left = bytes_first

    def compiles(self, size: int) -> bool:
        """Take work of `size` bytes into account; whether it is for the kernel."""
        if size > min(LONGEST, self.bytes_left):
            self.bytes_left = 0 if size <= LONGEST else self.bytes_left
            return True
        self.bytes_left -= size
        return False


json = Tier("find_texts", 32 * MB)
columns = Tier("are_utf8", 32 * MB)
letters = Tier("lower_capitals", 8 * MB)


def skip_if_kept() -> None:
    """Leave all work to the kernels that an earlier process has compiled."""
    for tier in (json, columns, letters):
        if compiled.is_kept(tier.kernel):
            tier.bytes_left = 0

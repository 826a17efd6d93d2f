"""When a kernel pays for its compilation: what a process does without kernels until it has seen enough data.

Compiling the kernels that read JSON, check columns and lower-case letters outside ASCII takes seconds, and Python and
Arrow read megabytes in that time. So a process begins with what they offer, which finds the same, and small audits
never compile these kernels.
"""

from __future__ import annotations

MB = 1 << 20
LONGEST = 8 * MB  # what is longer goes to the kernels, which need less memory for it


class Tier:
    """Work that Python can do, until a process has had so much of it that a kernel should.

    Parameters
    ----------
    bytes_first : int
        Of such work, done by Python.
    """

    def __init__(self, bytes_first: int) -> None:
        self.bytes_left = bytes_first

    def compiles(self, size: int) -> bool:
        """Take work of `size` bytes into account; whether it is for the kernel."""
        if size > min(LONGEST, self.bytes_left):
            self.bytes_left = 0 if size <= LONGEST else self.bytes_left
            return True
        self.bytes_left -= size
        return False


json = Tier(32 * MB)
columns = Tier(32 * MB)
letters = Tier(8 * MB)

"""Are the files those that ``SHA256SUMS`` lists?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from wmbxl.release import layout
from wmbxl.release.opened import Issue
from wmbxl.release.rows import Files


def differing_checksums(files: Files) -> Iterator[Issue]:
    """Yield files that are not as listed, listed and not there, or there and not listed."""
    listed = set()
    for number, line in enumerate(files.get(layout.SUMS, b"").decode(errors="replace").splitlines(), 1):
        digest, _, path = line.partition("  ")
        listed.add(path)
        if path not in files:
            yield Issue("checksums", layout.SUMS, f"{path} is listed, and not there", number)
        elif hashlib.sha256(files[path]).hexdigest() != digest:
            yield Issue("checksums", path, f"its sha256 is not the one in {layout.SUMS}, line {number}")
    for path in sorted(set(files) - listed - {layout.SUMS}):
        yield Issue("checksums", path, f"not listed in {layout.SUMS}")

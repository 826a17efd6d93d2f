"""Does a release hold a secret, a path of somebody's machine, or an e-mail address?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wmbxl.extras import needs
from wmbxl.release.opened import Issue
from wmbxl.release.rows import Files

_PATTERNS = {
    "an e-mail address": re.compile(r"(?<![\w.\\])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?!\w)"),
    "a path of a machine": re.compile(
        r"(?<![\w.:/}])/(?:home|Users|root|tmp|mnt|scratch|workspace|srv|var|opt|data|gpfs|lustre)/[\w.-]+"
        r"|\bfile:/+[\w.-]+|(?<!\w)[A-Za-z]:\\+Users\\+\w+|(?<![\w/])~/[\w.-]+"
    ),
}
# Detectors of strings of a known form. Those of mere randomness would find every checksum and every formula.
_LEFT_OUT = {"Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector", "IPPublicDetector"}


def find_private(files: Files) -> Iterator[Issue]:
    """Yield every line that holds something that should not be public; what was found is not repeated.

    Parameters
    ----------
    files : mapping of str to bytes
    """
    scan = needs("detect_secrets.core.scan", extra="release", what="the check for secrets")
    settings = needs("detect_secrets.settings", extra="release", what="the check for secrets")
    plugins = needs("detect_secrets.core.plugins.util", extra="release", what="the check for secrets")
    names = {kind.__name__ for kind in plugins.get_mapping_from_secret_type_to_class().values()} - _LEFT_OUT
    with settings.transient_settings({"plugins_used": [{"name": name} for name in sorted(names)]}):
        for path, content in files.items():
            if b"\0" in content:
                yield Issue("private", path, "not text, so nobody can see what it holds: leave it out")
            text = content.decode(errors="replace")
            secrets = any(scan.scan_line(text))  # the detectors know no lines, and nearly all files hold none
            for number, line in enumerate(text.split("\n"), 1):
                found = [kind for kind, pattern in _PATTERNS.items() if pattern.search(line)]
                if secrets:
                    found += sorted({f"a secret ({secret.type})" for secret in scan.scan_line(line)})
                yield from (Issue("private", path, f"holds {kind}: remove it", number) for kind in found)

"""The tokens of the release profile, for peers that leave normalisation to the caller."""

from __future__ import annotations

import re

_MARKUP = re.compile(r"\\[a-zA-Z]+|[{}$]")


def tokens(text: str) -> list[str]:
    return _MARKUP.sub(" ", text.lower()).split()

"""How much work one paper may make."""

from __future__ import annotations

from pydantic import Field

from wmbxl.settings import Section


class Limits(Section):
    """Limits of one paper; whatever exceeds one ends with a recorded reason.

    Parameters
    ----------
    archive_bytes : int
        Of the archive as it lies in its folder.
    unpacked_bytes, members : int
        Of all files in it; a bomb ends here.
    file_bytes : int
        Of one TeX file.
    nesting : int
        Files and macros within one another; a macro that calls itself ends here.
    expansions : int
        Calls of macros.
    characters : int
        Of the flat source, macros expanded.
    """

    archive_bytes: int = Field(default=200_000_000, ge=1)
    unpacked_bytes: int = Field(default=1_000_000_000, ge=1)
    members: int = Field(default=10_000, ge=1)
    file_bytes: int = Field(default=20_000_000, ge=1)
    nesting: int = Field(default=100, ge=1)
    expansions: int = Field(default=500_000, ge=1)
    characters: int = Field(default=20_000_000, ge=1)

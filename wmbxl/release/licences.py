"""Licences: what a source paper's licence lets a record be released under."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class RecordLicence:
    """A licence under which records are released.

    Attributes
    ----------
    spdx : str
        Its SPDX identifier.
    url : str
        Its text.
    slug : str
        Names the file of its records: ``data/problems_<slug>.jsonl``.
    """

    spdx: str
    url: str
    slug: str

    @property
    def path(self) -> str:
        """The file of its records."""
        return f"data/problems_{self.slug}.jsonl"


_BY, _BY_SA, _BY_NC_SA = RECORD_LICENCES = tuple(
    RecordLicence(f"CC-{name.upper()}-4.0", f"https://creativecommons.org/licenses/{name}/4.0/", slug)
    for name, slug in (("by", "cc_by"), ("by-sa", "cc_by_sa"), ("by-nc-sa", "cc_by_nc_sa"))
)

# A class that is not here is withheld.
_RELEASED = {"CC0": _BY, "CC BY": _BY, "CC BY-SA": _BY_SA, "CC BY-NC-SA": _BY_NC_SA}

# Version 1.0 of a share-alike licence has no "or any later version", so its records could not be put under 4.0.
_CREATIVE_COMMONS = re.compile(
    r"https?://(?:www\.)?creativecommons\.org/"
    r"(?:licenses/(?P<kind>by|by-sa|by-nc|by-nd|by-nc-sa|by-nc-nd)/[234]\.\d|(?P<zero>publicdomain/zero/1\.0))"
    r"(?:/[a-z]{2})?(?:/(?:legalcode|deed)(?:\.[a-z-]+)?)?/?"
)
_ARXIV = re.compile(r"https?://(?:www\.)?arxiv\.org/licenses/(?:nonexclusive-distrib|assumed-\d+-\d+)/?.*")


def licence_class(uri: str | None) -> str:
    """Name the kind of licence that a URI stands for.

    Returns
    -------
    str
        ``CC0``, ``CC BY``, ``CC BY-SA``, ``CC BY-NC-SA``, ``CC BY-NC``, ``CC BY-ND``, ``CC BY-NC-ND``, ``arXiv
        default``, ``unlabelled``, or ``other`` for what is not known.

    Examples
    --------
    >>> licence_class("http://creativecommons.org/licenses/by-nc-sa/3.0/"), licence_class(None)
    ('CC BY-NC-SA', 'unlabelled')
    >>> licence_class("http://arxiv.org/licenses/nonexclusive-distrib/1.0/")
    'arXiv default'
    """
    if not uri or not uri.strip():
        return "unlabelled"
    if _ARXIV.fullmatch(uri.strip()):
        return "arXiv default"
    if not (found := _CREATIVE_COMMONS.fullmatch(uri.strip().lower())):
        return "other"
    return "CC0" if found["zero"] else f"CC {found['kind'].upper()}"


def record_licence(name: str) -> RecordLicence | None:
    """Return the licence of records whose source paper has this class of licence; None if they are withheld.

    Examples
    --------
    >>> record_licence("CC0").spdx, record_licence("CC BY-NC-ND")
    ('CC-BY-4.0', None)
    """
    return _RELEASED.get(name)

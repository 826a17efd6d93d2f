from __future__ import annotations

import pytest

from wmbxl.release.licences import licence_class, record_licence

CC = "creativecommons.org/licenses"


@pytest.mark.parametrize(
    ("uri", "kind", "released"),
    [
        (f"http://{CC}/by/4.0/", "CC BY", "CC-BY-4.0"),
        (f"https://www.{CC}/by/3.0/us/", "CC BY", "CC-BY-4.0"),
        (f"https://{CC}/by/4.0/legalcode.en", "CC BY", "CC-BY-4.0"),
        ("http://creativecommons.org/publicdomain/zero/1.0/", "CC0", "CC-BY-4.0"),
        (f"http://{CC}/by-sa/4.0", "CC BY-SA", "CC-BY-SA-4.0"),
        (f"http://{CC}/by-nc-sa/3.0/", "CC BY-NC-SA", "CC-BY-NC-SA-4.0"),
        (f"http://{CC}/by-nc-nd/4.0/", "CC BY-NC-ND", None),
        (f"http://{CC}/by-nd/4.0/", "CC BY-ND", None),
        (f"http://{CC}/by-nc/4.0/", "CC BY-NC", None),
        ("http://arxiv.org/licenses/nonexclusive-distrib/1.0/", "arXiv default", None),
        ("http://arxiv.org/licenses/assumed-1991-2003/", "arXiv default", None),
        (None, "unlabelled", None),
        ("  ", "unlabelled", None),
        # What is not known for certain is withheld.
        (f"http://{CC}/by-sa/1.0/", "other", None),
        (f"http://{CC}/by/4.0/evil", "other", None),
        (f"http://example.org/?{CC}/by/4.0/", "other", None),
        ("CC BY 4.0", "other", None),
    ],
)
def test_a_uri_decides(uri, kind, released):
    assert licence_class(uri) == kind
    licence = record_licence(kind)
    assert (licence.spdx if licence else None) == released

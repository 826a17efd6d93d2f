"""The canonical and the symbolic step, as a child process runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wmbxl.answers.sandbox import serve

MEGABYTES = 512


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Compare ``first`` and ``second`` by the step that the request names."""
    return {"relation": "undecided", "reason": "not yet", "foreign": []}


if __name__ == "__main__":
    serve(answer, MEGABYTES)

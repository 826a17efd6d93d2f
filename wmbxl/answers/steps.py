"""The canonical and the symbolic step, as a child process runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from wmbxl.answers.latex import NotUnderstood, canonical, tokenise
from wmbxl.answers.sandbox import serve
from wmbxl.answers.symbolic import Found, relate

MEGABYTES = 512


def compare(step: str, first: str, second: str) -> Found:
    r"""Compare two formulas by one step.

    Examples
    --------
    >>> compare("canonical", r"{\bf H}^{\mathsf H}", r"\mathbf{H}^H").relation
    'equivalent'
    """
    try:
        one, other = tokenise(first), tokenise(second)
        if step == "symbolic":
            return relate(one, other)
        same = canonical(one) == canonical(other)
        return Found("equivalent", "the same but for spelling") if same else Found("undecided", "spelled differently")
    except NotUnderstood as error:
        return Found("undecided", f"not understood: {error}")
    except Exception as error:  # out of memory, or a mistake of ours: neither may look like a verdict
        return Found("undecided", f"failed: {type(error).__name__}: {error}")


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request of `wmbxl.answers.chain`."""
    return asdict(compare(request["step"], request["first"], request["second"]))


if __name__ == "__main__":
    serve(answer, MEGABYTES)

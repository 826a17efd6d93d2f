"""Are the tables of results about the problems of this release, and do their differences add up?"""

from __future__ import annotations

from collections.abc import Iterator

from wmbxl.release import layout
from wmbxl.release.opened import Issue, Tables
from wmbxl.release.rows import Row

_ROUNDED = 0.0051  # tables may be rounded to two decimals


def wrong_results(tables: Tables) -> Iterator[Issue]:
    """Yield rows whose difference is not that of the accuracies beside it."""
    full, public = f"acc_full{len(tables.tests)}", f"acc_public{len(tables.public)}"
    for path, row in tables.placed(layout.PUBLIC_RESULTS):
        yield from _sums(path, row, public, full)
    for path in (path for path in tables.rows if path.endswith(layout.MULTIN_RESULTS)):
        for _, row in tables.placed(path):
            yield from _sums(path, row, "acc_full", "acc_S0")


def _sums(path: str, row: Row, left: str, right: str) -> Iterator[Issue]:
    try:
        expected = float(row.value[left]) - float(row.value[right])
        found = float(row.value["delta_pp"])
    except KeyError as error:
        yield Issue("results", path, f"no column {error}: it was made for another number of problems", row.line)
    except ValueError as error:
        yield Issue("results", path, f"not a number: {error}", row.line)
    else:
        if not abs(expected - found) <= _ROUNDED:  # nor is it if one is NaN
            yield Issue("results", path, f"expected delta_pp = {expected:.2f}, found {found:.2f}", row.line)

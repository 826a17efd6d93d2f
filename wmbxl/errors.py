"""What can go wrong, as a tree.

::

    WmbxlError
    ├── UsageError              the call is wrong: change it and call again (exit status 2)
    │   ├── FieldNotFound       no record has the named field
    │   ├── NothingMatches      a path or pattern names no file
    │   ├── RecordsError        bad records, all of them at once
    │   │   ├── BenchmarkError  … of a benchmark
    │   │   ├── VerdictError    … of a file of models' verdicts
    │   │   └── LeakError       … that training must not see, since the test would tell nothing then
    │   ├── RunMismatch         the run folder belongs to another audit
    │   └── EndpointRefuses     a model's endpoint accepts no call of this kind: wrong key, model or address
    ├── Interrupted             the run ended early, and the same command resumes it
    ├── CallFailed              a model's endpoint gave no answer to one call
    │   ├── BudgetSpent         … since it was not asked: the budget is spent
    │   └── NotRecorded         … since it was not asked: only the record may answer, and it has no such call
    └── Unreadable              input that could not be read (recorded in the ledger)

``Unreadable`` carries the reason under which the ledger counts it. It does not stop an audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class WmbxlError(Exception):
    """Base of every error that wmbxl raises on purpose."""


class UsageError(WmbxlError):
    """The call is wrong; the message says what to change."""


class FieldNotFound(UsageError):
    """No record has the named field."""

    def __init__(self, where: str, field: str, available: Iterable[str], option: str) -> None:
        names = sorted(set(available))
        close = get_close_matches(field, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        listed = ", ".join(names) if names else "(none)"
        super().__init__(
            f"{where}: no record has the field {field!r}.{hint} Fields found: {listed}. "
            f"Name the right one with {option}."
        )


class NothingMatches(UsageError):
    """A path or pattern names no file."""


class RecordsError(UsageError):
    """Bad records, collected and shown together.

    Attributes
    ----------
    issues : list of str
        One line per bad record, each with its place.
    """

    SHOWN = 20

    def __init__(self, where: str, issues: Sequence[str]) -> None:
        self.issues = list(issues)
        shown = "\n".join(f"  {line}" for line in self.issues[: self.SHOWN])
        more = len(self.issues) - self.SHOWN
        tail = f"\n  … and {more} more" if more > 0 else ""
        super().__init__(f"{where}: {len(self.issues)} problem(s) with the records\n{shown}{tail}")


class BenchmarkError(RecordsError):
    """Bad benchmark records, collected and shown together."""


class VerdictError(RecordsError):
    """Bad verdict records, collected and shown together."""


class LeakError(RecordsError):
    """Training problems that are in the test or share something with it, collected and shown together."""


class RunMismatch(UsageError):
    """The run folder belongs to another audit."""


class EndpointRefuses(UsageError):
    """A model's endpoint accepts no call of this kind: another key, model or address is needed."""


class Interrupted(WmbxlError):
    """The run ended before its end; what was finished is kept, and the same command resumes it."""


class CallFailed(WmbxlError):
    """A model's endpoint gave no answer to one call, however often it was asked."""


class BudgetSpent(CallFailed):
    """The call was not made, since the budget in calls or tokens is spent."""


class NotRecorded(CallFailed):
    """The call was not made, since only the record may answer, and it does not hold this call."""


class Unreadable(WmbxlError):
    """Input that could not be read.

    Attributes
    ----------
    reason : str
        The ledger's name for it, such as ``"truncated"`` or ``"refused_zip"``.
    position : int or None
        Byte position in the file at which reading stopped, where it is known.
    """

    def __init__(self, reason: str, message: str, position: int | None = None) -> None:
        self.reason = reason
        self.position = position
        super().__init__(message)

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str, int | None]]:
        return type(self), (self.reason, str(self), self.position)

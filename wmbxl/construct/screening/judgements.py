"""What experts said, one file for each, appended click by click: nothing is ever overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from wmbxl.construct.records import Kept, Problem, Review, parse_lines
from wmbxl.errors import NothingMatches

CANDIDATES = "candidates.jsonl"
JUDGEMENTS = "screening"

# The paper's five levels.
LEVELS = {
    5: ("Excellent", "Deep, original or insightful; tells levels of understanding apart. Strongly recommended."),
    4: ("Good", "Clear, well structured, relevant, moderately hard. Worth keeping and recommending."),
    3: ("Acceptable", "No major errors; average difficulty and relevance. Can be kept, adds limited value."),
    2: ("Poor", "Correct but trivial, or too vague, or nearly impossible to answer. Little value."),
    1: ("Invalid", "Clearly wrong or contradictory, outside the field, or unusable as a question."),
}
LOWEST_TO_ACCEPT = 3


class Judgement(Review):
    """A review by an expert, with the time of the click. A later one of the same person counts instead.

    Attributes
    ----------
    shown_sha256 : str
        Of the prompt and key that were judged. Another seed or answer of a model gives a problem of the same id other
        words; what was said of the old ones is not said of the new ones.
    time : datetime.datetime
    """

    shown_sha256: str
    time: datetime


class Screening:
    """The candidates of a build, and the judgements on them.

    Parameters
    ----------
    folder : str or Path
        The folder that `wmbxl build` writes to. The candidates of its latest version are screened. Judgements go to
        ``screening/NAME.jsonl`` in it, so that they hold for later versions too.

    Attributes
    ----------
    problems : dict of str to Problem
        By id, in the file's order.

    Raises
    ------
    NothingMatches
        There is no version in the folder.
    RecordsError
        Lines of a file are not what they should be.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        versions = [path for path in self._folder.glob(f"v*/{CANDIDATES}") if path.parent.name[1:].isdigit()]
        if not versions:
            raise NothingMatches(
                f"{folder}: no v1/{CANDIDATES} in this folder: give the folder that wmbxl build writes to (its out), "
                "not a version of it"
            )
        path = max(versions, key=lambda path: int(path.parent.name[1:]))
        self.problems = {problem.problem_id: problem for problem in _read(Problem, path, path.read_bytes())}

    def add(self, rater: str, problem_id: str, level: int, decision: str, comment: str) -> Judgement:
        """Keep a judgement; when this returns, it is on the disk.

        Raises
        ------
        ValueError
            What a person should be told: no such problem, level or decision; no name; a decision that contradicts the
            level; a revision that does not say what to revise.
        """
        comment = comment.strip()
        if problem_id not in self.problems:
            raise ValueError(f"There is no problem {problem_id}.")
        if not 0 < len(rater) <= 60 or not rater.isprintable() or rater != rater.strip():
            raise ValueError("Give a name of at most 60 characters.")
        if level not in LEVELS:
            raise ValueError("Choose a level from 1 to 5 first.")
        if decision not in ("accept", "revise", "reject"):
            raise ValueError("Choose to accept, revise or reject.")
        if decision == "accept" and level < LOWEST_TO_ACCEPT:
            raise ValueError(f"A problem of level {level} can't be accepted: it takes {LOWEST_TO_ACCEPT} or more.")
        if decision == "revise" and not comment:
            raise ValueError("Say in the comment what should be revised.")
        judgement = Judgement.model_validate(
            {
                "problem_id": problem_id,
                "tier": 2,
                "rater": rater,
                "level": level,
                "decision": decision,
                "comment": comment,
                "shown_sha256": self.problems[problem_id].shown_sha256,
                "time": datetime.now(UTC),
            }
        )
        _append(self._path(rater), judgement.model_dump_json())
        return judgement

    def history(self) -> list[Judgement]:
        """Return all judgements on these problems, in the order of time; those of colleagues on the same folder too."""
        return on(self.problems.values(), history(self._folder))

    def current(self) -> dict[str, dict[str, Judgement]]:
        """Return the latest judgement of each rater, by problem and rater."""
        return latest(self.history())

    def _path(self, rater: str) -> Path:
        return self._folder / JUDGEMENTS / f"{quote(rater, safe=' ')}.jsonl"


def history(folder: str | Path) -> list[Judgement]:
    """Return all judgements that a build's folder holds, in the order of time.

    Raises
    ------
    RecordsError
        Lines of a file are no judgements.
    """
    files = sorted((Path(folder) / JUDGEMENTS).glob("*.jsonl"))
    found = [each for file in files for each in _read_judgements(file, file.stat().st_size)]
    return sorted(found, key=lambda each: (each.time, each.rater))


def on(problems: Iterable[Problem], judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return the judgements that were made on these problems as they are now."""
    shown = {problem.problem_id: problem.shown_sha256 for problem in problems}
    return [each for each in judgements if shown.get(each.problem_id) == each.shown_sha256]


def latest(judgements: Iterable[Judgement]) -> dict[str, dict[str, Judgement]]:
    """Return the last judgement of each rater, by problem and rater."""
    found: dict[str, dict[str, Judgement]] = {}
    for judgement in judgements:
        found.setdefault(judgement.problem_id, {})[judgement.rater] = judgement
    return found


def _append(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():  # a line that was cut off when a process was killed
            file.seek(0)
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


@lru_cache(maxsize=256)
def _read_judgements(path: Path, size: int) -> Sequence[Judgement]:
    """Read the whole lines of a rater's file; `size` makes it read again when it has grown."""
    content = path.read_bytes()
    return _read(Judgement, path, content[: content.rfind(b"\n") + 1])


def _read(kind: type[Kept], path: Path, content: bytes) -> list[Kept]:
    lines = ((number, line) for number, line in enumerate(content.split(b"\n"), start=1) if line.strip())
    return parse_lines(kind, lines, str(path))

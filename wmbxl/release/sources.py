"""What a release is made of, read and joined: the benchmark's records, its papers' licences, and the audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from wmbxl.audit import Audit
from wmbxl.errors import BenchmarkError, FieldNotFound, RecordsError
from wmbxl.release import layout
from wmbxl.release.licences import RecordLicence, licence_class, record_licence
from wmbxl.release.settings import ReleaseConfig
from wmbxl.settings import say_issue
from wmbxl.tables import Record, read_records
from wmbxl.views import audit_rows

_LETTER = r"Give the letter of the right option in \boxed{}."
_BOXES = r"Give what stands for each [MASK] in a \boxed{} of its own, in order."


class Problem(BaseModel):
    """A record of the benchmark, with the fields of the paper's release."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    problem_id: str = Field(min_length=1)
    paper_id: str = Field(min_length=1)
    paper_title: str | None = None
    type: str = Field(min_length=1)
    split: Literal["train", "test"]
    background: str | None = None
    question_text: str = Field(min_length=1)
    equation: str | None = None
    options: dict[str, str] | None = None
    correct_answer: str = Field(min_length=1)
    prompt: str | None = None
    text: str | None = None

    @field_validator("options", mode="before")
    @classmethod
    def _no_options(cls, value: Any) -> Any:
        return value or None

    def asked(self) -> str:
        """Return the prompt: the record's own, or one that is composed as the paper's are."""
        if self.prompt:
            return self.prompt
        options = "\n".join(f"{letter}. {option}" for letter, option in (self.options or {}).items())
        rule = _LETTER if self.options else _BOXES
        parts = (self.background, self.question_text, self.equation, options, rule)
        return "\n\n".join(part for part in parts if part)

    def content(self) -> str:
        """Return everything that this record says, fields apart from each other by a blank line."""
        options = (self.options or {}).values()
        parts = (self.background, self.question_text, self.equation, *options, self.correct_answer, self.prompt)
        return "\n\n".join(part for part in (*parts, self.text) if part)


@dataclass(frozen=True)
class Paper:
    """A source paper and its licence."""

    paper_id: str
    arxiv_id: str | None
    source_license: str | None

    @property
    def licence_class(self) -> str:
        """The kind of licence."""
        return licence_class(self.source_license)

    @property
    def record_licence(self) -> RecordLicence | None:
        """The licence of records from this paper; None if they are withheld."""
        return record_licence(self.licence_class)


@dataclass(frozen=True)
class Sources:
    """What a release is made of.

    Attributes
    ----------
    problems : tuple of Problem
        In the benchmark's order; every text is the one that was audited.
    papers : dict of str to Paper
        By paper id, sorted.
    audit : Audit
    metadata : pandas.DataFrame
        The audit's labels at the release's n and channel, by problem id.
    matched : dict of str to list of str
        Up to five n-grams of a problem that some document of a release corpus holds.
    remarks : list of str
        What the author has to know about the inputs.
    """

    problems: tuple[Problem, ...]
    papers: dict[str, Paper]
    audit: Audit
    metadata: pd.DataFrame
    matched: dict[str, list[str]]
    remarks: list[str]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """``problem_id, paper_id, type, split`` of every problem."""
        names = ["problem_id", "paper_id", "type", "split"]
        return pd.DataFrame([[getattr(problem, name) for name in names] for problem in self.problems], columns=names)

    def licence_of(self, problem: Problem) -> RecordLicence | None:
        """Return the licence of a problem's record; None if it is withheld."""
        return self.papers[problem.paper_id].record_licence


def read_sources(config: ReleaseConfig) -> Sources:
    """Read and join the inputs of a release.

    Raises
    ------
    UsageError
        An input can't be used, or they are not of the same benchmark.
    BenchmarkError
        Some records lack a field of the release, or their text is not what was audited; with all of them.
    """
    problems, left_out = read_problems(config.benchmark)
    audit = Audit.open(config.audit, config.storage_options)
    metadata = audit_rows(audit.metadata, config.n, config.channel).set_index("problem_id")
    papers, unlabelled = _read_papers(config.licences, problems)
    remarks = []
    if left_out:
        remarks.append(f"fields that the release has no place for are left out: {', '.join(left_out)}")
    if unlabelled:
        remarks.append(
            f"{len(unlabelled)} paper(s) have no licence in {config.licences}, such as {unlabelled[0]!r}: their "
            "problems are withheld"
        )
    return Sources(
        problems=_with_audited_text(config, problems, audit),
        papers=papers,
        audit=audit,
        metadata=metadata,
        matched=_matched(audit, config.n, config.channel),
        remarks=remarks,
    )


def read_problems(path: str) -> tuple[tuple[Problem, ...], list[str]]:
    """Read the benchmark's records; return them, and the names of fields that the release has no place for.

    Raises
    ------
    BenchmarkError
        With every bad record.
    """
    records = read_records(path, "benchmark (--benchmark)")
    problems: list[Problem] = []
    issues: list[str] = []
    for row, record in enumerate(records, 1):
        try:
            problems.append(Problem.model_validate(record))
        except ValidationError as error:
            issues += [f"record {row}: {say_issue(issue, ())}" for issue in error.errors()]
    issues += _repeated((problem.problem_id for problem in problems), "problem_id")
    if issues or not problems:
        raise BenchmarkError(path, issues or ["no records: the benchmark is empty"])
    fields = {name for record in records for name in record}
    return tuple(problems), sorted(fields - set(layout.Record.model_fields))


def _repeated(ids: Iterable[str], name: str) -> list[str]:
    return [f"{name} {id!r} is there {times} times" for id, times in Counter(ids).items() if times > 1]


def _read_papers(path: str, problems: Sequence[Problem]) -> tuple[dict[str, Paper], list[str]]:
    """Read the licences; return those of the benchmark's papers, and the papers that have none."""
    rows = read_records(path, "licences")
    for name in ("paper_id", "source_license"):
        if not any(name in row for row in rows):
            raise FieldNotFound(path, name, {field for row in rows for field in row}, f"its proper name, {name!r}")
    issues = [f"record {row}: no paper_id" for row, record in enumerate(rows, 1) if not record.get("paper_id")]
    issues += _repeated((str(row["paper_id"]) for row in rows if row.get("paper_id")), "paper_id")
    if issues:
        raise RecordsError(path, issues)
    known = {str(row["paper_id"]): row for row in rows}
    wanted = sorted({problem.paper_id for problem in problems})
    papers = {name: _paper(name, known.get(name, {})) for name in wanted}
    return papers, [name for name in wanted if name not in known]


def _paper(paper_id: str, row: Record) -> Paper:
    return Paper(paper_id, row.get("arxiv_id") or None, (row.get("source_license") or "").strip() or None)


def _with_audited_text(config: ReleaseConfig, problems: Sequence[Problem], audit: Audit) -> tuple[Problem, ...]:
    """Give every problem the text that was audited; a record whose own text is another one is an error."""
    rows = audit.problems[audit.problems["channel"] == config.channel]
    surfaces = dict(zip(rows["problem_id"], rows["text"], strict=True))
    issues = list(_differences(problems, surfaces))
    if issues:
        raise BenchmarkError(f"{config.benchmark} beside {config.audit}", issues)
    return tuple(problem.model_copy(update={"text": surfaces[problem.problem_id]}) for problem in problems)


def _differences(problems: Sequence[Problem], surfaces: dict[str, str]) -> Iterator[str]:
    for problem in problems:
        if problem.problem_id not in surfaces:
            yield f"problem {problem.problem_id!r} is not in the audit: audit this benchmark"
        elif problem.text is not None and problem.text != surfaces[problem.problem_id]:
            yield (
                f"problem {problem.problem_id!r}: its text is not the one that was audited: audit it again, or leave "
                "the field text out to release what was audited"
            )
    for name in sorted(set(surfaces) - {problem.problem_id for problem in problems}):
        yield f"problem {name!r} was audited and has no record"


def _matched(audit: Audit, n: int, channel: str) -> dict[str, list[str]]:
    corpora = [corpus["name"] for corpus in audit.info["corpora"] if corpus["role"] == "release"]
    evidence = audit.evidence
    rows = evidence[(evidence["n"] == n) & (evidence["channel"] == channel) & evidence["corpus"].isin(corpora)]
    return {str(name): sorted(set(part["ngram"]))[: layout.MATCHED_CAP] for name, part in rows.groupby("problem_id")}

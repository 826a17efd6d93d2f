"""What passes from stage to stage: papers, equations, extractions, problems, reviews, and what fell on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import date
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wmbxl.errors import RecordsError

Kind = Literal["equation", "lemma"]
ProblemType = Literal["MCQ", "fill_blank_25", "fill_blank_50", "fill_blank_75", "fill_blank_100", "proof"]
Decision = Literal["accept", "revise", "reject"]
Tier = Literal[1, 2]


class Record(BaseModel):
    """A record: frozen, and without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Kept = TypeVar("Kept", bound=BaseModel)


def parse_lines(kind: type[Kept], lines: Iterable[tuple[int, bytes]], where: str) -> list[Kept]:
    """Read records of one kind from numbered lines of JSON.

    Raises
    ------
    RecordsError
        Lines are no records of this kind; all of them are told.
    """
    found, issues = [], []
    for number, line in lines:
        try:
            found.append(kind.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            issues.append(f"line {number}: expected a {kind.__name__.lower()}: {place}: {first['msg']}")
    if issues:
        raise RecordsError(where, issues)
    return found


class Paper(Record):
    """A paper: its archive, and what the metadata say of it.

    Attributes
    ----------
    paper_id : str
        The arXiv id, with the version where the archive's name or the metadata tell it.
    source : str
        Where its archive lies; a paper in an outer tar stands behind ``!``.
    sha256 : str
        Of the archive.
    title, categories, submitted, updated, license
        From the metadata; empty or None if they know nothing of the paper.
    """

    paper_id: str
    source: str
    sha256: str
    title: str = ""
    categories: tuple[str, ...] = ()
    submitted: date | None = None
    updated: date | None = None
    license: str | None = None


class SourceSpan(Record):
    """A place in a file of a paper's source.

    Attributes
    ----------
    file : str
        Path in the archive.
    start, end : int
        Code points of the decoded file, half open.
    text : str
        What stands there, as its authors wrote it.
    """

    file: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


class Equation(Record):
    """A displayed equation or a theorem-like statement, as it was found.

    Attributes
    ----------
    equation_id : str
        The paper's id and the number of the find, such as ``2401.00001v1#7``.
    environment : str
        Such as ``align`` or ``lemma``.
    label : str or None
    latex : str
        The body, macros expanded, without labels, tags and the final punctuation.
    before, after : str
        The text around it, macros expanded.
    """

    equation_id: str
    paper_id: str
    kind: Kind
    environment: str
    label: str | None = None
    section: str = ""
    latex: str
    before: str = ""
    after: str = ""
    span: SourceSpan


class Variable(Record):
    """A symbol and what it stands for.

    Attributes
    ----------
    symbol : str
        LaTeX without dollar signs.
    meaning : str
    domain : str
        Where it lies, such as ``complex``, ``real, positive`` or ``integer``; empty if unknown.
    dimension : str
        Its shape: ``1``, ``N`` or ``N x M``; empty if unknown.
    unit : str
        ``1`` for dimensionless, else such as ``W`` or ``m/s``; empty if unknown.
    """

    symbol: str = Field(min_length=1)
    meaning: str = Field(min_length=1)
    domain: str = ""
    dimension: str = ""
    unit: str = ""


class Draft(Record):
    """What a model is asked to write about an equation; its schema goes with the request.

    Attributes
    ----------
    background : str
        Prose that introduces the setting and defines every symbol, without giving the equation away.
    variables : tuple of Variable
    equation : str
        ``left = right`` in LaTeX without dollar signs; for a lemma, its self-contained statement.
    """

    background: str = Field(min_length=1)
    variables: tuple[Variable, ...]
    equation: str = Field(min_length=1)


class Extraction(Record):
    """A draft that belongs to an equation of a paper, and where that stands."""

    equation_id: str
    paper_id: str
    kind: Kind
    background: str
    variables: tuple[Variable, ...]
    equation: str
    span: SourceSpan


class Review(Record):
    """A judgement of a problem.

    Attributes
    ----------
    tier : {1, 2}
        1 for a model's rubric, 2 for an expert.
    rater : str
        The model's or the person's name.
    level : int
        1–5: the rubric's mean rounded down, or the expert's quality level.
    decision : {"accept", "revise", "reject"}
    scores, reasons : dict
        By dimension of the rubric; empty for experts.
    comment : str
    """

    problem_id: str
    tier: Tier
    rater: str
    level: int = Field(ge=1, le=5)
    decision: Decision
    scores: dict[str, int] = {}
    reasons: dict[str, str] = {}
    comment: str = ""


class Problem(Record):
    r"""A problem in the release's fields, with where it comes from and who accepted it.

    Attributes
    ----------
    type : str
        The release's name of the format; ``proof`` for statements to be proved, which have no answer.
    background, question_text, equation : str
        ``equation`` is the masked one, between ``$$``.
    options : dict or None
        A–D, for MCQ.
    correct_answer : str
        A letter, or one ``\boxed{…}`` for each ``[MASK]``, in order, joined as in a sentence.
    prompt : str
        Everything a model is shown.
    text : str
        Background, question and equation, joined by blank lines: the surface that is audited.
    equation_id, kind, span
        Where it comes from.
    accepted_by : {"expert", "config", None}
        Whether a person accepted it, or the config let it pass without one.
    reviews : tuple of Review
    """

    problem_id: str
    paper_id: str
    paper_title: str = ""
    type: ProblemType
    split: Literal["train", "test"] | None = None
    background: str
    question_text: str
    equation: str
    options: dict[str, str] | None = None
    correct_answer: str
    prompt: str
    text: str
    source_license: str | None = None
    equation_id: str
    kind: Kind
    span: SourceSpan
    accepted_by: Literal["expert", "config"] | None = None
    reviews: tuple[Review, ...] = ()

    @property
    def shown_sha256(self) -> str:
        """A hash of what an expert is asked to judge: the prompt and the key."""
        return hashlib.sha256(f"{self.prompt}\0{self.correct_answer}".encode()).hexdigest()


class Drop(Record):
    """An item that went no further: one row behind the funnel table.

    Attributes
    ----------
    stage : str
        Of the pipeline, such as ``sources`` or ``extraction``.
    item : str
        Id of the paper, equation or problem.
    reason : str
        A short name that is counted, such as ``path_traversal``.
    detail : str
        For a person.
    """

    stage: str
    item: str
    reason: str
    detail: str = ""

"""Settings of a release: what ``release.yaml`` holds, and what of it is released in ``release.json``."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from wmbxl.release.datasheet import SECTIONS
from wmbxl.settings import Section, check, say_issue
from wmbxl.text import Profile

Text = Annotated[str, Field(min_length=1)]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class Author(Section):
    """A person or an organisation that made the data."""

    name: Text
    kind: Literal["person", "organisation"] = "person"
    url: str | None = None


class ResponsibleAI(Section):
    """What Croissant's vocabulary for responsible AI asks; an answer that is missing is listed as missing."""

    collection: Text | None = None
    collection_types: list[Text] = Field(default=[])
    annotation: Text | None = None
    preprocessing: Text | None = None
    synthetic_data: Text | None = None
    has_synthetic_data: bool | None = None
    machine_tools: list[Text] = Field(default=[])
    limitations: Text | None = None
    biases: Text | None = None
    uses: Text | None = None
    social_impact: Text | None = None
    personal_information: Text | None = None
    maintenance: Text | None = None

    def missing(self) -> list[str]:
        """Name what has no answer."""
        return [name for name, value in self if value is None or value == []]


class About(Section):
    """What the author says of the data."""

    name: FileName
    title: Text
    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    date: datetime.date
    description: Text
    authors: list[Author] = Field(min_length=1)
    url: Text
    citation: Text
    keywords: list[Text] = Field(default=[])
    metadata_licence: Literal["CC-BY-4.0", "CC0-1.0"] = "CC-BY-4.0"
    rai: ResponsibleAI = ResponsibleAI()
    datasheet: dict[str, Text] = Field(default={})

    @model_validator(mode="after")
    def _known_questions(self) -> About:
        known = [question.id for section in SECTIONS for question in section.questions]
        unknown = [name for name in self.datasheet if name not in known]
        if unknown:
            issues = [{"type": "extra_forbidden", "loc": ("datasheet", name)} for name in unknown]
            raise ValueError("; ".join(say_issue(issue, known) for issue in issues))
        return self


class AuditedCorpus(Section):
    """What was read of one corpus."""

    name: str
    role: str
    documents: int
    tokens: int
    windows: int
    unread_share: float


class Protocol(Section):
    """How accuracies were resampled, see `wmbxl.stats.resample.Bootstrap`."""

    replicates: int = Field(default=10_000, ge=1)
    seed: int = Field(default=0, ge=0)
    rng: Literal["philox", "release"] = "philox"


class PaperSplit(Section):
    """How the split by paper was made, see `wmbxl.papers.paper_disjoint_split`."""

    fraction: float = Field(default=0.2, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)


class Run(Section):
    """What the tables don't tell of the audit that they come from."""

    wmbxl: str
    status: str
    profile: Profile
    n: int
    ns: list[int]
    channel: str
    benchmark_sha256: str
    index: str
    corpora: list[AuditedCorpus]
    bootstrap: Protocol
    paper_split: PaperSplit
    verdict_groups: list[str]


class Released(Section):
    """The content of ``release.json``: what documents say beyond what the tables hold."""

    built_by: str
    about: About
    run: Run


class ReleaseConfig(Section):
    """Everything that ``wmbxl release build`` is told."""

    about: About
    benchmark: Text
    licences: Text
    audit: Text
    out: Text
    n: int = Field(default=13, ge=1)
    channel: str = "prompt"
    verdicts: dict[FileName, Text] = Field(default={})
    bootstrap: Protocol = Protocol()
    paper_split: PaperSplit = PaperSplit()
    tables: dict[FileName, Text] = Field(default={})
    external_audits: dict[FileName, Text] = Field(default={})
    storage_options: dict[str, Any] = Field(default={}, repr=False)  # of all these audits


def validate(content: dict[str, Any], where: str) -> ReleaseConfig:
    """Check the settings of a release, and tell every issue at once.

    Raises
    ------
    UsageError
    """
    known = {name for model in _SECTIONS for name in model.model_fields}
    return check(ReleaseConfig, content, where, lambda issue: say_issue(issue, sorted(known)))


_SECTIONS = (ReleaseConfig, About, Author, ResponsibleAI, Protocol, PaperSplit)

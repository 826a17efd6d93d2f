"""The settings of a build as a YAML file holds them."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import Field, field_validator

from wmbxl.__about__ import __version__
from wmbxl.construct import extraction, proposals, rubric
from wmbxl.construct.equations import Finding
from wmbxl.construct.limits import Limits
from wmbxl.construct.records import ProblemType
from wmbxl.construct.relevance import Relevance, Weights
from wmbxl.models.endpoint import Endpoint
from wmbxl.settings import Section, check, read_yaml, say_issue


class ModelConfig(Section):
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    name : str
        Under which the endpoint serves it.
    base_url : str or None
        None is OpenAI's own.
    key_env : str
        Environment variable with the key.
    concurrency : int
        Calls under way at once, of all workers together.
    requests_per_minute : float or None
        Of all workers together.
    timeout : float
        Seconds of silence after which a try is given up.
    tries : int
        How often a call is tried.
    max_tokens : int
        Of an answer.
    """

    name: str
    base_url: str | None = None
    key_env: str = "OPENAI_API_KEY"
    concurrency: int = Field(default=8, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    timeout: float = Field(default=600.0, gt=0)
    tries: int = Field(default=6, ge=1)
    max_tokens: int = Field(default=2048, ge=1)

    def endpoint(self, workers: int) -> Endpoint:
        """Return the endpoint as one of several workers may use it."""
        rate = self.requests_per_minute
        return Endpoint(
            self.base_url, self.key_env, max(1, self.concurrency // workers), rate and rate / workers, self.timeout,
            self.tries,
        )  # fmt: skip


class TasksConfig(Section):
    """Which problems are made of an equation.

    Parameters
    ----------
    types : list of str
    ask_model : bool
        Whether a model proposes distractors, besides the rules.
    """

    types: list[ProblemType] = Field(
        default=["MCQ", "fill_blank_25", "fill_blank_50", "fill_blank_75", "fill_blank_100", "proof"], min_length=1
    )
    ask_model: bool = True


class QualityConfig(Section):
    """Who judges problems.

    Parameters
    ----------
    rubric : bool
        Whether a model scores them; what it rejects is dropped.
    reviewer : ModelConfig or None
        The model that scores; by default the one that wrote.
    release : {"expert", "unreviewed"}
        Whether only what an expert accepted is released, or everything that passed the other checks too. Each record
        says which.
    """

    rubric: bool = True
    reviewer: ModelConfig | None = None
    release: Literal["expert", "unreviewed"] = "expert"


class BuildConfig(Section):
    """Everything that ``wmbxl build`` can be told.

    Parameters
    ----------
    sources : list of str
        Files, folders or patterns, local or anywhere fsspec reaches.
    out : str
        A local folder.
    metadata : str or None
        The arXiv metadata, JSON lines.
    storage_options : dict
        For sources and metadata. Never written to a file.
    seed : int
        Of masks and options.
    workers : int or None
        Processes; by default one for each core.
    scheduler : str or None
        Address of a running Dask scheduler instead.
    model, limits, relevance, equations, tasks, quality
    """

    sources: list[str] = Field(min_length=1)
    out: str
    model: ModelConfig
    metadata: str | None = None
    storage_options: dict[str, Any] = Field(default={}, repr=False)
    seed: int = Field(default=0, ge=0)
    workers: int | None = Field(default=None, ge=1)
    scheduler: str | None = None
    limits: Limits = Limits()
    relevance: Relevance = Relevance()
    equations: Finding = Finding()
    tasks: TasksConfig = TasksConfig()
    quality: QualityConfig = QualityConfig()

    @field_validator("sources", mode="before")
    @classmethod
    def _one_source(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @property
    def reviewer(self) -> ModelConfig:
        """The model that scores problems."""
        return self.quality.reviewer or self.model

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides what becomes of a paper."""
        asked = self.model_dump_json(include={"seed", "limits", "equations", "tasks"})
        relevance = self.relevance.model_dump_json(exclude={"labels"})
        models = [(model.name, model.max_tokens) for model in (self.model, self.reviewer)]
        words = (extraction.PROMPT_VERSION, proposals.PROMPT_VERSION, rubric.PROMPT_VERSION)
        content = f"{__version__} {asked} {relevance} {models} {self.quality.rubric} {words}"
        return hashlib.sha256(content.encode()).hexdigest()[:32]


_SECTIONS = (BuildConfig, ModelConfig, Limits, Relevance, Weights, Finding, TasksConfig, QualityConfig)


def read_config(path: str, **options: Any) -> BuildConfig:
    """Read a build's settings; options that are not None win.

    Raises
    ------
    UsageError
        The file can't be read, or settings are wrong; all of them are told at once.
    """
    content = {**read_yaml(path), **{name: value for name, value in options.items() if value is not None}}
    known = [name for section in _SECTIONS for name in section.model_fields]
    return check(BuildConfig, content, path, lambda issue: say_issue(issue, known))

"""An audit's settings as a YAML file holds them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, ConfigDict, Field, field_validator

from wmbxl.benchmark import Benchmark, read_benchmark
from wmbxl.corpus import BLOCK_SIZE, Corpus
from wmbxl.kernels import LONGEST_N
from wmbxl.scan import EVIDENCE_CAP
from wmbxl.settings import Section, check, read_yaml, say_issue
from wmbxl.text import Profile
from wmbxl.types import Role

Length = Annotated[int, Field(ge=1, le=LONGEST_N)]


class BenchmarkConfig(Section):
    """The benchmark, see `wmbxl.read_benchmark`."""

    path: str
    id_field: str = "problem_id"
    text_fields: list[str] = Field(default=["text"], min_length=1)
    answer_field: str | None = None
    storage_options: dict[str, Any] = Field(default={}, repr=False)


class CorpusConfig(Section):
    """A corpus, see `wmbxl.Corpus`."""

    name: str = Field(pattern=r"^[^/]+$")
    urls: list[str] = Field(min_length=1)
    text_field: str = "text"
    id_field: str | None = None
    role: Role = "release"
    join_lists: bool = False
    max_zstd_window: int = Field(default=27, ge=10, le=31)
    storage_options: dict[str, Any] = Field(default={}, repr=False)

    @field_validator("urls", mode="before")
    @classmethod
    def _one_url(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class AuditConfig(Section):
    """Everything that ``wmbxl audit`` can be told, see `wmbxl.audit`."""

    benchmark: BenchmarkConfig
    corpora: list[CorpusConfig] = Field(min_length=1)
    out: str
    ns: list[Annotated[int, Field(ge=1, le=64)]] = Field(
        default=[13], min_length=1, validation_alias=AliasChoices("ns", "n")
    )
    profile: Profile = "release"
    workers: int | None = Field(default=None, ge=1)
    scheduler: str | None = None
    cluster: str | None = None
    block_size: int = Field(default=BLOCK_SIZE, ge=4096)
    evidence: int = Field(default=EVIDENCE_CAP, ge=0)
    accept_unread: float = Field(default=0.0, ge=0, le=1)
    storage_options: dict[str, Any] = Field(default={}, repr=False)

    @field_validator("benchmark", mode="before")
    @classmethod
    def _only_a_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    @field_validator("ns", mode="before")
    @classmethod
    def _one_n(cls, value: Any) -> Any:
        return [value] if isinstance(value, int) else value

    def read_benchmark(self) -> Benchmark:
        """Read the benchmark."""
        return read_benchmark(**self.benchmark.model_dump())

    def make_corpora(self) -> list[Corpus]:
        """Make the corpora."""
        return [Corpus(**corpus.model_dump()) for corpus in self.corpora]


class _CorpusStore(Section):
    model_config = ConfigDict(extra="ignore")

    name: str
    storage_options: dict[str, Any] = Field(default={}, repr=False)


class Stores(Section):
    """What a file of settings says of how stores are reached; all else in it may be there or not.

    Attributes
    ----------
    storage_options : dict
        For the run folder.
    corpora : list
        Each with its `name` and `storage_options`.
    """

    model_config = ConfigDict(extra="ignore")

    storage_options: dict[str, Any] = Field(default={}, repr=False)
    corpora: list[_CorpusStore] = Field(default=[])

    @property
    def given(self) -> bool:
        """Whether there are any options."""
        return bool(self.storage_options) or any(self.by_corpus.values())

    @property
    def by_corpus(self) -> dict[str, dict[str, Any]]:
        """Storage options by the corpus's name."""
        return {corpus.name: corpus.storage_options for corpus in self.corpora}


def read_stores(path: str | None) -> Stores:
    """Read how the stores of an audit are reached; without a file, their environment has to say it.

    Raises
    ------
    UsageError
    """
    return check(Stores, read_yaml(path), path, _say) if path else Stores()


def validate(content: dict[str, Any], where: str) -> AuditConfig:
    """Check settings and tell every issue at once.

    Raises
    ------
    UsageError
    """
    return check(AuditConfig, content, where, _say)


_OPTIONS = {
    "benchmark": "--benchmark PATH",
    "benchmark.path": "--benchmark PATH",
    "corpora": "--corpus NAME=URL",
    "out": "--out DIR",
}


def _say(issue: Any) -> str:
    place = ".".join(str(part) for part in issue["loc"])
    if issue["type"] == "missing" and place in _OPTIONS:
        return f"{place}: missing: give {_OPTIONS[place]}, or {place} in a YAML file"
    if issue["loc"][0] == "ns" and issue["type"] in ("greater_than_equal", "less_than_equal"):
        return f"{place}: n must lie between 1 and {LONGEST_N} (found {issue['input']})"
    return say_issue(issue, {**AuditConfig.model_fields, **CorpusConfig.model_fields, **BenchmarkConfig.model_fields})

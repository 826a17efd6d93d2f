"""An audit's settings as a YAML file holds them."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator

from wmbxl.benchmark import Benchmark, read_benchmark
from wmbxl.corpus import BLOCK_SIZE, Corpus
from wmbxl.errors import UsageError
from wmbxl.kernels import LONGEST_N
from wmbxl.scan import EVIDENCE_CAP
from wmbxl.text import Profile
from wmbxl.types import Role

Length = Annotated[int, Field(ge=1, le=LONGEST_N)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BenchmarkConfig(_Section):
    """The benchmark, see `wmbxl.read_benchmark`."""

    path: str
    id_field: str = "problem_id"
    text_fields: list[str] = Field(default=["text"], min_length=1)
    answer_field: str | None = None
    storage_options: dict[str, Any] = Field(default={}, repr=False)


class CorpusConfig(_Section):
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


class AuditConfig(_Section):
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


def read_yaml(path: str) -> dict[str, Any]:
    """Read a YAML file of settings.

    Raises
    ------
    UsageError
        If it can't be read or is no mapping.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read as YAML: {error}") from error
    except yaml.YAMLError as error:  # its own words quote the file, which may hold secrets
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UsageError(f"{path}{place}: not YAML: {getattr(error, 'problem', None) or 'bad characters'}") from None
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise UsageError(f"{path}: expected settings such as  benchmark: problems.jsonl, found a {kind}")
    return content


def validate(content: dict[str, Any], where: str) -> AuditConfig:
    """Check settings and tell every issue at once.

    Raises
    ------
    UsageError
    """
    try:
        return AuditConfig.model_validate(content)
    except ValidationError as error:
        lines = [f"  {_say(issue)}" for issue in error.errors()]
        raise UsageError(f"{where}: {len(lines)} problem(s)\n" + "\n".join(lines)) from error


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
    if issue["type"] == "extra_forbidden":
        known = {**AuditConfig.model_fields, **CorpusConfig.model_fields, **BenchmarkConfig.model_fields}
        close = get_close_matches(str(issue["loc"][-1]), known, n=1)
        return f"{place}: unknown" + (f"; did you mean {close[0]}?" if close else "")
    told = issue["type"] != "missing" and "storage_options" not in issue["loc"]  # which may hold secrets
    return f"{place}: {issue['msg']}" + (f" (found {issue['input']!r:.60})" if told else "")

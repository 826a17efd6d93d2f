"""A training's settings as a YAML file holds them. Their defaults are the paper's, where the paper gives a value.

References
----------
Li, X. et al. (2025). WirelessMathBench-XL. arXiv:2509.23219 (table 18).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, model_validator

from wmbxl.errors import UsageError
from wmbxl.settings import Section, check, read_yaml, say_issue

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, lt=1)]
Temperature = Annotated[float, Field(ge=0)]


class ProblemsConfig(Section):
    """Some of the records of some files."""

    paths: list[str] = Field(min_length=1)
    split: str | None = None
    ids: str | None = None


class DataConfig(Section):
    """What is trained on, what never may be, and how records are read."""

    train: ProblemsConfig
    test: ProblemsConfig
    validation: Share = 0.05
    id_field: str = "problem_id"
    prompt_fields: list[str] = Field(default=["prompt"], min_length=1)
    prompt: str | None = "{text}"
    text_fields: list[str] = Field(default=["text"], min_length=1)
    answer_field: str = "correct_answer"
    type_field: str | None = None
    split_field: str | None = "split"
    paper_field: str = "paper_id"
    overlap_n: Annotated[int, Field(ge=1, le=64)] = 13
    paper_disjoint: bool = False
    leaks: Literal["refuse", "drop"] = "refuse"


class ModelConfig(Section):
    """The model to start from: a folder, or a name on the Hugging Face Hub."""

    name: str
    revision: str | None = None
    gguf_file: str | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"


class ChecksConfig(Section):
    """How checkpoints are compared during the training."""

    temperature: Temperature = 0.6
    max_tokens: Count = 2048


class EvaluationConfig(Section):
    """Answers to the test problems before and after."""

    max_tokens: Count = 2048
    temperature: Temperature = 0.6
    samples: Count = 1


class RegressionConfig(Section):
    """Tasks of lm-evaluation-harness, before and after."""

    tasks: list[str] = Field(min_length=1)
    task_folder: str | None = None
    limit: Count | None = None
    batch: Count = 16


class TrainConfig(Section):
    """What both methods can be told."""

    model: ModelConfig
    data: DataConfig
    out: str
    checks: ChecksConfig = ChecksConfig()
    evaluation: EvaluationConfig | None = None
    regression: RegressionConfig | None = None
    learning_rate: float = Field(default=1e-6, gt=0)
    weight_decay: float = Field(default=0.1, ge=0)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    batch: Count = 8
    write_batch: Count = 64
    seed: int = 0
    trainer: dict[str, Any] = Field(default={})


class GrpoConfig(TrainConfig):
    """Settings of ``wmbxl train grpo``."""

    steps: Count = 240
    temperature: float = Field(default=1.0, gt=0)
    kl: float = Field(default=0.01, ge=0)
    prompts: Count = 128
    completions: Annotated[int, Field(ge=2)] = 8
    max_tokens: Count = 2048
    check_every: Count = 20

    @model_validator(mode="after")
    def _fits(self) -> GrpoConfig:
        answers = self.prompts * self.completions
        if answers % self.write_batch or self.write_batch % self.batch or self.write_batch % self.completions:
            raise ValueError(
                f"a step has prompts × completions = {answers} answers: write_batch = {self.write_batch} must divide "
                f"that, and be divisible by batch = {self.batch} and by completions = {self.completions}"
            )
        if self.steps % self.check_every:
            raise ValueError(
                f"check_every = {self.check_every} must divide steps = {self.steps}, so that the last step is checked"
            )
        return self


class SftConfig(TrainConfig):
    """Settings of ``wmbxl train sft``."""

    epochs: Count = 6
    examples: Count = 128

    @model_validator(mode="after")
    def _fits(self) -> SftConfig:
        if self.examples % self.batch:
            raise ValueError(f"a step has examples = {self.examples}, which batch = {self.batch} must divide")
        return self


Config = TypeVar("Config", bound=TrainConfig)
SECTIONS: tuple[type[Section], ...] = (
    ProblemsConfig,
    DataConfig,
    ModelConfig,
    ChecksConfig,
    EvaluationConfig,
    RegressionConfig,
)


def read_config(model: type[Config], path: str) -> Config:
    """Read the settings of a training.

    Parameters
    ----------
    model : {GrpoConfig, SftConfig}
        The method's settings.
    path : str
        A YAML file.

    Raises
    ------
    UsageError
        With every mistake; an unknown key is told with the nearest known one.
    """
    known = set(chain(model.model_fields, *(section.model_fields for section in SECTIONS)))
    return check(model, read_yaml(path), path, lambda issue: say_issue(issue, known))


def trainer_arguments(arguments: type[Any], ours: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
    """Make the arguments of a trainer: those that follow from the settings, and those handed on in ``trainer``.

    Raises
    ------
    UsageError
        A key of ``trainer`` is unknown to the trainer or follows from other settings, or a value is refused.
    """
    known = {field.name for field in fields(arguments) if field.init} - set(ours)
    for name in more:
        if name in ours:
            raise UsageError(f"trainer.{name}: follows from the other settings: leave it out")
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(f"trainer.{name}: {arguments.__name__} of TRL knows no such argument{hint}")
    try:
        return arguments(**ours, **more)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{arguments.__name__} of TRL refuses the settings: {error}") from error

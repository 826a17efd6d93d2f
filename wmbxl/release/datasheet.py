"""The datasheet's questions: seven sections of Gebru et al., and what the tables can answer."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import yaml


@dataclass(frozen=True)
class Question:
    """A question; `fact` is a template of what the tables answer, or empty."""

    id: str
    ask: str
    fact: str = ""


@dataclass(frozen=True)
class Chapter:
    """A section of the datasheet."""

    title: str
    questions: tuple[Question, ...]


def _read() -> tuple[Chapter, ...]:
    content = yaml.safe_load((files("wmbxl.release") / "datasheet.yaml").read_text(encoding="utf-8"))
    return tuple(
        Chapter(part["title"], tuple(Question(name, **entry) for name, entry in part["questions"].items()))
        for part in content.values()
    )


SECTIONS = _read()

"""Settings of a build: mistakes are told at once, and the reference names every setting and every reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from wmbxl.construct import config
from wmbxl.construct.build import PAPER_COLUMNS
from wmbxl.construct.config import read_config
from wmbxl.construct.funnel import STAGES
from wmbxl.errors import UsageError

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/build.md").read_text(encoding="utf-8")


def written(folder: Path, **content: object) -> str:
    path = folder / "build.yaml"
    path.write_text(yaml.safe_dump({"sources": "a", "out": "b", "model": {"name": "m"}, **content}))
    return str(path)


def test_options_win_over_the_file(tmp_path: Path) -> None:
    found = read_config(written(tmp_path, workers=3), out="elsewhere", workers=None)
    assert (found.out, found.workers, found.sources) == ("elsewhere", 3, ["a"])


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    weights = {"terms": 0, "categories": 0, "equations": 0}
    wrong = {"sed": 1, "relevance": {"treshold": 0.5, "weights": weights}, "quality": {"release": "all"}}
    with pytest.raises(UsageError) as caught:
        read_config(written(tmp_path, **wrong))
    said = str(caught.value)
    assert "4 problem(s)" in said
    assert "sed: unknown; did you mean seed?" in said
    assert "relevance.treshold: unknown; did you mean threshold?" in said
    assert "at least one weight must be larger than 0" in said
    assert "quality.release" in said


def test_what_decides_nothing_changes_no_fingerprint(tmp_path: Path) -> None:
    base = read_config(written(tmp_path))
    same = read_config(written(tmp_path, workers=7, model={"name": "m", "concurrency": 1, "base_url": "http://x/v1"}))
    changes: tuple[dict[str, object], ...] = (
        {"seed": 1}, {"model": {"name": "n"}}, {"limits": {"nesting": 9}}, {"tasks": {"types": ["MCQ"]}},
        {"equations": {"context": 9}}, {"quality": {"rubric": False}}, {"relevance": {"threshold": 0.1}},
    )  # fmt: skip
    other = [read_config(written(tmp_path, **change)) for change in changes]
    assert same.fingerprint == base.fingerprint
    assert len({base.fingerprint, *(each.fingerprint for each in other)}) == 1 + len(other)


def test_the_example_in_the_docs_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/build.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert example
    (tmp_path / "build.yaml").write_text(example[1])
    assert read_config(str(tmp_path / "build.yaml")).relevance.terms["MIMO"] == 1.0


def test_the_reference_names_every_setting() -> None:
    fields = {name for section in config._SECTIONS for name in section.model_fields}
    assert sorted(name for name in fields if f"`{name}`" not in REFERENCE) == []


def test_the_reference_names_every_stage_and_reason() -> None:
    room = ROOT / "wmbxl/construct"
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(room.rglob("*.py")))
    reasons = set(re.findall(r'(?:reason=|Unreadable\(\s*|Unfilled\()"(\w+)"', source))
    reasons |= set(re.findall(r'self\._drop\([^"]*"(\w+)"', source))
    assert {"path_traversal", "input_loop", "low_score", "not_valid", "duplicate"} <= reasons
    assert sorted(reason for reason in reasons if f"`{reason}`" not in REFERENCE) == []
    assert sorted(stage for stage in STAGES if f"\n| {stage} |" not in REFERENCE) == []
    assert len(PAPER_COLUMNS) == len(set(PAPER_COLUMNS))

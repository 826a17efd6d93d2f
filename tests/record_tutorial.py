"""Record the tutorial's calls to a model again, after a change to what is asked: ``python -m tests.record_tutorial``.

Each equation gets the answer that it has in ``examples/tutorial-release/calls/``. The answers were written by hand. The
experts' judgements are kept.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

from tests.endpoint import Act, Request, Say, ScriptedServer
from wmbxl.construct.build import build
from wmbxl.construct.config import read_config
from wmbxl.construct.records import Problem

EXAMPLE = Path(__file__).parents[1] / "examples/tutorial-release"


def answers(calls: Path) -> dict[str, str]:
    """Return the replies on record by their equation, without spaces."""
    lines = [line for file in sorted(calls.glob("*.jsonl")) for line in file.read_bytes().splitlines()]
    texts = [orjson.loads(line)["reply"]["text"] for line in lines]
    return {_bare(orjson.loads(text)["equation"]): text for text in texts}


def _bare(equation: str) -> str:
    return re.sub(r"\s", "", equation)


def judge_again(candidates: Path, screening: Path) -> None:
    """Have the experts' judgements, as they are, speak of the words that are shown now."""
    problems = [Problem.model_validate_json(line) for line in candidates.read_bytes().splitlines()]
    shown = {problem.problem_id: problem.shown_sha256 for problem in problems}
    for file in sorted(screening.glob("*.jsonl")):
        judgements = [orjson.loads(line) for line in file.read_bytes().splitlines()]
        lines = [orjson.dumps(each | {"shown_sha256": shown[each["problem_id"]]}) for each in judgements]
        file.write_bytes(b"".join(line + b"\n" for line in lines))


def main() -> None:
    """Build over a scripted model, and keep the record of calls."""
    known = answers(EXAMPLE / "calls")

    def script(request: Request, number: int) -> Act:
        asked = _bare(request["messages"][1]["content"].split("\nEquation:\n")[1].split("\n\nText after:")[0])
        return Say(next(text for equation, text in known.items() if equation in asked))

    with tempfile.TemporaryDirectory() as folder, ScriptedServer(script) as server:
        os.chdir(folder)
        subprocess.run([sys.executable, EXAMPLE / "make_papers.py"], check=True)
        config = read_config(str(EXAMPLE / "build.yaml"))
        build(config.model_copy(update={"model": config.model.model_copy(update={"base_url": server.url})}))
        judge_again(Path("build/v1/candidates.jsonl"), EXAMPLE / "screening")
        shutil.rmtree(EXAMPLE / "calls")
        shutil.move("build/calls", EXAMPLE / "calls")


if __name__ == "__main__":
    main()

"""A wmbxl without its extras, as a program of its own, since what was imported once can't be hidden any more.

``python -m tests.bare FOLDER`` writes files for each call into the folder, makes the calls, and prints what they said.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import yaml

HIDDEN = {
    "aiohttp", "huggingface_hub", "pylatexenc", "openai", "ziamath", "mlcroissant", "detect_secrets", "torch", "trl",
    "transformers", "datasets", "gguf", "lm_eval", "dask_jobqueue", "dask_kubernetes", "kubernetes", "coiled",
}  # fmt: skip
NOBODY = "http://127.0.0.1:9/v1"
PROBLEM = {"problem_id": "a", "paper_id": "p", "text": "Which sum?", "type": "fill_blank_25", "correct_answer": "a+b"}
RECIPES = {
    "slurm": {"kind": "slurm", "workers": 1, "cores": 1, "memory": "1GB", "walltime": "01:00:00"},
    "kubernetes": {"kind": "kubernetes", "workers": 1, "spec": "spec.yaml"},
    "coiled": {"kind": "coiled", "workers": 1},
}


class Hide:
    """Finds none of the packages that extras bring."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return None


def written(folder: Path) -> dict[str, str]:
    """Write what the verbs are given; return the paths."""
    from tests.construct.archives import GOOD
    from tests.construct.problems import make_problem
    from tests.train.records import benchmark, settings

    (folder / "papers").mkdir()
    (folder / "papers" / "2401.00001v1.gz").write_bytes(GOOD["2401.00001v1.gz"]())
    (folder / "built" / "v1").mkdir(parents=True)
    training = settings(folder, benchmark())
    texts = {
        "one.jsonl": json.dumps(PROBLEM) + "\n",
        "responses.jsonl": json.dumps({"problem_id": "a", "model": "m", "response": r"\boxed{c}"}) + "\n",
        "open.jsonl": json.dumps({"problem_id": "a", "model": "m", "response": r"\boxed{c}", "is_correct": None})
        + "\n",
        "spec.yaml": "kind: DaskCluster\n",
        "built/v1/candidates.jsonl": make_problem(1).model_dump_json() + "\n",
    }
    yamls = {
        "build.yaml": {"sources": str(folder / "papers"), "out": str(folder / "build"), "model": {"name": "m"}},
        "release.yaml": {"about": ABOUT, "benchmark": "b", "licences": "l", "audit": "a", "out": str(folder / "new")},
        "grpo.yaml": training,
        **{f"{name}.yaml": recipe for name, recipe in RECIPES.items()},
    }
    texts |= {name: yaml.safe_dump(content) for name, content in yamls.items()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: str(folder / name) for name in (*texts, "out", "papers", "built")}


ABOUT = {
    "name": "n", "title": "t", "version": "1.0.0", "date": "2026-01-02", "description": "d",
    "authors": [{"name": "a"}], "url": "https://example.org/", "citation": "c",
}  # fmt: skip


def commands(path: dict[str, str]) -> dict[str, list[str]]:
    """Name a call of each verb that needs an extra, as ``extra: verb``."""
    one, out = path["one.jsonl"], path["out"]
    audit = ["audit", "--benchmark", one, "-n", "8", "--out", out, "--corpus"]
    served = ["--benchmark", one, "--model", "m", "--base-url", NOBODY, "--out", out]
    return {
        "http: audit": [*audit, "c=https://example.org/corpus.jsonl"],
        "hf: audit": [*audit, "c=hf://datasets/owner/name/corpus.jsonl"],
        "answers: import": ["import", path["responses.jsonl"], "--benchmark", one, "--out", f"{out}.jsonl"],
        "models: evaluate": ["evaluate", *served],
        "models: judge": ["judge", path["open.jsonl"], *served[:-1], f"{out}.jsonl"],
        "construct: build": ["build", path["build.yaml"]],
        "construct: screen": ["screen", path["built"], "--port", "0"],
        "release: release build": ["release", "build", path["release.yaml"]],
        "release: release check": ["release", "check", path["papers"]],
        "train: train grpo": ["train", "grpo", path["grpo.yaml"]],
        **{
            f"{extra}: audit": [*audit, f"c={one}", "--cluster", path[f"{name}.yaml"]]
            for extra, name in {"jobqueue": "slurm", "kubernetes": "kubernetes", "coiled": "coiled"}.items()
        },
    }


def functions() -> dict[str, Callable[[], object]]:
    """Name a call of each function that needs an extra and is no verb, as ``extra: function``."""
    from wmbxl.answers import equivalent, verify
    from wmbxl.construct.formula import parse
    from wmbxl.construct.screening.formulas import formula
    from wmbxl.models.endpoint import Endpoint
    from wmbxl.train.comparing import harness

    return {
        "answers: verify": lambda: verify(r"\boxed{b+a}", "a+b", "fill_blank_25"),
        "answers: equivalent": lambda: equivalent("b+a", "a+b"),
        "models: connect": lambda: Endpoint(NOBODY).connect(),
        "construct: parse": lambda: parse("a = b"),
        "construct: formula": lambda: formula("a = b"),
        "regression: harness": harness,
    }


def main(folder: Path) -> dict[str, list[object]]:
    """Make all calls; return the exit status and the message of each."""
    sys.meta_path.insert(0, Hide())
    from click.testing import CliRunner

    from wmbxl.cli import main as wmbxl
    from wmbxl.errors import UsageError

    said: dict[str, list[object]] = {}
    for name, command in commands(written(folder)).items():
        done = CliRunner().invoke(wmbxl, command)
        said[name] = [done.exit_code, done.output if isinstance(done.exception, SystemExit) else repr(done.exception)]
    for name, call in functions().items():
        try:
            said[name] = [0, repr(call())]
        except UsageError as error:
            said[name] = [2, str(error)]
    return said


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))

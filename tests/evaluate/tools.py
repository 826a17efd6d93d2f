"""Runs of lm-evaluation-harness and inspect_ai, offline, which leave their real logs.

``python -m tests.evaluate.tools FOLDER`` makes the logs that are kept in ``tests/evaluate/logs``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# What the scripted model says to "What is k + k?"; two of six are right, and one more under a loose reading.
SAYINGS = (
    r"\boxed{0}",
    r"The answer is \boxed{3}.",
    "I make it 4",
    r"So it is \boxed{6}",
    "No idea. " * 30,
    r"\boxed{1}\boxed{0}",
)
PROBLEMS = [
    {"problem_id": f"sum-{k}", "text": f"What is {k} + {k}?", "correct_answer": rf"\boxed{{{2 * k}}}", "number": 2 * k}
    for k in range(len(SAYINGS))
]

_TASKS = {
    "own_sums": r"""
task: own_sums
dataset_path: json
dataset_kwargs: {data_files: {test: problems.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{text}}"
doc_to_target: "{{number}}"
generation_kwargs: {until: ["END"], do_sample: false}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
filter_list:
  - name: boxed
    filter: [{function: regex, regex_pattern: "boxed\\{(\\d+)\\}"}, {function: take_first}]
  - name: loose
    filter: [{function: regex, group_select: -1, regex_pattern: "(\\d+)"}, {function: take_first}]
""",
    "own_choice": r"""
task: own_choice
dataset_path: json
dataset_kwargs: {data_files: {test: problems.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{text}}"
doc_to_choice: ["0", "2", "4", "6"]
doc_to_target: 1
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
""",
}


def _saying(prompt: str) -> str:
    return next(said for said, problem in zip(SAYINGS, PROBLEMS, strict=True) if str(problem["text"]) in prompt)


@contextmanager
def _server() -> Iterator[str]:
    """Serve chat completions, not streamed, as lm-evaluation-harness asks for them."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": _saying(asked["messages"][-1]["content"])}
            body = {"model": asked["model"], "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    finally:
        server.shutdown()
        server.server_close()


def run_harness(folder: Path, task: str) -> Path:
    """Run a task of lm-evaluation-harness from its command line; return the log of samples."""
    (folder / "problems.jsonl").write_text("\n".join(map(json.dumps, PROBLEMS)))
    (folder / f"{task}.yaml").write_text(_TASKS[task])
    with _server() as url:
        model = {
            "own_sums": [
                "local-chat-completions",
                "--apply_chat_template",
                "--model_args",
                f"model=scripted,base_url={url},num_concurrent=1",
            ],
            "own_choice": ["dummy"],
        }[task]
        command = [sys.executable, "-m", "lm_eval", "run", "--model", *model, "--tasks", task, "--include_path", ".",
                   "--log_samples", "--output_path", "out"]  # fmt: skip
        offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf"),
                   "OPENAI_API_KEY": "none", "PYTHONPATH": ""}  # fmt: skip
        done = subprocess.run(command, cwd=folder, env={**os.environ, **offline}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [log] = (folder / "out").glob(f"*/samples_{task}_*.jsonl")
    return log


def run_inspect(folder: Path, form: str, epochs: int = 1, breaks: bool = False) -> Path:
    """Run a task of inspect_ai with its mock model; return its log."""
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, accuracy, mean, pattern, scorer
    from inspect_ai.solver import generate, solver

    def answer(messages, *_):  # type: ignore[no-untyped-def]
        output = ModelOutput.from_content("mockllm/model", _saying(messages[-1].text))
        output.usage = ModelUsage(input_tokens=5, output_tokens=5, total_tokens=10)  # or it would load a tokenizer
        return output

    @scorer(metrics={"length": [mean()], "boxes": [mean()]})
    def parts():  # type: ignore[no-untyped-def]
        async def score(state, target):  # type: ignore[no-untyped-def]
            said = state.output.completion
            return Score(value={"length": len(said) / 1000, "boxes": int("boxed" in said)})

        return score

    @scorer(metrics=[accuracy()])
    def odd():  # type: ignore[no-untyped-def]
        """Give every kind of value that inspect_ai knows."""

        async def score(state, target):  # type: ignore[no-untyped-def]
            return Score(value=["C", "I", "N", float("nan"), True, "no"][int(target.text) // 2])

        return score

    @solver
    def fails_once():  # type: ignore[no-untyped-def]
        async def solve(state, generate):  # type: ignore[no-untyped-def]
            if breaks and state.sample_id == "sum-3":
                raise ValueError("broken on purpose")
            return state

        return solve

    samples = [
        Sample(input=str(problem["text"]), target=str(problem["number"]), id=str(problem["problem_id"]))
        for problem in PROBLEMS
    ]
    task = Task(
        dataset=samples,
        solver=[fails_once(), generate()],
        scorer=[pattern(r"boxed\{(\d+)\}"), parts(), odd()],
        name="own_sums",
        epochs=epochs,
    )
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    [log] = run(task, model=model, log_dir=str(folder), log_format=form, display="none", fail_on_error=False)
    return Path(log.location)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(run_harness(target, "own_sums"), run_inspect(target, "eval"))

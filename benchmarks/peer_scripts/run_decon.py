"""decon: samples n-grams of tokens, grows clusters around hits, and scores them against whole problems.

One hit is not enough for it: a document is flagged if it holds most of a problem.
"""

from __future__ import annotations

import json
from importlib.metadata import version

import decon
from report import arguments, problems, tell, timed

given = arguments()
references = given.scratch / "references"
references.mkdir()
with (references / "benchmark.jsonl").open("w", encoding="utf-8") as file:
    for i, (name, text) in enumerate(problems(given.benchmark).items()):
        row = {"eval_key": "benchmark", "config": "all", "split": "test", "eval_instance_index": i, "doc_id": i}
        file.write(json.dumps({**row, "question": text, "answer": "", "is_correct": True, "fingerprint": name}) + "\n")
reports = given.scratch / "reports"
config = decon.Config(
    training_dir=str(given.corpus), evals_dir=str(references), report_output_dir=str(reports), worker_threads=1
)
_, seconds = timed(lambda: decon.detect(config))
found = set()
for path in reports.glob("*.jsonl"):
    with path.open(encoding="utf-8") as file:
        found |= {(row["training_file"], row["training_line"]) for row in map(json.loads, file)}
tell(version("decontaminate"), seconds, (f"{name}:{line}" for name, line in found), None)

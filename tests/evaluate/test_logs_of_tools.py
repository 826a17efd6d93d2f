"""Verdicts from logs equal the scores that the tools themselves give for the same runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluate.tools import run_harness, run_inspect
from wmbxl.evaluate.logs import Reading, import_logs
from wmbxl.stats.compare import accuracy, everything
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.verdicts import verdicts_from_frame


def accuracy_of(log, score, **more):
    """Return the accuracy in percent, as ``wmbxl bootstrap`` takes it, and the number of verdicts that are there."""
    file = verdicts_from_frame(import_logs([str(log)], Reading(score=score, **more)).table)
    [row] = accuracy(file.verdicts, [everything(file.verdicts)], Bootstrap(replicates=10)).to_dict("records")
    return row["acc"], row["n"]


@pytest.mark.parametrize(
    ("task", "names"),
    [("own_sums", ["exact_match,boxed", "exact_match,loose"]), ("own_choice", ["acc,none"])],
)
def test_lm_evaluation_harness(tmp_path, task, names):
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not run: pip install --group test-logs")
    log = run_harness(tmp_path, task)
    results = json.loads(Path(str(log).replace("samples_" + task, "results")).with_suffix(".json").read_text())
    for name in names:
        assert accuracy_of(log, name) == (pytest.approx(100 * results["results"][task][name]), 6)


@pytest.mark.parametrize("form", ["eval", "json"])
@pytest.mark.parametrize("breaks", [False, True])
def test_inspect_ai(tmp_path, form, breaks):
    pytest.importorskip("inspect_ai", reason="inspect_ai is not run: pip install --group test-logs")
    from inspect_ai.log import read_eval_log

    log = run_inspect(tmp_path, form, breaks=breaks)
    scores = {score.name: score for score in read_eval_log(str(log)).results.scores}
    for name, theirs in {"pattern": "pattern", "odd": "odd", "parts.boxes": "boxes"}.items():
        [value] = [metric.value for key, metric in scores[theirs].metrics.items() if key in ("accuracy", "mean")]
        assert accuracy_of(log, name) == (pytest.approx(100 * value), scores[theirs].scored_samples)


def test_inspect_ai_in_epochs(tmp_path):
    pytest.importorskip("inspect_ai", reason="inspect_ai is not run: pip install --group test-logs")
    from inspect_ai.log import read_eval_log

    log = run_inspect(tmp_path, "eval", epochs=2)
    [score] = [score for score in read_eval_log(str(log)).results.scores if score.name == "pattern"]
    both = [accuracy_of(log, "pattern", epoch=epoch)[0] for epoch in (1, 2)]
    assert sum(both) / 2 == pytest.approx(100 * score.metrics["accuracy"].value)

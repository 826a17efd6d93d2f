"""Logs of other tools: real ones that are kept here, and what their formats allow."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from tests.evaluate.tools import PROBLEMS, SAYINGS
from wmbxl.errors import FieldNotFound, NothingMatches, UsageError, VerdictError
from wmbxl.evaluate.logs import COLUMNS, Reading, import_logs, read_log, zipfile
from wmbxl.evaluate.questions import Question, QuestionSet
from wmbxl.stats.verdicts import verdicts_from_frame

LOGS = Path(__file__).parent / "logs"
INSPECT = str(LOGS / "inspect.eval")
[HARNESS] = map(str, LOGS.glob("samples_*.jsonl"))
IDS = [f"sum-{k}" for k in range(6)]
QUESTIONS = QuestionSet(
    tuple(Question(str(row["problem_id"]), str(row["text"]), str(row["correct_answer"]), "") for row in PROBLEMS),
    "problems.jsonl",
    "",
)


def verdicts(*paths, questions=None, **reading):
    return import_logs([str(path) for path in paths], Reading(**reading), questions)


def unpacked():
    """Return header and samples of the kept log of inspect_ai."""
    with zipfile.ZipFile(INSPECT) as archive:
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
        return json.loads(archive.read("header.json")), samples


def packed(path, header, samples, header_name="header.json"):
    with zipfile.ZipFile(path, "w") as archive:
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr(header_name, json.dumps(header))
    return path


# ---------------------------------------------------------------- inspect_ai


def test_inspect_scores_and_responses():
    table = verdicts(INSPECT, score="pattern").table
    assert tuple(table.columns) == COLUMNS
    assert table["problem_id"].tolist() == IDS
    assert table["is_correct"].tolist() == [True, False, False, True, False, False]
    assert table["response"].tolist() == list(SAYINGS)
    assert set(table["model"]) == {"mockllm/model"}
    assert set(table["task"]) == {"own_sums"}
    assert set(table["truncated"]) == {False}


def test_inspect_values_mean_what_they_mean_there():
    """C, I, N, NaN, true, "no": a score that is no number is missing, an answer that was not given is wrong."""
    found = verdicts(INSPECT, score="odd")
    assert found.table["is_correct"].tolist() == [True, False, False, None, True, False]
    assert found.remarks == ["1 verdict(s) are missing: no score"]


def test_the_same_log_as_json(tmp_path):
    header, samples = unpacked()
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**header, "samples": samples}))
    as_json, archive = (verdicts(name, score="odd").table.drop(columns="source") for name in (path, INSPECT))
    pd.testing.assert_frame_equal(as_json, archive)


def test_scores_in_between_need_a_threshold():
    with pytest.raises(VerdictError, match=r"parts.length: expected 0 or 1, found 0\.009; see --at-least"):
        verdicts(INSPECT, score="parts.length")
    found = verdicts(INSPECT, score="parts.length", at_least=0.02)
    assert found.table["is_correct"].tolist() == [len(said) >= 20 for said in SAYINGS]


def test_one_of_several_scores_has_to_be_chosen():
    with pytest.raises(UsageError, match=r"several scores: odd, parts.boxes, parts.length, pattern. Name the one"):
        verdicts(INSPECT)
    with pytest.raises(UsageError, match=r"no sample has the score 'match'. Scores found: odd"):
        verdicts(INSPECT, score="match")


def test_errors_and_what_was_not_reached_are_missing_verdicts(tmp_path):
    header, samples = unpacked()
    samples[1] |= {"error": {"message": "TimeoutError()", "traceback": "…"}, "scores": {}}
    samples[3] |= {"invalidation": {"reason": "leaked"}}
    cut = packed(tmp_path / "cut.eval", {**header, "status": "cancelled"}, samples[:5])
    found = verdicts(cut, score="pattern")
    assert found.table["is_correct"].tolist() == [True, None, False, None, False, None]
    assert found.remarks == [
        "1 verdict(s) are missing: TimeoutError()",
        "1 verdict(s) are missing: invalidated",
        "1 verdict(s) are missing: not in the log, whose run is cancelled",
    ]


def test_a_run_that_was_killed_has_no_header(tmp_path):
    header, samples = unpacked()
    started = {name: header[name] for name in ("version", "eval", "plan")}
    found = verdicts(packed(tmp_path / "killed.eval", started, samples[:2], "_journal/start.json"), score="pattern")
    assert found.table["is_correct"].tolist() == [True, False, None, None, None, None]
    assert found.remarks == ["4 verdict(s) are missing: not in the log, whose run is not ended"]


def test_epochs(tmp_path):
    header, samples = unpacked()
    header["eval"]["config"]["epochs"] = 2
    again = [{**sample, "epoch": 2, "scores": {"pattern": {"value": "C"}}} for sample in samples]
    log = packed(tmp_path / "twice.eval", header, [*samples, *again])
    first, second = (verdicts(log, score="pattern", epoch=epoch) for epoch in (1, 2))
    assert first.table["is_correct"].tolist() == [True, False, False, True, False, False]
    assert second.table["is_correct"].tolist() == [True] * 6
    assert first.remarks == ["6 answer(s) of other epochs than 1 are left out (--epoch)."]
    with pytest.raises(UsageError, match="no answer of epoch 3"):
        verdicts(log, score="pattern", epoch=3)


# ---------------------------------------------------------------- lm-evaluation-harness


def test_a_harness_log_with_a_line_twice_is_refused(tmp_path):
    lines = Path(HARNESS).read_text(encoding="utf-8").splitlines()
    path = tmp_path / "samples_own_sums_2026-11-30T06-49-16.842597.jsonl"
    path.write_text("\n".join([*lines, lines[0]]) + "\n", encoding="utf-8")
    with pytest.raises(VerdictError, match=rf"records 1, .*{len(lines) + 1}: doc_id 0 has a filter twice"):
        verdicts(path)


def test_harness_scores_are_named_as_in_its_results():
    loose = verdicts(HARNESS, score="exact_match,loose").table
    boxed = verdicts(HARNESS, score="exact_match,boxed").table
    results = json.loads(next(LOGS.glob("results_*.json")).read_text())["results"]["own_sums"]
    assert loose["is_correct"].mean() == results["exact_match,loose"] == 0.5
    assert boxed["is_correct"].mean() == pytest.approx(results["exact_match,boxed"])
    assert loose["problem_id"].tolist() == IDS
    assert loose["response"].tolist() == list(SAYINGS)
    assert set(loose["task"]) == {"own_sums"}
    assert set(loose["model"]) == {"scripted"}, "from the results beside the log"


def test_a_log_without_its_results_needs_the_models_name(tmp_path):
    alone = shutil.copy(HARNESS, tmp_path)
    with pytest.raises(UsageError, match=r"does not say which model answered \(6 sample.*--model NAME"):
        verdicts(alone, score="exact_match,loose")
    assert set(verdicts(alone, score="exact_match,loose", model="mine").table["model"]) == {"mine"}


def test_documents_without_an_id(tmp_path):
    with pytest.raises(FieldNotFound, match=r"has the field 'doc.name'.*doc\.problem_id.*--log-id-field"):
        verdicts(HARNESS, score="exact_match,loose", id_field="doc.name")
    numbers = verdicts(HARNESS, score="exact_match,loose", id_field="doc_id").table["problem_id"]
    assert numbers.tolist() == ["0", "1", "2", "3", "4", "5"]


def test_multiple_choice_has_likelihoods_and_no_response(tmp_path):
    line = {"doc_id": 0, "doc": {"problem_id": "a"}, "filter": "none", "metrics": ["acc"], "acc": 1.0,
            "resps": [[["-0.1", "False"]], [["-0.5", "False"]]]}  # fmt: skip
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(line))
    [row] = verdicts(path, model="m").table.to_dict("records")
    assert (row["is_correct"], row["response"]) == (True, None)


# ---------------------------------------------------------------- batches


def chat(name, text, finish="stop", **message):
    body = {"model": "gpt-x", "choices": [{"message": {"content": text, **message}, "finish_reason": finish}]}
    return {
        "id": "b",
        "custom_id": name,
        "response": {"status_code": 200, "request_id": "r", "body": body},
        "error": None,
    }


def batch(path, *lines):
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_batch_outputs_are_compared_with_the_keys(tmp_path):
    pytest.importorskip("pylatexenc", reason="formulas are not compared: pip install 'wmbxl[answers]'")
    refused = {"status_code": 400, "request_id": "r", "body": {"error": {"message": "too long"}}}
    path = batch(
        tmp_path / "batch.jsonl",
        chat("sum-0", r"\boxed{0}"),
        chat("sum-1", r"\boxed{3}", "length"),
        chat("sum-2", ""),
        {"custom_id": "sum-3", "response": refused, "error": None},
        {"custom_id": "sum-4", "response": None, "error": {"code": "batch_expired", "message": "expired"}},
        chat("sum-5", None, refusal="I can't."),
    )
    found = verdicts(path, questions=QUESTIONS)
    assert set(found.table["model"]) == {"gpt-x"}
    assert found.table["is_correct"].tolist() == [True, False, None, None, None, None]
    assert found.table["step"].tolist()[:2] == ["exact", "symbolic"]
    assert found.table["truncated"].tolist()[:2] == [False, True]
    assert found.table["reason"].tolist()[2:] == ["no response", "status 400: too long", "expired", "no response"]


def test_batches_of_the_responses_endpoint(tmp_path):
    text = {"type": "output_text", "text": r"\boxed{0}"}
    body = {"model": "gpt-y", "status": "completed",
            "output": [{"type": "reasoning"}, {"type": "message", "content": [text]}]}  # fmt: skip
    line = {"custom_id": "sum-0", "response": {"status_code": 200, "body": body}, "error": None}
    [row] = verdicts(batch(tmp_path / "batch.jsonl", line), questions=QUESTIONS).table.to_dict("records")
    assert (row["model"], row["is_correct"], row["response"], row["truncated"]) == ("gpt-y", True, r"\boxed{0}", False)


def test_a_batch_alone_has_no_scores(tmp_path):
    with pytest.raises(UsageError, match=r"there are no scores. Give --benchmark FILE"):
        verdicts(batch(tmp_path / "batch.jsonl", chat("sum-0", "0")))


def test_ids_that_the_benchmark_lacks(tmp_path):
    path = batch(tmp_path / "batch.jsonl", chat("sum-0", "0"), chat("task-9", "0"))
    with pytest.raises(UsageError, match=r"1 of 2 samples are of problems that problems.jsonl lacks, such as 'task-9'"):
        verdicts(path, questions=QUESTIONS)


# ---------------------------------------------------------------- tables, and any of them


def test_a_plain_table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("who,id,right,points\na,p1,1,0.4\na,p2,false,0.6\na,p3,,\n")
    found = verdicts(path, model="a", id_field="id", score="right")
    assert found.table["is_correct"].tolist() == [True, False, None]
    assert verdicts(path, model="a", id_field="id", score="points", at_least=0.5).table["is_correct"].tolist() == [
        False, True, None,
    ]  # fmt: skip
    path.write_text("model,problem_id,is_correct\na,p1,perhaps\na,p2,1\n,p3,1\n")
    with pytest.raises(UsageError, match="record 3: the log does not say which model"):
        verdicts(path)
    with pytest.raises(VerdictError, match="record 1: is_correct: expected a score, found 'perhaps'"):
        verdicts(path, model="a")


def test_with_a_benchmark_the_keys_decide_whatever_the_tool_said():
    pytest.importorskip("pylatexenc", reason="formulas are not compared: pip install 'wmbxl[answers]'")
    tables = [verdicts(log, questions=QUESTIONS).table for log in (INSPECT, HARNESS)]
    for table in tables:
        assert table["is_correct"].tolist()[:2] == [True, False]
        assert table["step"].notna().all()
        assert table["score"].isna().all()
    assert tables[0]["is_correct"].tolist() == tables[1]["is_correct"].tolist()


def test_logs_of_several_models_make_one_table_that_bootstrap_reads(tmp_path):
    header, samples = unpacked()
    header["eval"]["model"] = "another"
    other = packed(tmp_path / "other.eval", header, samples)
    file = verdicts_from_frame(verdicts(INSPECT, other, score="odd").table)
    assert file.verdicts.models == ("mockllm/model", "another")
    assert file.missing["null"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.eval", b"PK\x03\x04 cut off", "not a whole .eval log of inspect_ai"),
        ("log.json", b'{"eval": {"model"', "not whole JSON"),
        ("log.json", b'{"results": []}', "not a log that is known"),
        ("log.jsonl", b"", "the file is empty"),
        ("log.txt", b"x", "expected a .jsonl, .csv or .parquet file"),
        ("log.jsonl", b'{"question": "?"}', "does not say which model answered"),
    ],
)
def test_what_is_no_log(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        verdicts(tmp_path / name)


@pytest.mark.parametrize("name", ["log.eval", "log.jsonl"])
def test_no_such_file(tmp_path, name):
    with pytest.raises(NothingMatches, match="there is no such file"):
        verdicts(tmp_path / name)


def test_a_score_that_is_a_list_is_named_with_its_place(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"problem_id": "a", "model": "m", "is_correct": [1]}\n')
    with pytest.raises(VerdictError, match="record 1: is_correct: expected a score"):
        import_logs([str(path)])


def test_a_failed_request_may_tell_its_error_as_bare_text(tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_text('{"custom_id": "a", "response": {"status_code": 500, "body": {"error": "oops"}}}\n')
    [sample] = read_log(str(path), Reading(model="m"))
    assert sample.fault == "status 500: oops"

"""Logs of other tools: what they scored, or what the model said, as the verdicts that ``wmbxl bootstrap`` reads.

Read are the files that the tools write: per-sample logs of lm-evaluation-harness (``samples_TASK_DATE.jsonl``) and of
inspect_ai (``.eval``, ``.json``), outputs of OpenAI's batches, and plain tables.

References
----------
https://github.com/EleutherAI/lm-evaluation-harness/blob/main/docs/interface.md (``--log_samples``)
https://inspect.aisi.org.uk/eval-logs.html
https://platform.openai.com/docs/api-reference/batch
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import fsspec
import pandas as pd
from pydantic import BaseModel, ValidationError

from wmbxl.answers import verify
from wmbxl.errors import FieldNotFound, NothingMatches, UsageError, VerdictError
from wmbxl.evaluate.judged import MEANING
from wmbxl.evaluate.questions import Question, QuestionSet
from wmbxl.filesystems import filesystem_of
from wmbxl.records import Skip, field_names, get_field, parse_json
from wmbxl.tables import Record, read_records

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile  # inspect_ai compresses with zstd, which the standard module knows from 3.14 on

COLUMNS = (
    *("model", "problem_id", "is_correct", "score", "step", "reason", "truncated", "task", "type", "response"),
    "source",
)

_REASONS = 5  # that are told each by itself

# Words for scores, as inspect_ai counts them.
_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


@dataclass(frozen=True)
class Sample:
    """One answer of a model, as a log has it.

    Attributes
    ----------
    place : str
        File, and line or member.
    problem_id : str or None
        None if the log has no such field.
    id_field : str
        Where it was looked for.
    fields : tuple of str
        What is there instead; empty if it was found.
    model : str or None
        The model, where the log names it.
    scores : mapping
        What the tool gave, by name.
    response : str or None
        What the model said, where the log has it.
    fault : str
        Why there is no answer, in the tool's words; empty if there is one.
    truncated : bool or None
        Whether the answer ends where its budget ended; None where the log doesn't tell.
    task : str or None
        The tool's name for the set of problems.
    epoch : int
        From 1, where a tool asks each problem several times.
    """

    place: str
    problem_id: str | None
    id_field: str
    fields: tuple[str, ...]
    model: str | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)
    response: str | None = None
    fault: str = ""
    truncated: bool | None = None
    task: str | None = None
    epoch: int = 1


@dataclass(frozen=True)
class Reading:
    """How samples become verdicts.

    Attributes
    ----------
    score : str, optional
        The score that counts; has to be named where a log has several.
    at_least : float, optional
        Scores from this one on are right, lower ones wrong; has to be given where other scores than 0 and 1 occur.
    epoch : int
        Which of several answers to a problem counts, from 1.
    id_field : str, optional
        The log's field with the problem's id; by default ``doc.problem_id`` (lm-evaluation-harness), ``id``
        (inspect_ai), ``custom_id`` (batches), ``problem_id`` (tables).
    model : str, optional
        Name of the model; by default what the log says.
    """

    score: str | None = None
    at_least: float | None = None
    epoch: int = 1
    id_field: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class Imported:
    """Verdicts from logs.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per model and problem, with `COLUMNS`. ``is_correct`` is True, False, or None for a missing verdict, for
        which ``reason`` says why.
    remarks : list of str
        What a reader has to know: what is left out, and missing verdicts by reason.
    """

    table: pd.DataFrame
    remarks: list[str]


def import_logs(paths: Sequence[str], reading: Reading | None = None, questions: QuestionSet | None = None) -> Imported:
    """Read logs and make verdicts of them.

    Parameters
    ----------
    paths : sequence of str
        Logs of one or more tools and models.
    reading : Reading, optional
        How they are to be read.
    questions : QuestionSet, optional
        The benchmark: responses are compared with its keys, whatever the tool said. Without it the tool's scores count.

    Returns
    -------
    Imported
        The verdicts.

    Raises
    ------
    FieldNotFound
        No sample has the field with the problem's id.
    VerdictError
        Samples are unusable; every one of them is listed.
    UsageError
        A file is none of these logs or does not exist, or the user has to choose a score, a threshold or a name.
    """
    reading = reading or Reading()
    found = [sample for path in paths for sample in read_log(path, reading)]
    samples = [sample for sample in found if sample.epoch == reading.epoch]
    if not samples:
        raise UsageError(f"{', '.join(paths)}: no answer of epoch {reading.epoch}; choose another with --epoch")
    _check_identity(samples)
    rows = _scored(samples, reading) if questions is None else _verified(samples, questions)
    table = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    return Imported(table, _remarks(table, reading.epoch, len(found) - len(samples)))


# ---------------------------------------------------------------- from samples to verdicts


def _check_identity(samples: Sequence[Sample]) -> None:
    unnamed = [sample for sample in samples if sample.model is None]
    if unnamed:
        raise UsageError(
            f"{unnamed[0].place}: the log does not say which model answered ({len(unnamed)} sample(s)). Name it with "
            "--model NAME."
        )
    lacking = [sample for sample in samples if sample.problem_id is None]
    if len(lacking) == len(samples):
        raise FieldNotFound(samples[0].place, samples[0].id_field, samples[0].fields, "--log-id-field")
    if lacking:
        raise VerdictError("logs", [f"{sample.place}: no {sample.id_field}" for sample in lacking])


def _scored(samples: Sequence[Sample], reading: Reading) -> list[Record]:
    name = _score_name(samples, reading.score)
    rows, issues = [], []
    for sample in samples:
        try:
            score = _number(sample.scores.get(name))
            verdict = None if score is None else _is_right(score, reading.at_least)
        except ValueError as error:
            issues.append(f"{sample.place}: {name}: {error}")
        else:
            reason = "" if verdict is not None else sample.fault or "no score"
            rows.append(_row(sample, is_correct=verdict, score=score, reason=reason))
    if issues:
        raise VerdictError("logs", issues)
    return rows


def _score_name(samples: Sequence[Sample], wanted: str | None) -> str:
    names = sorted({name for sample in samples for name in sample.scores})
    listed = ", ".join(names) or "(none)"
    if wanted is not None and wanted not in names:
        raise UsageError(f"no sample has the score {wanted!r}. Scores found: {listed}. Name one with --score.")
    if not names:
        raise UsageError(
            f"{samples[0].place}: there are no scores. Give --benchmark FILE, and the responses are compared with its "
            "keys; or, for a table, name the column with the score by --score."
        )
    if wanted is None and len(names) > 1:
        raise UsageError(f"the samples have several scores: {listed}. Name the one that counts with --score.")
    return wanted or names[0]


def _number(value: Any) -> float | None:
    """Return a score as a number, as inspect_ai does; None for none.

    Examples
    --------
    >>> _number("C"), _number(True), _number("0.5"), _number(float("nan"))
    (1.0, 1.0, 0.5, None)
    """
    if isinstance(value, str):
        word = _WORDS.get(value, _WORDS.get(value.lower()))
        try:
            value = float(value) if word is None else word
        except ValueError:
            raise ValueError(f"expected a score, found {value!r:.60}") from None
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise ValueError(f"expected a score, found {str(value)!r:.60}")
    return None if math.isnan(value) else float(value)


def _is_right(score: float, at_least: float | None) -> bool:
    if at_least is not None:
        return score >= at_least
    if score not in (0, 1):
        raise ValueError(f"expected 0 or 1, found {score:g}; see --at-least")
    return score == 1


def _verified(samples: Sequence[Sample], questions: QuestionSet) -> list[Record]:
    known = {question.problem_id: question for question in questions.questions}
    strange = [sample for sample in samples if sample.problem_id not in known]
    if strange:
        raise UsageError(
            f"{len(strange)} of {len(samples)} samples are of problems that {questions.source} lacks, such as "
            f"{strange[0].problem_id!r} ({strange[0].place}). Give --benchmark the file that was evaluated, and name "
            "the log's field with the problem's id by --log-id-field."
        )
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # slow checks run in processes of their own
        return list(pool.map(lambda sample: _compared(sample, known[str(sample.problem_id)]), samples))


def _compared(sample: Sample, question: Question) -> Record:
    if sample.fault or not (sample.response or "").strip():
        return _row(sample, reason=sample.fault or "no response", type=question.type)
    verdict = verify(str(sample.response), question.answer, question.type)
    right = MEANING[verdict.outcome]
    return _row(sample, is_correct=right, step=verdict.step, reason=verdict.reason, type=question.type)


def _row(sample: Sample, **cells: Any) -> Record:
    return {
        **dict.fromkeys(COLUMNS),
        "model": sample.model,
        "problem_id": sample.problem_id,
        "truncated": sample.truncated,
        "task": sample.task,
        "response": sample.response,
        "source": sample.place,
        **cells,
    }


def _remarks(table: pd.DataFrame, epoch: int, left_out: int) -> list[str]:
    lines = [f"{left_out} answer(s) of other epochs than {epoch} are left out (--epoch)."] if left_out else []
    reasons = table.loc[table["is_correct"].isna(), "reason"].value_counts()
    lines += [f"{count} verdict(s) are missing: {reason}" for reason, count in reasons.head(_REASONS).items()]
    others = reasons.iloc[_REASONS:].sum()
    return [*lines, f"{others} verdict(s) are missing for other reasons: see the column 'reason'"] if others else lines


# ---------------------------------------------------------------- from files to samples


def read_log(path: str, reading: Reading) -> Iterator[Sample]:
    """Read a log of any of the kinds, which its name or its first record tells.

    Raises
    ------
    UsageError
        It is none of them, is damaged, or does not exist.
    """
    if path.endswith(".eval"):
        return _inspect_archive(path, reading)
    if path.endswith(".json"):
        return _inspect_file(path, reading)
    records = read_records(path, "a log")
    if not records:
        raise UsageError(f"{path}: the file is empty")
    if {"doc_id", "doc", "resps"} <= records[0].keys():
        return _harness(path, records, reading)
    if {"custom_id", "response"} <= records[0].keys():
        return _batch(path, records, reading)
    return _table(path, records, reading)


class _Choice(BaseModel):
    stop_reason: str | None = None


class _Output(BaseModel):
    completion: str | None = None
    choices: list[_Choice] = []


class _Score(BaseModel):
    value: Any = None


class _Fault(BaseModel):
    message: str = ""


class _InspectSample(BaseModel):
    """What is read of a sample of inspect_ai."""

    id: int | str
    epoch: int
    output: _Output = _Output()
    scores: dict[str, _Score] | None = None
    error: _Fault | None = None
    invalidation: Any = None


class _Dataset(BaseModel):
    sample_ids: list[int | str] | None = None


class _Settings(BaseModel):
    epochs: int | None = None


class _InspectRun(BaseModel):
    """What is read of the header of inspect_ai."""

    model: str
    task: str
    dataset: _Dataset = _Dataset()
    config: _Settings = _Settings()


def _inspect_archive(path: str, reading: Reading) -> Iterator[Sample]:
    with _opened(path) as stream:
        try:
            archive = zipfile.ZipFile(stream)
            names = archive.namelist()
            header = "header.json" if "header.json" in names else "_journal/start.json"  # of a run that didn't end
            run = _json(archive.read(header), path)
            samples = (
                (f"{path}: {name}", _json(archive.read(name), path)) for name in names if name.startswith("samples/")
            )
            yield from _inspect_samples(path, run, samples, reading)
        except (zipfile.BadZipFile, KeyError) as error:
            raise UsageError(f"{path}: not a whole .eval log of inspect_ai ({error}): copy it again") from error


def _inspect_file(path: str, reading: Reading) -> Iterator[Sample]:
    with _opened(path) as stream:
        run = _json(stream.read(), path)
    samples = ((f"{path}: sample {k}", sample) for k, sample in enumerate(run.get("samples") or (), start=1))
    return _inspect_samples(path, run, samples, reading)


def _inspect_samples(
    path: str, log: Mapping[str, Any], samples: Iterable[tuple[str, Record]], reading: Reading
) -> Iterator[Sample]:
    run = _parsed(_InspectRun, log.get("eval"), f"{path}: eval")
    status = log.get("status", "not ended")
    absent = {
        (str(name), epoch + 1) for name in run.dataset.sample_ids or () for epoch in range(run.config.epochs or 1)
    }
    for place, record in samples:
        sample = _inspect_sample(record, place, run, reading)
        absent.discard((str(record["id"]), sample.epoch))
        yield sample
    for name, epoch in sorted(absent):
        yield Sample(
            path,
            name if reading.id_field in (None, "id") else f"sample {name}",
            "id",
            (),
            model=reading.model or run.model,
            fault=f"not in the log, whose run is {status}",
            task=run.task,
            epoch=epoch,
        )


def _inspect_sample(record: Any, place: str, run: _InspectRun, reading: Reading) -> Sample:
    sample = _parsed(_InspectSample, record, place)
    fault = "invalidated" if sample.invalidation else (sample.error.message if sample.error else "")
    return Sample(
        place,
        *_identity(record, reading.id_field or "id"),
        model=reading.model or run.model,
        scores={} if fault else _flat({name: score.value for name, score in (sample.scores or {}).items()}),
        response=sample.output.completion,
        fault=fault,
        truncated=sample.output.choices[0].stop_reason == "max_tokens" if sample.output.choices else None,
        task=run.task,
        epoch=sample.epoch,
    )


def _flat(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parts of scores that are objects names of their own.

    Examples
    --------
    >>> _flat({"match": "C", "parts": {"a": 1, "b": 0}})
    {'match': 'C', 'parts.a': 1, 'parts.b': 0}
    """
    flat: dict[str, Any] = {}
    for name, value in scores.items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
        flat |= {key: part for key, part in parts.items() if part is None or isinstance(part, str | int | float)}
    return flat


# Fields of a sample of lm-evaluation-harness that are no metrics.
_HARNESS_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash"}
)


def _harness(path: str, records: Sequence[Record], reading: Reading) -> Iterator[Sample]:
    """Read a log of lm-evaluation-harness: a line for each document and filter; scores are named as in its results."""
    task, model = _harness_run(path)
    by_document: dict[Any, list[tuple[int, Record]]] = {}
    for number, record in enumerate(records, start=1):
        by_document.setdefault(record.get("doc_id"), []).append((number, record))
    for document, lines in by_document.items():
        number, first = lines[0]
        filters = [line.get("filter", "none") for _, line in lines]
        if len(set(filters)) < len(filters):
            places = ", ".join(str(place) for place, _ in lines)
            raise VerdictError("logs", [f"{path}: records {places}: doc_id {document} has a filter twice"])
        scores = {
            f"{name},{line.get('filter', 'none')}": value
            for _, line in lines
            for name, value in _flat(line).items()
            if name.partition(".")[0] not in _HARNESS_FIELDS
        }
        yield Sample(
            f"{path}: record {number}",
            *_identity(first, reading.id_field or "doc.problem_id"),
            model=reading.model or model,
            scores=scores,
            response=_first_text(first.get("resps")),
            task=task,
        )


def _harness_run(path: str) -> tuple[str | None, str | None]:
    """Return the task, which the file's name tells, and the model, which the results beside it tell."""
    name = re.fullmatch(r"(.*/)?samples_(.+)_(\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl", path)
    if name is None:
        return None, None
    results = f"{name[1] or ''}results_{name[3]}.json"
    fs, inside = filesystem_of(results)
    model = _json(fs.cat_file(inside), results).get("model_name") if fs.exists(inside) else None
    return name[2], model


def _first_text(responses: Any) -> str | None:
    """Return the first response, if it is a text; where likelihoods were asked for, it is a list."""
    match responses:
        case [[str(text), *_], *_]:
            return text
    return None


class _Error(BaseModel):
    message: str = "an error"


class _Answer(BaseModel):
    status_code: int = 200
    body: dict[str, Any] = {}


class _BatchLine(BaseModel):
    """A line of the output or error file of an OpenAI batch."""

    response: _Answer | None = None
    error: _Error | None = None


def _batch(path: str, records: Sequence[Record], reading: Reading) -> Iterator[Sample]:
    lines = [_parsed(_BatchLine, record, f"{path}: record {k}") for k, record in enumerate(records, start=1)]
    bodies = [line.response.body if line.response else {} for line in lines]
    # A batch asks one model; lines without an answer don't name it.
    model = reading.model or next((body["model"] for body in bodies if "model" in body), None)
    for number, (record, line, body) in enumerate(zip(records, lines, bodies, strict=True), start=1):
        text, truncated = _said(body)
        yield Sample(
            f"{path}: record {number}",
            *_identity(record, reading.id_field or "custom_id"),
            model=model,
            response=text,
            fault=_batch_fault(line),
            truncated=truncated,
        )


def _batch_fault(line: _BatchLine) -> str:
    if line.error:
        return line.error.message
    if line.response is None:
        return "no response"
    if line.response.status_code != 200:
        error = line.response.body.get("error") or "no message"
        told = error.get("message", "no message") if isinstance(error, Mapping) else error
        return f"status {line.response.status_code}: {told}"
    return ""


def _said(body: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """Return the text of any of the three endpoints for text, and whether it was cut off."""
    match body:
        case {"choices": [{"message": {"content": text}, **rest}, *_]} | {"choices": [{"text": text, **rest}, *_]}:
            return text, rest.get("finish_reason") == "length"
        case {"output": [*items]}:
            texts = [
                part.get("text", "")
                for item in items
                if item.get("type") == "message"
                for part in item.get("content", ())
                if part.get("type") == "output_text"
            ]
            return "".join(texts), body.get("status") == "incomplete"
    return None, None


def _table(path: str, records: Sequence[Record], reading: Reading) -> Iterator[Sample]:
    score = reading.score or "is_correct"
    for number, record in enumerate(records, start=1):
        yield Sample(
            f"{path}: record {number}",
            *_identity(record, reading.id_field or "problem_id"),
            model=reading.model or record.get("model"),
            scores={score: record[score]} if score in record else {},
            response=record.get("response"),
        )


# ---------------------------------------------------------------- bytes and records


def _identity(record: Record, name: str) -> tuple[str | None, str, tuple[str, ...]]:
    """Return a problem's id, where it was looked for, and the fields that there are if it wasn't found."""
    value = get_field(record, name)
    return (None, name, tuple(field_names(record))) if value is None else (str(value), name, ())


def _opened(path: str) -> Any:
    filesystem_of(path)  # or say that there is none
    try:
        return fsspec.open(path, "rb").open()
    except FileNotFoundError:
        raise NothingMatches(f"{path}: there is no such file") from None


def _json(data: bytes, where: str) -> Any:
    try:
        return parse_json(data).value
    except Skip as error:
        raise UsageError(f"{where}: not whole JSON ({error.reason}): copy it again") from error


_Model = TypeVar("_Model", bound=BaseModel)


def _parsed(model: type[_Model], content: Any, where: str) -> _Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, issue['loc'])) or 'all of it'}: {issue['msg']}" for issue in error.errors()
        )
        raise UsageError(f"{where}: not a log that is known: {told}") from error

"""One evaluation: ask a model every question, judge, and add it to the folder of the benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash

from wmbxl.errors import CallFailed, RunMismatch, UsageError
from wmbxl.evaluate.questions import Question, QuestionSet
from wmbxl.evaluate.traces import SCHEMA, Invalid, trace, verdict_rows
from wmbxl.models.asking import Budget, Outcome, ask_all
from wmbxl.models.call import Call
from wmbxl.models.endpoint import Endpoint
from wmbxl.models.record import Record
from wmbxl.tables import Record as Row
from wmbxl.tables import json_lines, read_parquet, write_files

CALLS, TRACES, VERDICTS, ABOUT = "calls.jsonl", "traces", "verdicts.jsonl", "evaluation.json"


@dataclass(frozen=True)
class Sampling:
    """How answers are drawn.

    Attributes
    ----------
    max_tokens : int
        The budget of an answer.
    temperature : float or None
        None leaves it to the endpoint.
    samples : int
        Answers to each problem.
    seed : int or None
        Sample i gets ``seed + i``; None sends no seed.
    more : mapping
        Further parameters of the request, such as ``top_p`` or ``reasoning_effort``.
    limit_field : str
        The parameter that holds the budget; newer models of OpenAI want ``max_completion_tokens``.

    Raises
    ------
    UsageError
        A value is out of range.
    """

    max_tokens: int = 2048
    temperature: float | None = 0.6
    samples: int = 1
    seed: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    limit_field: str = "max_tokens"

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.samples < 1:
            raise UsageError(
                f"expected at least one token and one sample, found {self.max_tokens} (--max-tokens) and "
                f"{self.samples} (--samples)"
            )

    def parameters(self, sample: int) -> dict[str, Any]:
        """Return the parameters of a request.

        Examples
        --------
        >>> Sampling(max_tokens=16384, seed=7).parameters(sample=2)
        {'max_tokens': 16384, 'temperature': 0.6, 'seed': 9}
        """
        named = {
            self.limit_field: self.max_tokens,
            "temperature": self.temperature,
            "seed": None if self.seed is None else self.seed + sample,
        }
        return {name: value for name, value in {**named, **self.more}.items() if value is not None}


@dataclass(frozen=True)
class Evaluation:
    """A folder after an evaluation.

    Attributes
    ----------
    traces : pandas.DataFrame
        Columns of `wmbxl.evaluate.traces.SCHEMA`, of all models in the folder.
    asked, failed : int
        Answers that this evaluation asked for, and those of them that have no reply.
    """

    traces: pd.DataFrame
    asked: int
    failed: int

    @property
    def complete(self) -> bool:
        """Whether every call has a reply."""
        return self.failed == 0


def evaluate(
    questions: QuestionSet,
    model: str,
    endpoint: Endpoint | None,
    out: str | Path,
    *,
    name: str | None = None,
    sampling: Sampling | None = None,
    budget: Budget | None = None,
    invalid: Invalid = "missing",
    told: Callable[[Call, Outcome], None] | None = None,
    judged: Callable[[int], None] | None = None,
) -> Evaluation:
    """Ask a model every question, judge the answers, and add them to a folder.

    A folder is about one benchmark and holds any number of models. What was answered is on record there, so the same
    evaluation, run again, asks only what has no reply yet.

    Parameters
    ----------
    questions : QuestionSet
        As `wmbxl.evaluate.questions.read_questions` returns them.
    model : str
        The name under which the endpoint serves the model.
    endpoint : Endpoint or None
        None asks nobody: the record of the folder answers.
    out : str or Path
        A local folder.
    name : str, optional
        The model's name in tables; `model` by default.
    sampling : Sampling, optional
        How answers are drawn.
    budget : Budget, optional
        What may be spent.
    invalid : {"missing", "wrong"}
        What empty replies and refusals count as in ``verdicts.jsonl``.
    told : callable, optional
        As for `wmbxl.models.asking.ask_all`.
    judged : callable, optional
        Called with the number of answers that have a verdict, each time there is one more.

    Returns
    -------
    Evaluation
        All traces of the folder.

    Raises
    ------
    RunMismatch
        The folder is about another benchmark, or holds other answers under this name.
    EndpointRefuses, Interrupted
        As for `wmbxl.models.asking.ask_all`. What was answered is on record.
    """
    sampling, name, folder = sampling or Sampling(), name or model, Path(out)
    about = _about(folder, questions, name, model, sampling)
    asked = calls_of(questions, model, sampling)
    outcomes = ask_all([call for _, call in asked], endpoint, record=Record(folder / CALLS), budget=budget, told=told)

    rows = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # slow checks run in processes of their own
        for row in pool.map(partial(_judged, name, sampling.max_tokens), asked, outcomes):
            rows.append(row)
            if judged:
                judged(len(rows))
    traces = _added(folder, name, rows)
    _write(folder, traces, about, invalid)
    return Evaluation(traces.to_pandas(), len(rows), sum(isinstance(outcome, CallFailed) for outcome in outcomes))


def calls_of(questions: QuestionSet, model: str, sampling: Sampling) -> list[tuple[Question, Call]]:
    """Return every question with the call that asks it, once for each sample."""
    return [
        (question, Call(model, ({"role": "user", "content": question.prompt},), sampling.parameters(sample), sample))
        for sample in range(sampling.samples)
        for question in questions.questions
    ]


def _judged(name: str, max_tokens: int, asked: tuple[Question, Call], outcome: Outcome) -> Row:
    return trace(name, *asked, outcome, max_tokens)


def _about(folder: Path, questions: QuestionSet, name: str, model: str, sampling: Sampling) -> dict[str, Any]:
    """Return what the folder is about with this model in it, or say why it can't be."""
    prompts = xxhash.xxh3_128_hexdigest("\0".join(question.prompt for question in questions.questions).encode())
    setting = {"model": model, "prompts": prompts, **asdict(sampling)}
    del setting["samples"]  # more of them are drawn any time
    path = folder / ABOUT
    if not path.exists():
        return {"benchmark": questions.source, "sha256": questions.sha256, "models": {name: setting}}
    about = orjson.loads(path.read_bytes())
    if about["sha256"] != questions.sha256:
        raise RunMismatch(f"{folder} is about {about['benchmark']}, which is another benchmark: give another --out")
    before = about["models"].get(name, setting)
    changed = [
        f"{key} was {before[key]!r:.60} and is {setting[key]!r:.60}" for key in setting if before[key] != setting[key]
    ]
    if changed:
        raise RunMismatch(
            f"{folder} holds other answers of {name!r}: {'; '.join(changed)}. Give these another name, such as "
            f"--name '{name}@{sampling.max_tokens}', or another --out"
        )
    return {**about, "models": {**about["models"], name: setting}}


def _added(folder: Path, name: str, rows: Sequence[Row]) -> pa.Table:
    new = pa.Table.from_pylist(list(rows), schema=SCHEMA)
    path = folder / f"{TRACES}.parquet"
    if not path.exists():
        return new
    before = read_parquet(str(path), str(path))
    return pa.concat_tables([before.filter(pc.field("model") != name), new])


def _write(folder: Path, traces: pa.Table, about: dict[str, Any], invalid: Invalid) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(traces, sink, compression="zstd")
    verdicts = verdict_rows(traces.to_pandas(), invalid)
    files = {
        f"{TRACES}.parquet": sink.getvalue().to_pybytes(),
        f"{TRACES}.jsonl": json_lines(traces.to_pylist()),
        VERDICTS: json_lines(verdicts.to_dict("records")),
        ABOUT: orjson.dumps(about, option=orjson.OPT_INDENT_2),
    }
    write_files(str(folder), files)

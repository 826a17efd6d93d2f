"""A model before and after its training: on the test problems, and on tasks of lm-evaluation-harness."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import pandas as pd

from wmbxl.errors import UsageError
from wmbxl.evaluate.questions import QuestionSet
from wmbxl.evaluate.run import CALLS, Evaluation, Sampling, calls_of, evaluate
from wmbxl.extras import needs
from wmbxl.models.record import Record
from wmbxl.tables import write_files
from wmbxl.train.problems import Item
from wmbxl.train.settings import RegressionConfig, TrainConfig
from wmbxl.train.writing import Writing, load, write


def evaluate_local(
    name: str,
    source: str,
    items: Sequence[Item],
    config: TrainConfig,
    told: Callable[[str], None],
) -> Evaluation:
    """Ask a model on this machine the test problems, and add it to the evaluation folder of the run.

    Answers are put on record as they come, and judged from there, so an interrupted evaluation goes on where it was.

    Parameters
    ----------
    name : str
        The model's name in tables.
    source : str
        Its folder, or its name on the Hub.
    items : sequence of Item
        The test problems.
    config : TrainConfig
        With an ``evaluation``.
    told : callable
        Takes a line about the progress, now and then.
    """
    assert config.evaluation
    settings, folder = config.evaluation, Path(config.out) / "evaluation"
    questions = as_questions(items, config.data.test.paths)
    sampling = Sampling(settings.max_tokens, settings.temperature, settings.samples, seed=config.seed)
    record = Record(folder / CALLS)
    missing = [(question, call) for question, call in calls_of(questions, source, sampling) if record.get(call) is None]
    if missing:
        model, tokenizer = load(source, config.model)
        told(f"{name}: {len(missing):,} answers to write")
        for sample in range(settings.samples):
            asked = [(question, call) for question, call in missing if call.sample == sample]
            how = Writing(settings.max_tokens, settings.temperature, config.write_batch, config.seed + sample)
            for place, reply in write(model, tokenizer, [question.prompt for question, _ in asked], how):
                record.add(asked[place][1], reply)
    return evaluate(questions, source, None, folder, name=name, sampling=sampling)


def as_questions(items: Sequence[Item], paths: Sequence[str]) -> QuestionSet:
    """Return test problems as `wmbxl.evaluate` takes them."""
    questions = tuple(item.question for item in items)
    content = "\0".join(f"{one.problem_id}\0{one.prompt}\0{one.answer}" for one in questions)
    return QuestionSet(questions, ", ".join(paths), hashlib.sha256(content.encode()).hexdigest())


def regression(name: str, source: str, config: TrainConfig) -> pd.DataFrame:
    """Run tasks of lm-evaluation-harness with a model on this machine, unless their results are in the folder.

    Parameters
    ----------
    name : str
        The model's name in the folder.
    source : str
        The model's folder, or its name on the Hub.
    config : TrainConfig
        With a ``regression``.

    Returns
    -------
    pandas.DataFrame
        ``task, metric, filter, value, stderr``.

    Raises
    ------
    UsageError
        The harness can't load the tasks' data.
    """
    assert config.regression
    settings, path = config.regression.model_dump(), Path(config.out) / "regression" / f"{name}.json"
    kept = orjson.loads(path.read_bytes()) if path.exists() else {}
    if kept.get("settings") != settings:
        kept = {"settings": settings, "rows": _rows(_run_tasks(source, config, config.regression))}
        content = orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)
        write_files(str(path.parent), {path.name: content})
    return pd.DataFrame(kept["rows"], columns=["task", "metric", "filter", "value", "stderr"])


def harness(part: str = "") -> Any:
    """Import lm-evaluation-harness or a part of it, or say how to install it."""
    return needs(f"lm_eval{part}", extra="regression", what="running tasks")


@lru_cache(maxsize=1)
def _task_manager(folder: str | None) -> Any:
    return harness(".tasks").TaskManager(include_path=folder)  # reads the settings of thousands of tasks


def find_tasks(settings: RegressionConfig) -> None:
    """Look for the tasks in lm-evaluation-harness, so that a wrong name is told before the work.

    Raises
    ------
    UsageError
        The harness is not installed or doesn't know a task, or there is no such folder with tasks.
    """
    if settings.task_folder is not None and not Path(settings.task_folder).is_dir():
        raise UsageError(f"regression.task_folder: there is no folder {settings.task_folder}: correct the path")
    known = _task_manager(settings.task_folder).all_tasks
    for task in settings.tasks:
        if task not in known:
            close = get_close_matches(task, known, n=1)
            hint = f"did you mean {close[0]}?" if close else "name one of  lm_eval ls tasks"
            raise UsageError(f"regression.tasks: lm-evaluation-harness knows no task {task}; {hint}")


def _run_tasks(source: str, config: TrainConfig, settings: RegressionConfig) -> dict[str, dict[str, Any]]:
    model, tokenizer = load(source, config.model)
    try:
        found = harness().simple_evaluate(
            model=harness(".models.huggingface").HFLM(pretrained=model, tokenizer=tokenizer, batch_size=settings.batch),
            tasks=settings.tasks,
            task_manager=_task_manager(settings.task_folder),
            limit=settings.limit,
            random_seed=config.seed,
        )
    except OSError as error:  # that of a store of data sets, too
        raise UsageError(
            f"regression.tasks: the harness can't load the data of {', '.join(settings.tasks)} ({error}): let this "
            "machine reach the Hugging Face Hub, or leave them out, and run the same command again"
        ) from error
    results: dict[str, dict[str, Any]] = found["results"]
    return results


def _rows(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "task": task,
            "metric": metric,
            "filter": name,
            "value": value,
            "stderr": found.get(f"{metric}_stderr,{name}"),
        }
        for task, found in results.items()
        for metric, _, name in (key.partition(",") for key in found)
        if name and not metric.endswith("_stderr")
        for value in (found[f"{metric},{name}"],)
    ]

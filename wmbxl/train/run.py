"""One training: what may be trained on, the trainer, and the folder of the run, from which it resumes."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import pandas as pd

from wmbxl.__about__ import __version__
from wmbxl.errors import RunMismatch, UsageError
from wmbxl.evaluate.tables import summary
from wmbxl.stats.resample import Bootstrap
from wmbxl.tables import json_lines, table_files, write_files
from wmbxl.train.checks import checks_table
from wmbxl.train.comparing import as_questions, evaluate_local, find_tasks, regression
from wmbxl.train.leaks import Leak, count_short, find_leaks, without_leaks
from wmbxl.train.problems import Item, hold_out, read_items
from wmbxl.train.settings import GrpoConfig, TrainConfig
from wmbxl.train.trainers import last_checkpoint, make_arguments, make_trainer
from wmbxl.train.writing import convert, find_model, library

ABOUT, LEAKS, LOG, MODEL, BASE = "training.json", "leaks.jsonl", "log.jsonl", "model", "base"

_FREE = {"out", "evaluation", "regression"}  # settings that may change between the parts of one training
_PACKAGES = ("torch", "transformers", "trl", "accelerate")


@dataclass(frozen=True)
class Data:
    """The problems of a training.

    Attributes
    ----------
    train, validation, test : list of Item
        No problem of the first two is one of the third's, or shares what the settings forbid.
    leaks : list of Leak
        Why others were left out.
    """

    train: list[Item]
    validation: list[Item]
    test: list[Item]
    leaks: list[Leak]


@dataclass(frozen=True)
class Training:
    """A finished training.

    Attributes
    ----------
    about : dict
        What ``training.json`` holds.
    tables : dict of str to pandas.DataFrame
        ``checks``; ``evaluation`` and ``regression`` if they were asked for.
    """

    about: dict[str, Any]
    tables: dict[str, pd.DataFrame]


def prepare(config: TrainConfig) -> Data:
    """Read the problems, leave out or refuse what must not be trained on, and set the validation problems apart.

    Raises
    ------
    LeakError
        Problems must not be trained on, and the settings say ``leaks: refuse``.
    UsageError, BenchmarkError, FieldNotFound
        As for `wmbxl.train.problems.read_items` and `wmbxl.train.problems.hold_out`.
    """
    train, test = (read_items(name, getattr(config.data, name), config.data) for name in ("train", "test"))
    leaks = find_leaks(train, test, config.data)
    kept, validation = hold_out(without_leaks(train, leaks, config.data), config.data, config.seed)
    return Data(kept, validation, test, leaks)


def train(config: TrainConfig, told: Callable[[str], None]) -> Training:
    """Train a model, or go on where a training ended early.

    Parameters
    ----------
    config : GrpoConfig or SftConfig
        The settings; their type decides the method.
    told : callable
        Takes lines about the progress.

    Returns
    -------
    Training
        The folder then also holds the checkpoint that did best, as ``model``.

    Raises
    ------
    RunMismatch
        The folder holds another training.
    UsageError
        As for `prepare` and `wmbxl.train.trainers.make_arguments`; the model or a task is not there; the folder holds
        something that is no training; or this is one process of several.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("a training runs in one process: start it without torchrun or accelerate launch")
    folder = Path(config.out)
    data = prepare(config)
    base = str(folder / BASE) if config.model.gguf_file else config.model.name
    arguments = make_arguments(config, base)
    to_convert = config.model.gguf_file is not None and not Path(base).exists()
    _find(config, base, to_convert)
    about = _about(folder, config, data)
    told(_say(about["data"]))
    library("transformers").logging.disable_progress_bar()
    if to_convert:
        convert(config.model, Path(base))
    tables = {}
    before = _compare("before", base, data.test, config, told)
    if about["status"] != "complete":
        about |= _fit(config, arguments, base, data, told)
        write_files(str(folder), {ABOUT: orjson.dumps(about, option=orjson.OPT_INDENT_2)})
    tables["checks"] = checks_table(_read_log(folder))
    after = _compare("after", str(folder / MODEL), data.test, config, told)
    tables |= {name: pd.concat([before[name], after[name]], ignore_index=True) for name in before}
    write_files(str(folder), table_files(tables, ["csv"]))
    return Training(about, tables)


def _find(config: TrainConfig, base: str, to_convert: bool) -> None:
    """Look for what the settings name, so that what is not there is told before the work."""
    if to_convert:
        find_model(config.model.name, config.model.gguf_file, config.model.revision)
    else:
        find_model(base, None, config.model.revision if base == config.model.name else None)
    if config.regression:
        find_tasks(config.regression)


def _about(folder: Path, config: TrainConfig, data: Data) -> dict[str, Any]:
    """Return what the folder is about, or say why it can't be."""
    settings = config.model_dump(exclude=_FREE)
    problems = {
        "train": len(data.train),
        "validation": len(data.validation),
        "test": len(data.test),
        "left_out": dict(Counter(leak.rule for leak in data.leaks)),
        "too_short_to_compare": count_short([*data.train, *data.validation, *data.test], config.data.overlap_n),
        "sha256": as_questions([*data.train, *data.validation], []).sha256,
    }
    made = {
        "status": "running",
        "method": "grpo" if isinstance(config, GrpoConfig) else "sft",
        "version": __version__,
        "packages": {name: library(name).__version__ for name in _PACKAGES},
        "settings": settings,
        "data": problems,
    }
    path = folder / ABOUT
    if not path.exists():
        if folder.exists() and (not folder.is_dir() or {item.name for item in folder.iterdir()} - {LEAKS}):
            raise UsageError(f"{folder}: there is something else in this place: give another out, or delete it")
        lines = json_lines(map(asdict, data.leaks))
        write_files(str(folder), {LEAKS: lines, ABOUT: orjson.dumps(made, option=orjson.OPT_INDENT_2)})
        return made
    about: dict[str, Any] = orjson.loads(path.read_bytes())
    plain = orjson.loads(orjson.dumps(made))
    changed = [name for name in plain["settings"] if about["settings"].get(name) != plain["settings"][name]]
    changed += [name for name in ("method", "data") if about[name] != plain[name]]
    if changed:
        raise RunMismatch(
            f"{folder} holds another training: {', '.join(changed)} changed. Give this one another out, or restore them"
        )
    return about


def _say(problems: dict[str, Any]) -> str:
    parts = [f"{problems['train']:,} problems to train on", f"{problems['validation']:,} to validate with"]
    parts += [f"{count:,} left out: {rule}" for rule, count in problems["left_out"].items()]
    short = problems["too_short_to_compare"]
    parts += [f"{short:,} too short to be compared, the test's included"] * bool(short)
    return " · ".join(parts)


def _fit(config: TrainConfig, arguments: Any, base: str, data: Data, told: Callable[[str], None]) -> dict[str, Any]:
    """Train from the last checkpoint, or from the start; return what that took."""
    folder = Path(config.out)
    checkpoint = last_checkpoint(folder)
    told(f"going on from {checkpoint}" if checkpoint else f"training {base}")
    trainer = make_trainer(config, arguments, base, data.train, data.validation, [_following(folder, told)])
    began = time.perf_counter()
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    seconds = time.perf_counter() - began
    trainer.save_model(str(folder / MODEL))
    resumed = int(checkpoint.name.partition("-")[2]) if checkpoint else 0
    took = {
        "status": "complete",
        "steps": trainer.state.global_step,
        "kept_step": trainer.state.best_global_step,
        "resumed_from": resumed,
        "seconds": round(seconds, 1),
        "seconds_per_step": round(seconds / max(1, trainer.state.global_step - resumed), 2),
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_gpu_memory": library("torch").cuda.max_memory_allocated(),
    }
    del trainer  # its model and its optimizer have to make room for the evaluation
    gc.collect()
    library("torch").cuda.empty_cache()
    return took


def _following(folder: Path, told: Callable[[str], None]) -> Any:
    """Return a callback that keeps the whole log in the folder, and tells a line of it."""

    class Following(library("transformers").TrainerCallback):  # type: ignore[misc]
        def on_log(self, _: Any, state: Any, __: Any, logs: dict[str, Any], **___: Any) -> None:
            write_files(str(folder), {LOG: json_lines(state.log_history)})
            if words := [f"{said} {float(logs[key]):.4g}" for key, said in _TOLD.items() if key in logs]:
                told(" · ".join([f"step {state.global_step:,} of {state.max_steps:,}", *words]))

    return Following()


# What a line of progress says, in this order, where the log has it.
_TOLD = {
    "loss": "loss",
    "reward": "reward",
    "reward_std": "± in a group",
    "verdict/undecided": "undecided",
    "kl": "KL",
    "completions/mean_length": "tokens",
    "eval_greedy_correct": "validation, greedy: correct",
    "eval_greedy_undecided": "undecided",
    "eval_sampled_correct": "sampled: correct",
}


def _read_log(folder: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (folder / LOG).read_bytes().splitlines()]


def _compare(
    name: str, source: str, test: Sequence[Item], config: TrainConfig, told: Callable[[str], None]
) -> dict[str, pd.DataFrame]:
    """Return the tables about a model that the settings ask for."""
    tables = {}
    if config.evaluation:
        traces = evaluate_local(name, source, test, config, told).traces
        tables["evaluation"] = summary(traces[traces["model"] == name], Bootstrap(seed=config.seed))
    if config.regression:
        told(f"{name}: {', '.join(config.regression.tasks)}")
        tables["regression"] = regression(name, source, config).assign(model=name)
    return tables

"""The verbs that teach a model: train grpo, train sft."""

from __future__ import annotations

import warnings

import click

from wmbxl.cli.display import console, say
from wmbxl.cli.tables import rich_table
from wmbxl.train.run import MODEL, Training
from wmbxl.train.run import train as run_training
from wmbxl.train.settings import GrpoConfig, SftConfig, TrainConfig, read_config
from wmbxl.units import duration, size

# Columns that fit a terminal; everything is in the files.
_SHOWN = {
    "checks": ("step", "epoch", "greedy_correct", "greedy_undecided", "sampled_correct", "kept"),
    "evaluation": ("model", "n_total", "n_valid", "truncated_pct", "acc", "ci_low", "ci_high", "acc_total"),
}
_FILE = click.argument("config", type=click.Path(exists=True, dir_okay=False))


@click.group("train")
def train_command() -> None:
    """Train a model on a benchmark's training problems, and see what it learned.

    The test's problems are refused, and so is text that they share. Run again, the same command goes on from the last
    checkpoint.
    """


@train_command.command()
@_FILE
def grpo(config: str) -> None:
    """Let a model answer, reward what the verifier calls correct, and so on, by the settings in CONFIG."""
    _train(read_config(GrpoConfig, config))


@train_command.command()
@_FILE
def sft(config: str) -> None:
    """Show a model the keys, and see after every epoch what it answers, by the settings in CONFIG."""
    _train(read_config(SftConfig, config))


def _train(config: TrainConfig) -> None:
    with warnings.catch_warnings():
        # TRL calls what Transformers is about to rename; nobody here can change that.
        warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
        training = run_training(config, say)
    _show(training, config)


def _show(training: Training, config: TrainConfig) -> None:
    about = training.about
    for name, table in training.tables.items():
        console.print(rich_table(name, table, _SHOWN.get(name, ())))
    memory = f"{size(about['peak_memory'])} of memory"
    if about["peak_gpu_memory"]:
        memory += f", {size(about['peak_gpu_memory'])} of the GPU's"
    steps = about["steps"] - about["resumed_from"]
    console.print(
        f"{steps:,} steps in {duration(about['seconds'])} ({about['seconds_per_step']:g} s each), {memory} at most",
        highlight=False,
        soft_wrap=True,
    )
    console.print(f"The model of step {about['kept_step']}: {config.out}/{MODEL}", highlight=False, soft_wrap=True)

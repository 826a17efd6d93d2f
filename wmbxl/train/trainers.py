"""The trainers of TRL, set up from the settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from wmbxl.answers.exact import CHOICE, boxed
from wmbxl.evaluate.questions import Question
from wmbxl.train.checks import SELECTS, checking
from wmbxl.train.problems import Item
from wmbxl.train.reward import verified
from wmbxl.train.settings import GrpoConfig, SftConfig, TrainConfig, trainer_arguments
from wmbxl.train.writing import as_prompt, library, load_tokenizer


def last_checkpoint(folder: Path) -> Path | None:
    """Return the checkpoint to go on from: the newest one that is whole."""
    whole = [path for path in folder.glob("checkpoint-*") if _is_whole(path)]
    return max(whole, key=lambda path: int(path.name.partition("-")[2]), default=None)


def _is_whole(checkpoint: Path) -> bool:
    try:
        orjson.loads((checkpoint / "trainer_state.json").read_bytes())  # which is written last
    except (OSError, ValueError):
        return False
    return True


def make_arguments(config: TrainConfig, base: str) -> Any:
    """Return the arguments of the trainer that a configuration asks for.

    Parameters
    ----------
    config : GrpoConfig or SftConfig
        The settings; their type decides the method.
    base : str
        The model's folder, or its name on the Hub.

    Raises
    ------
    UsageError
        ``trainer`` holds what TRL doesn't know, or TRL refuses the settings.
    """
    trl = library("trl")
    ours = {
        "output_dir": config.out,
        "model_init_kwargs": {"dtype": config.model.dtype, "revision": _revision(config, base)},
        "seed": config.seed,
        "learning_rate": config.learning_rate,
        "weight_decay": config.weight_decay,
        "lr_scheduler_type": config.schedule,
        "per_device_train_batch_size": config.batch,
        "logging_steps": 1,
        "disable_tqdm": True,
        "eval_on_start": not last_checkpoint(Path(config.out)),
        "load_best_model_at_end": True,
        "metric_for_best_model": SELECTS,
        "greater_is_better": True,
        "save_total_limit": 1,  # and the best one
    }
    if isinstance(config, GrpoConfig):
        return trainer_arguments(trl.GRPOConfig, ours | _grpo(config), _defaults() | config.trainer)
    assert isinstance(config, SftConfig)
    return trainer_arguments(trl.SFTConfig, ours | _sft(config), _defaults() | config.trainer)


def _revision(config: TrainConfig, base: str) -> str | None:
    return config.model.revision if base == config.model.name else None


def _defaults() -> dict[str, Any]:
    """Return what the settings may change under ``trainer``."""
    gpu = library("torch").cuda.is_available()
    return {"optim": "adamw_torch", "bf16": gpu, "dataloader_pin_memory": gpu, "report_to": "none"}


def _grpo(config: GrpoConfig) -> dict[str, Any]:
    return {
        "max_steps": config.steps,
        "num_generations": config.completions,
        "num_generations_eval": 1,
        "gradient_accumulation_steps": config.prompts * config.completions // config.batch,
        "steps_per_generation": config.write_batch // config.batch,
        "max_completion_length": config.max_tokens,
        "temperature": config.temperature,
        "beta": config.kl,
        "loss_type": "grpo",
        "scale_rewards": "group",
        "eval_strategy": "steps",
        "save_strategy": "steps",
        "eval_steps": config.check_every,
        "save_steps": config.check_every,
        "log_completions": True,
        "num_completions_to_print": 0,
    }


def _sft(config: SftConfig) -> dict[str, Any]:
    return {
        "num_train_epochs": config.epochs,
        "gradient_accumulation_steps": config.examples // config.batch,
        "max_length": None,  # nothing is cut off
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
    }


def make_trainer(
    config: TrainConfig,
    arguments: Any,
    base: str,
    train: Sequence[Item],
    validation: Sequence[Item],
    callbacks: Sequence[Any],
) -> Any:
    """Return a trainer, with its model loaded.

    Parameters
    ----------
    config, base
        As for `make_arguments`.
    arguments : trl.GRPOConfig or trl.SFTConfig
        As `make_arguments` returns them.
    train, validation : sequence of Item
        The problems.
    callbacks : sequence of transformers.TrainerCallback
        Told of the progress.
    """
    trl, datasets = library("trl"), library("datasets")
    tokenizer = load_tokenizer(base, _revision(config, base))
    trainer, row, more = (
        (trl.GRPOTrainer, _grpo_row, {"reward_funcs": verified})
        if isinstance(config, GrpoConfig)
        else (trl.SFTTrainer, _sft_row, {})
    )
    train_rows, validation_rows = (
        datasets.Dataset.from_list([row(item.question, tokenizer) for item in items]) for items in (train, validation)
    )
    made = checking(trainer)(
        model=base,
        args=arguments,
        train_dataset=train_rows,
        eval_dataset=validation_rows,
        processing_class=tokenizer,
        callbacks=list(callbacks),
        items=validation,
        config=config,
        **more,
    )
    made.remove_callback(library("transformers").PrinterCallback)
    return made


def _grpo_row(question: Question, tokenizer: Any) -> dict[str, Any]:
    return {"prompt": as_prompt(question.prompt, tokenizer), "answer": question.answer, "type": question.type}


def _sft_row(question: Question, tokenizer: Any) -> dict[str, Any]:
    prompt, text = as_prompt(question.prompt, tokenizer), target(question)
    return {
        "prompt": prompt,
        "completion": text if isinstance(prompt, str) else [{"role": "assistant", "content": text}],
    }


def target(question: Question) -> str:
    r"""Return what supervised training wants a model to say: the key, in words that state it.

    Examples
    --------
    >>> target(Question("a", "Which one?", "B", "MCQ"))
    'The answer is B.'
    >>> target(Question("b", "What is x?", r"\frac{1}{2}", "fill_blank_25"))
    '\\boxed{\\frac{1}{2}}'
    """
    if question.type == CHOICE:
        return f"The answer is {question.answer.strip()}."
    return question.answer if boxed(question.answer) else rf"\boxed{{{question.answer}}}"

"""Checks during a training: answers to the validation problems, which decide what checkpoint is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from wmbxl.train.problems import Item
from wmbxl.train.reward import outcome_shares, verdicts
from wmbxl.train.settings import TrainConfig
from wmbxl.train.writing import Writing, library, write

SELECTS = "eval_greedy_correct"  # the figure by which checkpoints are compared
_COLUMNS = {
    "step": "step",
    "epoch": "epoch",
    "greedy_correct": SELECTS,
    "greedy_undecided": "eval_greedy_undecided",
    "greedy_truncated": "eval_greedy_truncated",
    "sampled_correct": "eval_sampled_correct",
    "sampled_undecided": "eval_sampled_undecided",
    "sampled_truncated": "eval_sampled_truncated",
}


def check(model: Any, tokenizer: Any, items: Sequence[Item], config: TrainConfig) -> dict[str, float]:
    """Let a model answer the validation problems greedily, and once more as it is used later.

    Parameters
    ----------
    model, tokenizer
        As `wmbxl.train.writing.load` returns them.
    items : sequence of Item
        The validation problems.
    config : TrainConfig
        Its ``checks``: budget and temperature.

    Returns
    -------
    dict
        For ``greedy`` and ``sampled``: the shares correct, incorrect and undecided, and of answers cut off.
    """
    shares = {}
    for name, temperature in {"greedy": 0.0, "sampled": config.checks.temperature}.items():
        how = Writing(config.checks.max_tokens, temperature, config.write_batch, config.seed)
        replies = dict(write(model, tokenizer, [item.question.prompt for item in items], how))
        texts = [replies[place].text for place in range(len(items))]
        found = verdicts(texts, [item.question.answer for item in items], [item.question.type for item in items])
        for outcome, share in outcome_shares(found).items():
            shares[f"eval_{name}_{outcome}"] = share
        shares[f"eval_{name}_truncated"] = sum(reply.truncated for reply in replies.values()) / len(items)
    return shares


def checking(trainer: type[Any]) -> type[Any]:
    """Return a trainer of TRL's whose evaluation is `check`, so that Transformers keeps the best checkpoint by it.

    Parameters
    ----------
    trainer : type
        ``GRPOTrainer`` or ``SFTTrainer``. The new class also takes ``items`` and ``config``, as for `check`.
    """
    base_log = library("transformers").Trainer.log

    class Checking(trainer):  # type: ignore[misc]
        control: Any

        def __init__(self, *given: Any, items: Sequence[Item], config: TrainConfig, **named: Any) -> None:
            super().__init__(*given, **named)
            self._items, self._config = items, config

        def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
            found = check(self.model, self.processing_class, self._items, self._config)
            base_log(self, dict(found))  # not the trainer's own, which would take the rewards since the last line
            self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, found)
            return found

    return Checking


def checks_table(history: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table of all checks from a trainer's log; step 0 is the model before the training.

    Returns
    -------
    pandas.DataFrame
        ``step, epoch``; for ``greedy`` and ``sampled`` the shares ``correct, undecided, truncated``; ``kept``, which is
        true of the first of those after step 0 with the largest share correct.

    Examples
    --------
    >>> history = [{"step": step, "epoch": step / 8, "eval_greedy_correct": share} for step, share in
    ...            [(0, 0.3), (2, 0.1), (4, 0.2), (6, 0.2)]]
    >>> checks_table(history)["kept"].tolist()
    [False, False, True, False]
    """
    rows = [{name: line.get(key) for name, key in _COLUMNS.items()} for line in history if SELECTS in line]
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    after = table.loc[table["step"] > 0, "greedy_correct"]
    best = after.idxmax() if len(after) else None
    return table.assign(kept=table.index == best)

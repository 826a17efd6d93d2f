"""The reward: 1 if the verifier says that an answer is correct, otherwise 0."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

from wmbxl.answers import Verdict, verify
from wmbxl.answers.verdict import Outcome


def verdicts(responses: Sequence[str], answers: Sequence[str], types: Sequence[str]) -> list[Verdict]:
    """Judge responses, several at once: slow checks run in processes of their own.

    Parameters
    ----------
    responses, answers, types : sequence of str, of the same length
        As for `wmbxl.answers.verify`.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(verify, responses, answers, types))


def outcome_shares(found: Sequence[Verdict]) -> dict[str, float]:
    """Return the share of each outcome.

    Examples
    --------
    >>> outcome_shares(verdicts(["The answer is B."], ["B"], ["MCQ"]))
    {'correct': 1.0, 'incorrect': 0.0, 'undecided': 0.0}
    """
    counts = Counter(verdict.outcome for verdict in found)
    return {outcome: counts[outcome] / len(found) for outcome in get_args(Outcome)}


def verified(
    completions: Sequence[Any],
    answer: Sequence[str],
    type: Sequence[str],
    log_metric: Callable[[str, float], None],
    log_extra: Callable[[str, list[Any]], None],
    **_: Any,
) -> list[float]:
    """Reward answers, as TRL asks for it.

    An undecided answer gets 0, as if it were wrong; how many there are is logged apart, since they tell how much of
    the reward is the verifier's ignorance.

    Parameters
    ----------
    completions : sequence of str, or of lists with one message
        What the model wrote.
    answer, type : sequence of str
        The keys and the task formats.
    log_metric, log_extra : callable
        TRL's: the first takes the share of each outcome, the second what the verifier said of each answer.

    Returns
    -------
    list of float
        0.0 or 1.0 for each completion.

    Examples
    --------
    >>> logged = {}
    >>> verified(["The answer is B.", "No idea."], ["B", "B"], ["MCQ", "MCQ"], logged.__setitem__, logged.__setitem__)
    [1.0, 0.0]
    >>> logged["verdict/incorrect"], logged["step"]
    (0.5, ['exact', 'extract'])
    """
    texts = [completion if isinstance(completion, str) else completion[-1]["content"] for completion in completions]
    found = verdicts(texts, answer, type)
    for outcome, share in outcome_shares(found).items():
        log_metric(f"verdict/{outcome}", share)
    for name in ("outcome", "step", "reason"):
        log_extra(name, [getattr(verdict, name) for verdict in found])
    return [float(verdict.outcome == "correct") for verdict in found]

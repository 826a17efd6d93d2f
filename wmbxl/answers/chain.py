r"""The chain of checks: exact, canonical, symbolic, and a judge if one is given. The first that decides has the say."""

from __future__ import annotations

import os

from wmbxl.answers.exact import CHOICE, boxed, normalise, score
from wmbxl.answers.extract import chosen, options, stated
from wmbxl.answers.sandbox import Overdue, Sandbox
from wmbxl.answers.verdict import Equivalence, Judge, Step, Verdict
from wmbxl.extras import needs

# Of wall time, so generous: a step takes milliseconds, but on a busy machine it may have to wait for a core.
CANONICAL_SECONDS = 5.0
SYMBOLIC_SECONDS = 10.0
# Longer expressions are not parsed; no answer of a benchmark is near it.
LONGEST = 4_000

_STEPS: tuple[Step, ...] = ("extract", "exact", "canonical", "symbolic", "judge")
_sandboxes: dict[int, Sandbox] = {}


def verify(response: str, answer: str, type: str, *, judge: Judge | None = None) -> Verdict:
    r"""Say whether a response gives the key's answer.

    Parameters
    ----------
    response : str
        What the model wrote.
    answer : str
        The key: an option letter, or one or more ``\boxed{}``s; a key without a box is one answer.
    type : str
        ``"MCQ"`` for multiple choice, where letters are compared; anything else is compared as mathematics.
    judge : Judge, optional
        Who is asked if no step could decide.

    Returns
    -------
    Verdict
        Correct if all parts are, incorrect if a part is proved to differ, otherwise undecided.

    Raises
    ------
    UsageError
        The packages of the extra ``answers`` are missing.

    Examples
    --------
    >>> verify("So the answer is (C).", "C", "MCQ").outcome
    'correct'
    >>> verify(r"\boxed{\dfrac{a}{b}}", r"\boxed{\frac{a}{b}}", "fill_blank_25").step
    'exact'
    >>> verdict = verify(r"\boxed{\mathbf{G}\mathbf{H}}", r"\boxed{\mathbf{H}\mathbf{G}}", "fill_blank_25")
    >>> verdict.outcome, verdict.step
    ('incorrect', 'symbolic')
    """
    verdict = _choose(response, answer) if type == CHOICE else _compare(response, answer)
    if judge is not None and verdict.outcome == "undecided":
        return judge(response, answer)
    return verdict


def equivalent(first: str, second: str) -> Equivalence:
    r"""Say whether two LaTeX expressions mean the same, for all values of their symbols.

    Parameters
    ----------
    first, second : str
        LaTeX, without ``\boxed``.

    Returns
    -------
    Equivalence
        Equivalent, different, or undecided.

    Raises
    ------
    UsageError
        The packages of the extra ``answers`` are missing.

    Examples
    --------
    >>> equivalent(r"(\mathbf{A}\mathbf{B})^H", r"\mathbf{B}^H \mathbf{A}^H").relation
    'equivalent'
    >>> equivalent(r"\mathbf{A}\mathbf{B}", r"\mathbf{B}\mathbf{A}").relation
    'different'
    """
    if normalise(first) == normalise(second):
        return Equivalence("equivalent", "exact", "the same text")
    if max(len(first), len(second)) > LONGEST:
        return Equivalence("undecided", "exact", f"longer than {LONGEST:,} characters")
    canonical = _ask("canonical", first, second, CANONICAL_SECONDS)
    if canonical.relation == "equivalent":
        return canonical
    return _ask("symbolic", first, second, SYMBOLIC_SECONDS)


def _choose(response: str, answer: str) -> Verdict:
    found, expected = chosen(response), options(next(iter(boxed(answer)), answer))
    if not expected:
        return Verdict("undecided", "extract", "the key names no option from A to J", found, (answer,))
    if not found:
        return Verdict("incorrect", "extract", "no option letter is stated", (), expected)
    right = set(found) == set(expected)
    return Verdict("correct" if right else "incorrect", "exact", "the last letter stated", found, expected)


def _compare(response: str, answer: str) -> Verdict:
    expected = tuple(boxed(answer)) or (answer,)
    found = stated(response, len(expected))
    if not all(map(normalise, expected)):
        return Verdict("undecided", "extract", "the key is empty", found.parts, expected)
    if not found.parts:
        return Verdict("incorrect", "extract", "no answer is stated", (), expected)
    if not found.sure and not found.closing:
        return Verdict("undecided", "extract", "a formula that was only found in passing", found.parts, expected)
    if score(response, answer, "").correct:
        return Verdict("correct", "exact", "the same text", found.parts, expected)
    if len(found.parts) != len(expected):
        reason = f"{len(found.parts)} answers are stated, {len(expected)} expected"
        return Verdict("undecided", "extract", reason, found.parts, expected)
    parts = [equivalent(one, other) for one, other in zip(found.parts, expected, strict=True)]
    step = max((part.step for part in parts), key=_STEPS.index)
    if all(part.relation == "equivalent" for part in parts):
        return Verdict("correct", step, "; ".join(dict.fromkeys(part.reason for part in parts)), found.parts, expected)
    wrong = next((part for part in parts if part.relation == "different" and not part.foreign), None)
    if wrong is None:
        return Verdict("undecided", step, _open_question(parts), found.parts, expected)
    if not found.sure:
        return Verdict("undecided", step, "the response does not say that this is its answer", found.parts, expected)
    if sorted(map(normalise, found.parts)) == sorted(map(normalise, expected)):
        return Verdict("undecided", step, "the key's answers in another order", found.parts, expected)
    return Verdict("incorrect", wrong.step, wrong.reason, found.parts, expected)


def _open_question(parts: list[Equivalence]) -> str:
    """Say why a response may be right although it was not shown to be."""
    part = next(part for part in parts if part.relation != "equivalent")
    if part.relation == "different":
        return f"the problem may define what the key does not use: {', '.join(part.foreign)}"
    return part.reason


def _ask(step: Step, first: str, second: str, seconds: float) -> Equivalence:
    sandbox = _sandboxes.get(os.getpid())
    if sandbox is None:  # also after a fork, which does not copy the children
        needs("pylatexenc", extra="answers", what="comparing formulas")
        sandbox = _sandboxes.setdefault(os.getpid(), Sandbox("wmbxl.answers.steps", size=os.cpu_count() or 1))
    try:
        found = sandbox.ask({"step": step, "first": first, "second": second}, seconds)
    except Overdue as error:
        return Equivalence("undecided", step, str(error))
    return Equivalence(found["relation"], step, found["reason"], tuple(found["foreign"]))

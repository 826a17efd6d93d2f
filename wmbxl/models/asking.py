"""Many calls: at once as the endpoint allows, none twice, within a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from fsspec.asyn import get_loop

from wmbxl.errors import BudgetSpent, CallFailed, Interrupted, NotRecorded
from wmbxl.models.call import Call, Reply
from wmbxl.models.endpoint import Endpoint
from wmbxl.models.record import Record

Outcome = Reply | CallFailed

GIVE_UP_AFTER = 20  # calls in a row without an answer: the endpoint is down


@dataclass
class Budget:
    """What may be spent; calls answered from a record cost nothing.

    Attributes
    ----------
    calls, tokens : int or None
        Most calls, and most tokens of prompts and answers together; None sets no limit. Tokens are known when an
        answer is there, so calls under way can exceed them.
    calls_spent, tokens_spent : int
        Spent so far. A call counts once, however often it had to be tried.
    """

    calls: int | None = None
    tokens: int | None = None
    calls_spent: int = 0
    tokens_spent: int = 0

    def take(self) -> None:
        """Count a call that is about to be made.

        Raises
        ------
        BudgetSpent
            The budget has no room for it.

        Examples
        --------
        >>> budget = Budget(calls=1)
        >>> budget.take()
        >>> budget.take()
        Traceback (most recent call last):
          ...
        wmbxl.errors.BudgetSpent: not asked: 1 of 1 calls and 0 tokens are spent
        """
        if (self.calls is not None and self.calls_spent >= self.calls) or (
            self.tokens is not None and self.tokens_spent >= self.tokens
        ):
            calls = "" if self.calls is None else f" of {self.calls}"
            tokens = "" if self.tokens is None else f" of {self.tokens}"
            raise BudgetSpent(
                f"not asked: {self.calls_spent}{calls} calls and {self.tokens_spent}{tokens} tokens are spent"
            )
        self.calls_spent += 1


def ask_all(
    calls: Sequence[Call],
    endpoint: Endpoint | None,
    *,
    record: Record | None = None,
    budget: Budget | None = None,
    told: Callable[[Call, Outcome], None] | None = None,
) -> list[Outcome]:
    """Make calls, as many at once as the endpoint allows.

    Works anywhere: in a script, in a notebook, in a thread or a Dask worker.

    Parameters
    ----------
    calls : sequence of Call
        Equal calls are made once and share the reply; give them different `Call.sample` to ask again.
    endpoint : Endpoint or None
        None makes no call: only the record answers.
    record : Record, optional
        Answers calls that it holds. The others are added as soon as their reply is there.
    budget : Budget, optional
        Is counted up.
    told : callable, optional
        Called with each call and its outcome at once, in completion order, from another thread.

    Returns
    -------
    list of Reply or CallFailed
        For each call, in the order given: the reply, or the error that says why there is none.

    Raises
    ------
    EndpointRefuses
        The endpoint accepts no call of this kind. Replies that came before are on record.
    Interrupted
        Many calls in a row had no answer. Replies that came before are on record.
    """
    outcomes: dict[str, Outcome] = {}

    def keep(call: Call, outcome: Outcome) -> None:
        outcomes[call.key] = outcome
        if told:
            told(call, outcome)

    missing = []
    for call in {call.key: call for call in calls}.values():
        if record and (reply := record.get(call)):
            keep(call, reply)
        elif endpoint is None:
            keep(call, NotRecorded(f"not asked: {record.path if record else 'no record'} does not hold this call"))
        else:
            missing.append(call)
    if missing and endpoint:
        _wait_for(_ask(missing, endpoint, record, budget or Budget(), keep))
    return [outcomes[call.key] for call in calls]


def _wait_for(coroutine: Coroutine[None, None, None]) -> None:
    future = asyncio.run_coroutine_threadsafe(coroutine, get_loop())
    try:
        future.result()
    except BaseException:  # Ctrl-C too: nothing may go on asking, and paying, behind the caller's back
        future.cancel()
        raise


async def _ask(
    calls: Sequence[Call],
    endpoint: Endpoint,
    record: Record | None,
    budget: Budget,
    keep: Callable[[Call, Outcome], None],
) -> None:
    connection = endpoint.connect()
    waiting = iter(calls)
    failed_in_a_row = 0

    async def outcome_of(call: Call) -> Outcome:
        try:
            budget.take()
            reply = await connection.ask(call)
        except CallFailed as error:
            return error
        budget.tokens_spent += reply.tokens
        if record:
            record.add(call, reply)
        return reply

    async def work() -> None:
        nonlocal failed_in_a_row
        for call in waiting:  # which the workers share: each call is taken once
            outcome = await outcome_of(call)
            keep(call, outcome)
            unanswered = isinstance(outcome, CallFailed) and not isinstance(outcome, BudgetSpent)
            failed_in_a_row = failed_in_a_row + 1 if unanswered else 0
            if failed_in_a_row >= GIVE_UP_AFTER:
                raise Interrupted(f"{failed_in_a_row} calls in a row had no answer. The last one: {outcome}")

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(endpoint.concurrency, len(calls))):
                group.create_task(work())
    except ExceptionGroup as group_error:
        raise group_error.exceptions[0] from None
    finally:
        await connection.close()

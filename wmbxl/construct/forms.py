"""Forms that a model fills in: an answer has to fit a schema, and one that doesn't goes back with what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from wmbxl.errors import CallFailed
from wmbxl.models.asking import Budget, Outcome, ask_all
from wmbxl.models.call import Call
from wmbxl.models.endpoint import Endpoint
from wmbxl.models.record import Record

REPAIRS = 2

Form = TypeVar("Form", bound=BaseModel)
Messages = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Unfilled:
    """Why there is no form.

    Attributes
    ----------
    reason : str
        ``"call_failed"``, ``"cut_off"``, ``"refused"``, or ``"not_valid"``.
    detail : str
    """

    reason: str
    detail: str


@dataclass(frozen=True)
class Clerk(Generic[Form]):
    """A model that fills in forms of one kind.

    Attributes
    ----------
    form : type of pydantic.BaseModel
        Its JSON schema goes with the request.
    model : str
        Name under which the endpoint serves it.
    endpoint : Endpoint or None
        None makes no call: only the record answers.
    record : Record, optional
    budget : Budget, optional
    max_tokens : int
        Of an answer, at most.
    """

    form: type[Form]
    model: str
    endpoint: Endpoint | None
    record: Record | None = None
    budget: Budget | None = None
    max_tokens: int = 2048

    def fill(self, requests: Sequence[Messages]) -> list[Form | Unfilled]:
        """Ask for a form for each request; send back what doesn't fit, twice at most.

        Parameters
        ----------
        requests : sequence of messages
            Each as in a `Call`.

        Returns
        -------
        list of Form or Unfilled
            In the order given.

        Raises
        ------
        EndpointRefuses, Interrupted
            As for `wmbxl.models.asking.ask_all`.
        """
        found: list[Form | Unfilled] = [Unfilled("not_valid", "")] * len(requests)
        waiting = dict(enumerate(requests))
        for repairs_left in reversed(range(REPAIRS + 1)):
            calls = [self._call(messages) for messages in waiting.values()]
            outcomes = ask_all(calls, self.endpoint, record=self.record, budget=self.budget)
            again: dict[int, Messages] = {}
            for (number, messages), outcome in zip(waiting.items(), outcomes, strict=True):
                found[number] = filled = self._read(outcome)
                if (
                    isinstance(filled, Unfilled)
                    and filled.reason == "not_valid"
                    and not isinstance(outcome, CallFailed)
                ):
                    again[number] = (*messages, *_sent_back(outcome.text, filled.detail))
            waiting = again if repairs_left else {}
        return found

    def _call(self, messages: Messages) -> Call:
        schema = {"name": self.form.__name__, "schema": self.form.model_json_schema()}
        parameters = {
            "temperature": 0,
            "max_tokens": self.max_tokens,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        return Call(self.model, messages, parameters)

    def _read(self, outcome: Outcome) -> Form | Unfilled:
        if isinstance(outcome, CallFailed):
            return Unfilled("call_failed", str(outcome))
        if outcome.refused:
            return Unfilled("refused", outcome.refusal or "a filter before the model refused")
        if outcome.truncated:
            return Unfilled("cut_off", f"after {outcome.completion_tokens} tokens")
        text = outcome.text
        try:  # servers without schemas let models put words around the object
            return self.form.model_validate_json(text[text.find("{") : text.rfind("}") + 1])
        except ValidationError as error:
            issues = (f"{'.'.join(map(str, issue['loc'])) or 'answer'}: {issue['msg']}" for issue in error.errors())
            return Unfilled("not_valid", "; ".join(issues))


def _sent_back(text: str, issues: str) -> Messages:
    return (
        {"role": "assistant", "content": text},
        {
            "role": "user",
            "content": f"This does not fit the schema ({issues}). Answer with the whole JSON object again.",
        },
    )

"""What the verbs that ask models share: options of a benchmark and of an endpoint, and progress."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import click
import orjson
from rich.live import Live
from rich.text import Text

from wmbxl.cli.display import LINE_EVERY, progress_console, say
from wmbxl.cli.options import named, options
from wmbxl.errors import CallFailed, UsageError
from wmbxl.models.asking import Budget, Outcome
from wmbxl.models.call import Call
from wmbxl.models.endpoint import Endpoint
from wmbxl.units import duration

INCOMPLETE = 3  # exit status where calls have no reply

QUESTION_FIELDS = options(
    click.option("--id-field", default="problem_id", show_default=True, help="Field with a problem's id."),
    click.option("--text-field", "text_fields", multiple=True, default=["text"], show_default=True,
                 help="Field with its text; repeat to join several."),
    click.option("--answer-field", default="correct_answer", show_default=True, help="Field with the key."),
    click.option("--type-field", metavar="F", help="Field with the task format.  [default: type, if there is one]"),
)  # fmt: skip
QUESTIONS = options(
    click.option("--benchmark", required=True, metavar="FILE", help="JSONL, Parquet, CSV or a dataset folder."),
    QUESTION_FIELDS,
)
ENDPOINT = options(
    click.option("--base-url", metavar="URL", help="Such as http://127.0.0.1:8080/v1.  [default: OpenAI's own]"),
    click.option("--key-env", default="OPENAI_API_KEY", show_default=True,
                 help="Environment variable with the API key."),
    click.option("--concurrency", default=8, show_default=True, help="Calls under way at once."),
    click.option("--requests-per-minute", type=float, metavar="N", help="Requests sent in a minute, at most."),
    click.option("--timeout", default=600.0, show_default=True,
                 help="Seconds of silence after which a try is given up."),
    click.option("--tries", default=8, show_default=True, help="How often a call is tried, at most."),
    click.option("--budget-calls", type=int, metavar="N", help="Calls made, at most."),
    click.option("--budget-tokens", type=int, metavar="N", help="Tokens spent after which no further call is made."),
    click.option("--price", nargs=2, type=float, metavar="IN OUT",
                 help="Price of a million tokens of prompts, and of answers; progress then shows the cost."),
)  # fmt: skip
PARAMETERS = options(
    click.option("--max-tokens-field", default="max_tokens", show_default=True,
                 help="Name of the budget in requests; some models want max_completion_tokens."),
    click.option("--parameter", "more", multiple=True, metavar="NAME=JSON", callback=named,
                 help="A further parameter of the request; null leaves one out."),
)  # fmt: skip


def question_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `QUESTION_FIELDS`."""
    return {name: given[name] for name in ("id_field", "text_fields", "answer_field", "type_field")}


def endpoint_of(given: Mapping[str, Any]) -> Endpoint:
    """Return the endpoint that `ENDPOINT` describes."""
    names = ("base_url", "key_env", "concurrency", "requests_per_minute", "timeout", "tries")
    return Endpoint(**{name: given[name] for name in names})


def budget_of(given: Mapping[str, Any]) -> Budget:
    """Return the budget that `ENDPOINT` sets."""
    return Budget(given["budget_calls"], given["budget_tokens"])


def parameters_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the further parameters that `PARAMETERS` gives.

    Raises
    ------
    UsageError
        A value is no JSON.
    """
    return {name: _json(name, value) for name, value in given["more"].items()}


def _json(name: str, value: str) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise UsageError(
            f"--parameter {name}: {value!r} is no JSON ({error}): text needs quotes, such as '{name}=\"low\"'"
        ) from error


class Progress:
    """Counts what comes in; a live line on a terminal, a line now and then in a pipe."""

    def __init__(self, total: int, budget: Budget, price: tuple[float, float] | None) -> None:
        self.total, self.budget, self.price = total, budget, price
        self.recorded = self.answered = self.failed = self.judged = self.prompt_tokens = self.completion_tokens = 0
        self.began = self.last_said = time.monotonic()

    def told(self, call: Call, outcome: Outcome) -> None:
        """Count what came of a call; `wmbxl.models.asking.ask_all` calls it."""
        if isinstance(outcome, CallFailed):
            self.failed += 1
        elif self.budget.calls_spent == 0:  # the record answers before any call is made
            self.recorded += 1
        else:
            self.answered += 1
            self.prompt_tokens += outcome.prompt_tokens or 0
            self.completion_tokens += outcome.completion_tokens or 0
        self._say_now_and_then()

    def judge(self, count: int) -> None:
        """Take over how many answers are judged."""
        self.judged = count
        self._say_now_and_then()

    def _say_now_and_then(self) -> None:
        if not progress_console.is_terminal and time.monotonic() - self.last_said > LINE_EVERY:
            self.say()

    def say(self) -> None:
        """Print the line."""
        self.last_said = time.monotonic()
        say(self.line())

    def line(self) -> str:
        """Put into words how far the calls are."""
        done = self.recorded + self.answered + self.failed
        seconds = time.monotonic() - self.began
        parts = [f"{done:,} of {self.total:,} answers"]
        parts += [f"{self.recorded:,} from the record"] * bool(self.recorded)
        parts += [f"{self.failed:,} failed"] * bool(self.failed)
        parts += [f"{self.judged:,} judged"] * bool(self.judged)
        parts.append(f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens")
        if self.price:
            cost = (self.prompt_tokens * self.price[0] + self.completion_tokens * self.price[1]) / 1e6
            parts.append(f"cost {cost:,.2f}")
        left = (self.total - done) * seconds / self.answered if self.answered else 0
        parts.append(f"{duration(left)} left" if done < self.total else duration(seconds))
        return " · ".join(parts)

    def shown(self) -> Any:
        """Return a context in which the line is live, if there is a terminal."""
        if not progress_console.is_terminal:
            return nullcontext()
        return Live(get_renderable=lambda: Text(self.line()), console=progress_console, transient=True)

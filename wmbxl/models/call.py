"""What is asked of a model, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
import xxhash


@dataclass(frozen=True)
class Call:
    """One question to a model, with all that decides the answer.

    Attributes
    ----------
    model : str
        Name under which the endpoint serves it.
    messages : tuple of mapping
        ``{"role": …, "content": …}`` each.
    parameters : mapping
        Sampling parameters and whatever else goes into the request, such as ``temperature``, ``max_tokens``,
        ``response_format``. The endpoint sees them as they are.
    sample : int
        Tells apart calls that are otherwise equal: the second sample is another call than the first.
    """

    model: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0

    @property
    def key(self) -> str:
        """The call's name in a record: a hash of its content, the same on every machine.

        Examples
        --------
        >>> question = ({"role": "user", "content": "1 + 1?"},)
        >>> Call("m", question).key
        '6db8afd9655ca6e6c94315015fc7996e'
        >>> Call("m", question).key == Call("m", question, sample=1).key
        False
        """
        return xxhash.xxh3_128_hexdigest(orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS))


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes
    ----------
    text : str
        The body; may be empty.
    finish_reason : str
        Why it ends, in the endpoint's words: ``"stop"``, ``"length"``, ``"content_filter"``, …
    refusal : str
        The model's refusal, where the endpoint reports it apart from the body.
    reasoning : str
        What the model thought before the body, where the endpoint shows it.
    prompt_tokens, completion_tokens : int or None
        As the endpoint counts them; None if it doesn't.
    latency : float
        Seconds from the request to the last byte, of the try that succeeded.
    tries : int
        How often the endpoint was asked.
    served_by : str
        The model's name in the endpoint's answer.
    fingerprint : str or None
        The endpoint's fingerprint of its own configuration.
    """

    text: str
    finish_reason: str
    refusal: str = ""
    reasoning: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float = 0.0
    tries: int = 1
    served_by: str = ""
    fingerprint: str | None = None

    @property
    def tokens(self) -> int:
        """Tokens of prompt and answer together, as far as they are known."""
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    @property
    def truncated(self) -> bool:
        """Whether the answer ends where its budget ended."""
        return self.finish_reason == "length"

    @property
    def refused(self) -> bool:
        """Whether the model or a filter before it refused to answer."""
        return bool(self.refusal) or self.finish_reason == "content_filter"

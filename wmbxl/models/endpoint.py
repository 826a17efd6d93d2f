"""An endpoint and its limits; one call to it, tried until there is an answer or no hope of one."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import tenacity

from wmbxl.errors import CallFailed, EndpointRefuses, UsageError
from wmbxl.extras import needs
from wmbxl.models.call import Call, Reply
from wmbxl.text import replace_surrogates

LONGEST_WAIT = 300  # seconds; an endpoint that asks for more patience than this gets no further try

_CONNECT_TIMEOUT = 10  # seconds
_NO_KEY = "no-key-is-set"  # the client insists on a key, local servers don't


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint, and how hard it may be used.

    Attributes
    ----------
    base_url : str or None
        Such as ``http://127.0.0.1:8080/v1``; None is OpenAI's own.
    key_env : str
        Environment variable with the API key. A server at a `base_url` may do without.
    concurrency : int
        Calls under way at once.
    requests_per_minute : float or None
        Requests sent in a minute, at most, evenly spaced; None sets no limit.
    timeout : float
        Seconds of silence after which a try is given up. Answers are streamed, so a long one is not silent.
    tries : int
        How often a call is tried, at most.

    Raises
    ------
    UsageError
        A value is out of range, or the address holds a password.
    """

    base_url: str | None = None
    key_env: str = "OPENAI_API_KEY"
    concurrency: int = 8
    requests_per_minute: float | None = None
    timeout: float = 600.0
    tries: int = 8

    def __post_init__(self) -> None:
        for name in ("concurrency", "requests_per_minute", "timeout", "tries"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name}: expected more than 0, found {value}")
        address = urlsplit(self.base_url or "https://api.openai.com/v1")
        if address.scheme not in ("http", "https") or not address.hostname:
            raise UsageError(f"expected an address such as http://127.0.0.1:8080/v1, found {self.base_url!r}")
        if address.password:
            raise UsageError(f"the address of {address.hostname} holds a password: put it into ${self.key_env} instead")

    def connect(self) -> Connection:
        """Return a connection, for use within one event loop.

        Raises
        ------
        UsageError
            The client is not installed, or OpenAI's own endpoint is meant and there is no key.
        """
        openai = needs("openai", extra="models", what="calling a model")
        key = os.environ.get(self.key_env)
        if not key and self.base_url is None:
            raise UsageError(f"there is no API key: set the environment variable {self.key_env}, or name a base URL")
        client = openai.AsyncOpenAI(
            base_url=self.base_url or "https://api.openai.com/v1",
            api_key=key or _NO_KEY,
            max_retries=0,  # tries are counted in one place only: here
            timeout=openai.Timeout(self.timeout, connect=_CONNECT_TIMEOUT),
        )
        return Connection(self, client, openai, key or _NO_KEY)


class _Broken(Exception):
    """The stream ended before the answer did, or is none of an answer."""


class Connection:
    """An endpoint within one event loop; made by `Endpoint.connect`."""

    def __init__(self, endpoint: Endpoint, client: Any, openai: Any, key: str) -> None:
        self._endpoint, self._client, self._openai, self._key = endpoint, client, openai, key
        self._next_request = 0.0

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._client.close()

    async def ask(self, call: Call) -> Reply:
        """Make a call; after a passing fault (429, 5xx, silence, a dropped or garbled stream) try again.

        Raises
        ------
        CallFailed
            No try gave an answer, or the endpoint rejects this one call.
        EndpointRefuses
            It would reject every other call too.
        """
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(self._passing),
            stop=tenacity.stop_after_attempt(self._endpoint.tries),
            wait=_wait,
            reraise=True,
        )
        try:
            reply: Reply = await retrying(self._stream, call)
        except (self._openai.APIError, _Broken) as error:
            raise self._failure(call, error, retrying.statistics["attempt_number"]) from error
        return replace(reply, tries=retrying.statistics["attempt_number"])

    async def _pace(self) -> None:
        if self._endpoint.requests_per_minute:
            now = time.monotonic()
            turn = max(now, self._next_request)
            self._next_request = turn + 60 / self._endpoint.requests_per_minute
            await asyncio.sleep(turn - now)

    async def _stream(self, call: Call) -> Reply:
        await self._pace()
        began = time.perf_counter()
        stream = await self._client.chat.completions.create(
            model=call.model,
            messages=call.messages,
            stream=True,
            stream_options={"include_usage": True},
            extra_body=dict(call.parameters),  # not checked by the client: servers know more parameters than it does
        )
        parts = _Parts()
        try:
            async with stream:
                async for chunk in stream:
                    parts.add(chunk)
        except (ValueError, TypeError, AttributeError) as error:  # no JSON, or JSON of another shape
            raise _Broken(f"the stream is not that of an answer: {error}") from error
        return parts.reply(time.perf_counter() - began)

    def _passing(self, error: BaseException) -> bool:
        """Whether another try may succeed."""
        openai = self._openai
        if isinstance(error, openai.APIStatusError):
            passing = error.status_code in (408, 409, 429) or error.status_code >= 500
            return passing and error.code != "insufficient_quota" and (_retry_after(error) or 0) <= LONGEST_WAIT
        return isinstance(error, (openai.APIError, _Broken))  # an error in a stream, a lost connection, silence

    def _failure(self, call: Call, error: Exception, tries: int) -> CallFailed | EndpointRefuses:
        told = f"{type(error).__name__.lstrip('_')}: {error}".replace(self._key, "…")
        where = self._client.base_url
        status = getattr(error, "status_code", None)
        if status in (401, 403):
            return EndpointRefuses(f"{where} refuses the API key in ${self._endpoint.key_env}: {told}")
        if status == 404:
            return EndpointRefuses(f"{where} knows no such address, or no model {call.model!r}: {told}")
        if getattr(error, "code", None) == "insufficient_quota":
            return EndpointRefuses(f"{where}: the account has no quota left: {told}")
        return CallFailed(f"{told} (tried {tries} time{'s' * (tries > 1)})")


class _Parts:
    """An answer, as its chunks come in."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.refusal: list[str] = []
        self.reasoning: list[str] = []
        self.finish_reason = self.served_by = ""
        self.fingerprint: str | None = None
        self.usage: Any = None

    def add(self, chunk: Any) -> None:
        self.served_by = chunk.model or self.served_by
        self.fingerprint = getattr(chunk, "system_fingerprint", None) or self.fingerprint
        self.usage = chunk.usage or self.usage
        for choice in chunk.choices or ():
            self.finish_reason = choice.finish_reason or self.finish_reason
            delta = choice.delta
            self.text.append(delta.content or "")
            self.refusal.append(delta.refusal or "")
            # No standard names it: DeepSeek, vLLM and llama.cpp have the first, OpenRouter and later vLLM the second.
            self.reasoning.append(getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None) or "")

    def reply(self, latency: float) -> Reply:
        if not self.finish_reason:
            raise _Broken("the stream ended before the answer did")
        return Reply(
            text=replace_surrogates("".join(self.text)),
            finish_reason=self.finish_reason,
            refusal=replace_surrogates("".join(self.refusal)),
            reasoning=replace_surrogates("".join(self.reasoning)),
            prompt_tokens=getattr(self.usage, "prompt_tokens", None),
            completion_tokens=getattr(self.usage, "completion_tokens", None),
            latency=latency,
            served_by=self.served_by,
            fingerprint=self.fingerprint,
        )


_backoff = tenacity.wait_random_exponential(multiplier=1, max=60)  # "full jitter"


def _wait(state: tenacity.RetryCallState) -> float:
    """Wait as long as the endpoint asks for, or else a random time that doubles with every try."""
    error = state.outcome.exception() if state.outcome else None
    asked = _retry_after(error)
    return _backoff(state) if asked is None else asked


def _retry_after(error: BaseException | None) -> float | None:
    """Return the seconds that an endpoint asks to wait for, which it gives as such or as a date."""
    response = getattr(error, "response", None)
    told = None if response is None else response.headers.get("retry-after")
    if told is None:
        return None
    try:
        return max(0.0, float(told))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None

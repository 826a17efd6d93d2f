"""Calls to a scripted server over real HTTP, faults and all."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
import tenacity

from tests.endpoint import FINGERPRINT, Act, Fail, Garbage, HalfStream, Hang, Say, ScriptedServer
from wmbxl.errors import BudgetSpent, CallFailed, EndpointRefuses, Interrupted, NotRecorded, UsageError
from wmbxl.models import endpoint as endpoints
from wmbxl.models.asking import GIVE_UP_AFTER, Budget, ask_all
from wmbxl.models.call import Call, Reply
from wmbxl.models.endpoint import Endpoint
from wmbxl.models.record import Record

pytest.importorskip("openai", reason="needs the extra models: pip install 'wmbxl[models]'")


def call(text: str = "1 + 1?", sample: int = 0, **parameters: object) -> Call:
    return Call("some-model", ({"role": "user", "content": text},), parameters, sample)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, unless the server asks for patience."""
    monkeypatch.setattr(endpoints, "_backoff", tenacity.wait_none())


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def ask_one(server: ScriptedServer, question: Call, **limits: object) -> Reply | CallFailed:
    [outcome] = ask_all([question], Endpoint(server.url, **limits))  # type: ignore[arg-type]
    return outcome


def test_a_reply_holds_what_the_server_says() -> None:
    with ScriptedServer([Say("B.", "length", reasoning="hm", tokens=(7, 3))]) as server:
        reply = ask_one(server, call(temperature=0.5, max_tokens=3, top_k=40))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.truncated) == ("B.", "hm", "length", True)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.tries) == (7, 3, 1)
    assert (reply.served_by, reply.fingerprint) == ("some-model", FINGERPRINT)
    assert reply.latency > 0
    [request] = server.requests
    assert {name: request[name] for name in ("model", "temperature", "max_tokens", "top_k")} == {
        "model": "some-model",
        "temperature": 0.5,
        "max_tokens": 3,
        "top_k": 40,
    }


@pytest.mark.parametrize(
    "fault",
    [
        *[Fail(500), Fail(503), Fail(429), HalfStream(), HalfStream(polite=True)],
        *[
            Garbage(),
            Garbage(b"3"),
            Garbage(b'{"choices": [{"delta": "A"}]}'),
            Garbage(b'{"error": {"message": "oh"}}'),
        ],
    ],
    ids=["500", "503", "429", "half-a-stream", "early-end", "no-json", "a-number", "other-shape", "an-error"],
)
def test_a_passing_fault_is_tried_again(quick: None, fault: Act) -> None:
    with ScriptedServer([fault, fault, Say("done")]) as server:
        reply = ask_one(server, call())
    assert isinstance(reply, Reply)
    assert (reply.text, reply.tries, len(server.requests)) == ("done", 3, 3)


def test_silence_is_not_waited_for_for_ever(quick: None) -> None:
    with ScriptedServer([Hang(300), Say("done")]) as server:
        reply = ask_one(server, call(), timeout=1)
    assert isinstance(reply, Reply)
    assert reply.text == "done"
    assert reply.tries >= 2


def test_the_server_says_how_long_to_wait(quick: None) -> None:
    with ScriptedServer([Fail(429, {"Retry-After": "1"}), Say()]) as server:
        began = time.monotonic()
        ask_one(server, call())
        assert time.monotonic() - began >= 1


@pytest.mark.parametrize("wait", ["86400", formatdate(time.time() + 86400, usegmt=True)], ids=["seconds", "date"])
def test_a_server_that_asks_for_too_much_patience_is_not_asked_again(quick: None, wait: str) -> None:
    with ScriptedServer([Fail(429, {"Retry-After": wait}), Say()]) as server:
        outcome = ask_one(server, call())
    assert isinstance(outcome, CallFailed)
    assert len(server.requests) == 1


def test_a_fault_that_stays_is_an_outcome_and_not_on_record(quick: None, tmp_path: Path) -> None:
    with ScriptedServer(lambda request, _: Fail(500) if "bad" in str(request["messages"]) else Say("fine")) as server:
        record = Record(tmp_path / "calls.jsonl")
        bad, good = ask_all([call("bad"), call("good")], Endpoint(server.url, tries=3), record=record)
    assert isinstance(bad, CallFailed)
    assert "tried 3 times" in str(bad)
    assert isinstance(good, Reply)
    assert record.get(call("bad")) is None
    assert record.get(call("good")) == good


def test_a_call_that_the_server_rejects_is_not_repeated(quick: None) -> None:
    with ScriptedServer([Fail(400, message="the prompt is too long")]) as server:
        outcome = ask_one(server, call())
    assert isinstance(outcome, CallFailed)
    assert "the prompt is too long" in str(outcome)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (Fail(401), r"\$OPENAI_API_KEY"),
        (Fail(404), "no model 'some-model'"),
        (Fail(429, code="insufficient_quota"), "quota"),
    ],
)
def test_an_endpoint_that_would_refuse_every_call_ends_the_run(quick: None, fault: Act, advice: str) -> None:
    with ScriptedServer([fault]) as server, pytest.raises(EndpointRefuses, match=advice):
        ask_all([call(str(k)) for k in range(50)], Endpoint(server.url, concurrency=1))
    assert len(server.requests) == 1


def test_an_endpoint_that_is_down_ends_the_run(quick: None) -> None:
    with ScriptedServer() as server:
        gone = server.url
    with pytest.raises(Interrupted, match=f"{GIVE_UP_AFTER} calls in a row"):
        ask_all([call(str(k)) for k in range(50)], Endpoint(gone, tries=1))


def test_the_key_comes_from_the_environment_and_stays_out_of_files_and_messages(
    quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    with ScriptedServer([Say(), Fail(401, message="Incorrect API key provided: sk-secret")]) as server:
        endpoint = Endpoint(server.url, key_env="MY_KEY")
        ask_all([call()], endpoint, record=Record(tmp_path / "calls.jsonl"))
        with pytest.raises(EndpointRefuses) as refused:
            ask_all([call()], endpoint)
    assert server.requests[0]["headers"]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in (tmp_path / "calls.jsonl").read_text() + str(refused.value) + repr(endpoint)


def test_openai_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        ask_all([call()], Endpoint())


def test_what_is_no_unicode_is_replaced_and_kept(tmp_path: Path) -> None:
    record = Record(tmp_path / "calls.jsonl")
    with ScriptedServer([Say("half \ud835 pair")]) as server:
        [reply] = ask_all([call()], Endpoint(server.url), record=record)
    assert isinstance(reply, Reply)
    assert reply.text == "half \ufffd pair"
    assert Record(tmp_path / "calls.jsonl").get(call()) == reply


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "ftp://host/v1", "http://user:secret@host/v1"])
def test_an_address_is_checked(address: str) -> None:
    with pytest.raises(UsageError) as error:
        Endpoint(address)
    assert "secret" not in str(error.value) or "password" in str(error.value)


def test_calls_go_out_at_once_but_not_more_than_allowed() -> None:
    with ScriptedServer(lambda _, number: Say(delay=0.5 if number < 3 else 0)) as server:
        ask_all([call(str(k)) for k in range(12)], Endpoint(server.url, concurrency=3))
    assert len(server.requests) == 12
    assert server.most_at_once == 3


def test_requests_are_spaced() -> None:
    with ScriptedServer() as server:
        began = time.monotonic()
        ask_all([call(str(k)) for k in range(4)], Endpoint(server.url, requests_per_minute=600))
        assert time.monotonic() - began >= 0.3


def test_equal_calls_are_made_once_and_samples_each(tmp_path: Path) -> None:
    with ScriptedServer(lambda _, number: Say(f"reply {number}")) as server:
        replies = ask_all([call(), call(), call(sample=1)], Endpoint(server.url, concurrency=1))
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["reply 0", "reply 0", "reply 1"]
    assert len(server.requests) == 2


def test_a_budget_in_calls_is_kept() -> None:
    budget = Budget(calls=3)
    with ScriptedServer() as server:
        outcomes = ask_all([call(str(k)) for k in range(9)], Endpoint(server.url), budget=budget)
    assert len(server.requests) == budget.calls_spent == 3
    assert sum(isinstance(outcome, BudgetSpent) for outcome in outcomes) == 6


def test_a_budget_in_tokens_stops_further_calls() -> None:
    budget = Budget(tokens=40)
    with ScriptedServer([Say(tokens=(10, 5))]) as server:
        ask_all([call(str(k)) for k in range(9)], Endpoint(server.url, concurrency=1), budget=budget)
    assert budget.tokens_spent == 45


@pytest.fixture
def python_interrupts() -> Iterator[None]:
    """Have Python's own handler of Ctrl-C; dask_jobqueue puts another one when another test imports it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_interrupts")
def test_an_interrupted_caller_leaves_nobody_asking() -> None:
    def interrupt(*_: object) -> None:
        main = threading.main_thread().ident
        assert main
        signal.pthread_kill(main, signal.SIGINT)  # as Ctrl-C does

    with ScriptedServer([Say(), Say(delay=0.3)]) as server:
        with pytest.raises(KeyboardInterrupt):
            ask_all([call(str(k)) for k in range(20)], Endpoint(server.url, concurrency=1), told=interrupt)
        time.sleep(1)
        assert len(server.requests) <= 2  # the second may have been under way


def test_a_record_replays_without_a_model(tmp_path: Path) -> None:
    with ScriptedServer([Say("recorded")]) as server:
        [reply] = ask_all([call()], Endpoint(server.url), record=Record(tmp_path / "calls.jsonl"))
    replayed, unknown = ask_all([call(), call("another")], None, record=Record(tmp_path / "calls.jsonl"))
    assert replayed == reply
    assert isinstance(unknown, NotRecorded)


_CLIENT = """
import sys
from wmbxl.models.asking import ask_all
from wmbxl.models.call import Call
from wmbxl.models.endpoint import Endpoint
from wmbxl.models.record import Record
calls = [Call("some-model", ({"role": "user", "content": str(k)},)) for k in range(40)]
ask_all(calls, Endpoint(sys.argv[1], concurrency=4), record=Record(sys.argv[2]))
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    enough = threading.Event()

    def script(_: object, number: int) -> Act:
        if number >= 20:
            enough.set()
            return Hang()
        return Say(f"reply {number}")

    with ScriptedServer(script) as server:
        client = subprocess.Popen([sys.executable, "-c", _CLIENT, server.url, str(path)])
        assert enough.wait(60)
        while lines(path) < 20 and client.poll() is None:
            time.sleep(0.01)
        client.kill()
        client.wait()
    before = path.read_bytes()
    path.write_bytes(before + b'{"key": "cut off by the ki')
    with ScriptedServer([Say("later")]) as server:
        calls = [call(str(k)) for k in range(40)]
        outcomes = ask_all(calls, Endpoint(server.url), record=Record(path))
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    answered = {str(k) for k in range(40)} - set(server.prompts())
    assert len(answered) == 20
    assert len(server.requests) == 20
    assert path.read_bytes().startswith(before)
    assert lines(path) == 40

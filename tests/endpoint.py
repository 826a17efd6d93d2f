"""A scripted OpenAI-compatible server over real HTTP, which answers, and makes trouble, as it is told."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FINGERPRINT = "fp_of_the_tests"


@dataclass(frozen=True)
class Say:
    """Answer with a text, streamed in two pieces."""

    text: str = "The answer is A."
    finish_reason: str = "stop"
    refusal: str = ""
    reasoning: str = ""
    tokens: tuple[int, int] | None = (10, 5)
    delay: float = 0.0


@dataclass(frozen=True)
class Fail:
    """Answer with a status and no answer."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "trouble on purpose"
    code: str | None = None


@dataclass(frozen=True)
class Hang:
    """Accept the request and stay silent for so many seconds."""

    seconds: float = 30.0


@dataclass(frozen=True)
class HalfStream:
    """Begin to answer and drop the connection."""

    text: str = "The ans"
    polite: bool = False  # end the body properly, but before the answer ends


@dataclass(frozen=True)
class Garbage:
    """Answer with a stream of something else; by default its data are no JSON."""

    data: bytes = b"{this is no JSON"


Act = Say | Fail | Hang | HalfStream | Garbage
Request = dict[str, Any]


class ScriptedServer:
    """A server on a port of its own.

    Parameters
    ----------
    script : callable or sequence of Act
        What to do with the k-th request: a function of the request (its JSON, with ``headers``, their names in small
        letters) and its number from 0, or the acts in turn, the last of which is repeated.

    Attributes
    ----------
    requests : list of dict
        The JSON of every request so far, with ``headers``, in order of arrival.
    most_at_once : int
        Largest number of requests that were open at the same time.
    """

    def __init__(self, script: Callable[[Request, int], Act] | Sequence[Act] = (Say(),)) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.most_at_once = self._open = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def prompts(self) -> list[str]:
        """Return the last message of every request."""
        return [request["messages"][-1]["content"] for request in self.requests]

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()

    def _act(self, request: Request) -> Act:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            if callable(self.script):
                return self.script(request, number)
            return self.script[min(number, len(self.script) - 1)]

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                gone = contextlib.suppress(BrokenPipeError, ConnectionResetError)  # it lost patience, or was killed
                with server._counted(), gone:
                    self._do(
                        server._act({**body, "headers": {name.lower(): value for name, value in self.headers.items()}}),
                        body,
                    )

            def _do(self, act: Act, body: Request) -> None:
                if isinstance(act, Say):
                    server._stop.wait(act.delay)
                    self._stream([*_chunks(act, body["model"]), b"data: [DONE]\n\n"])
                elif isinstance(act, Fail):
                    self._whole(act.status, {"error": {"message": act.message, "code": act.code}}, act.headers)
                elif isinstance(act, Hang):
                    server._stop.wait(act.seconds)
                    self._cut()
                elif isinstance(act, HalfStream):
                    self._stream(_chunks(Say(act.text), body["model"])[:1], whole=act.polite)
                else:
                    self._stream([b"data: " + act.data + b"\n\n", b"data: [DONE]\n\n"])

            def _whole(self, status: int, content: Any, headers: dict[str, str]) -> None:
                data = json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, pieces: Sequence[bytes], whole: bool = True) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in pieces:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                if whole:
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self._cut()

            def _cut(self) -> None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

        return Handler


def _chunks(say: Say, model: str) -> list[bytes]:
    """Return an answer as the data of a stream: its text in two pieces, its end, its usage."""
    middle = len(say.text) // 2
    deltas: list[dict[str, Any]] = [{"content": say.text[:middle], "role": "assistant"}, {"content": say.text[middle:]}]
    if say.reasoning:
        deltas.insert(0, {"reasoning_content": say.reasoning})
    if say.refusal:
        deltas.append({"refusal": say.refusal})
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": say.finish_reason}])
    common = {"id": "1", "object": "chat.completion.chunk", "created": int(time.time()), "model": model,
              "system_fingerprint": FINGERPRINT}  # fmt: skip
    chunks: list[dict[str, Any]] = [{**common, "choices": choice} for choice in choices]
    if say.tokens:
        prompt, completion = say.tokens
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        chunks.append({**common, "choices": [], "usage": usage})
    return [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]

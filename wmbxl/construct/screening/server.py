"""The web server of the screening page: for one machine, for the people who sit at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from socket import socket
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from wmbxl.answers.exact import boxed
from wmbxl.construct.masks import MASK
from wmbxl.construct.records import Problem
from wmbxl.construct.screening.agreement import Agreement, agreement
from wmbxl.construct.screening.formulas import drawer, formula, with_formulas
from wmbxl.construct.screening.judgements import LEVELS, Judgement, Screening
from wmbxl.construct.screening.settlement import status
from wmbxl.errors import UsageError

ADDRESS = "127.0.0.1"
STATUSES = ("accepted", "revise", "rejected", "disputed", "open")
# Nothing from outside, no script but the page's own, and no other page may hold this one.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

_environment = Environment(
    loader=PackageLoader("wmbxl.construct.screening", "page"), autoescape=True, undefined=StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
_environment.filters |= {"formulas": with_formulas, "formula": formula, "path": lambda text: quote(text, safe="")}


def serve(screening: Screening, port: int, told: Callable[[str], None]) -> None:
    """Serve the page until the process is interrupted.

    Parameters
    ----------
    screening : Screening
    port : int
        0 takes any that is free.
    told : callable
        Gets the page's address when it is there.

    Raises
    ------
    UsageError
        The port is taken, or what draws formulas is not installed.
    """
    drawer()  # say that it is missing now, not on a page
    try:
        sockets = bind_sockets(port, ADDRESS)
    except OSError as error:
        raise UsageError(f"port {port} can't be used ({error}): name another with --port, or 0 for any") from error
    with suppress(KeyboardInterrupt):  # the way to end it
        asyncio.run(_serve(screening, sockets, told))


async def _serve(screening: Screening, sockets: Sequence[socket], told: Callable[[str], None]) -> None:
    port = sockets[0].getsockname()[1]
    server = HTTPServer(application(screening, port))
    server.add_sockets(sockets)
    told(f"http://{ADDRESS}:{port}/")
    await asyncio.Event().wait()


def application(screening: Screening, port: int) -> Application:
    """Return the web application; it answers only to its own address and port."""
    hosts = frozenset(f"{name}:{port}" for name in (ADDRESS, "localhost"))
    shared: dict[str, Any] = {"screening": screening, "hosts": hosts}
    return Application(
        [
            ("/", Overview, shared),
            ("/name", Name, shared),
            ("/problem/(.+)", Item, shared),
            ("/export", Export, shared),
            ("/(page.css|page.js)", Static, shared),
        ],
        # A form that another site sends lacks the token, so nobody clicks in a rater's name.
        xsrf_cookies=True,
        xsrf_cookie_name=f"_xsrf_{port}",
        xsrf_cookie_kwargs={"httponly": True, "samesite": "Strict"},
    )


class Page(RequestHandler):
    """What all pages share."""

    def initialize(self, screening: Screening, hosts: frozenset[str]) -> None:
        """Take what the application hands to every request."""
        self.screening, self.hosts = screening, hosts

    def prepare(self) -> None:
        """Refuse a request that reached this server under a foreign name, as after DNS rebinding."""
        if self.request.host not in self.hosts:
            raise HTTPError(403, reason="This server answers to its own address only")

    def set_default_headers(self) -> None:
        """Tell the browser what the page may do."""
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "same-origin")
        self.set_header("Cache-Control", "no-store")

    @property
    def _cookie(self) -> str:
        return f"rater_{self.request.host.rpartition(':')[2]}"

    @property
    def rater(self) -> str:
        """The name that the person at this browser gave; empty if none."""
        with suppress(ValueError):  # a cookie that this page did not set
            return bytes.fromhex(self.get_cookie(self._cookie) or "").decode()
        return ""

    def show(self, template: str, **facts: Any) -> None:
        """Write a page."""
        self.write(
            _environment.get_template(template).render(
                rater=self.rater,
                token=Markup(self.xsrf_form_html()),
                levels=LEVELS,
                total=len(self.screening.problems),
                **facts,
            )
        )

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Say what is wrong, without a traceback."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{status_code}: {self._reason}\n")


@dataclass(frozen=True)
class Square:
    """A problem on the map of the overview."""

    problem_id: str
    mine: str
    status: str


class Overview(Page):
    """Who has judged how much, what it comes to, and how far they agree."""

    def get(self) -> None:
        """Show it."""
        current = self.screening.current()
        squares = [
            Square(problem_id, _decision(current, problem_id, self.rater), status(current.get(problem_id, {})))
            for problem_id in self.screening.problems
        ]
        raters = sorted({rater for by_rater in current.values() for rater in by_rater})
        self.show(
            "overview.html",
            squares=squares,
            counts={name: sum(square.status == name for square in squares) for name in STATUSES},
            done={rater: sum(rater in by_rater for by_rater in current.values()) for rater in raters},
            measures=_measures(self.screening, len(self.screening.history())),
            next=_next_open(self.screening, current, self.rater),
        )


class Name(Page):
    """The name under which a person judges."""

    def post(self) -> None:
        """Keep it in a cookie, or forget it if it is empty."""
        name = self.get_body_argument("name", "").strip()
        if name:
            self.set_cookie(self._cookie, name.encode().hex(), httponly=True, samesite="Strict", expires_days=90)
        else:
            self.clear_cookie(self._cookie)
        self.redirect("/", status=303)


class Item(Page):
    """One problem beside its source, and the form to judge it."""

    def get(self, problem_id: str) -> None:
        """Show it."""
        self._show(problem_id)

    def post(self, problem_id: str) -> None:
        """Keep a judgement and go on to the next problem."""
        said = {name: self.get_body_argument(name, "") for name in ("level", "decision", "comment")}
        try:
            shown_to = self.get_body_argument("rater", "")
            if shown_to != self.rater:  # the name was changed in another tab
                raise ValueError(f"This page was shown to {shown_to}, and now {self.rater} judges: decide again.")
            level = int(said["level"]) if said["level"].isdecimal() else 0
            self.screening.add(self.rater, problem_id, level, said["decision"], said["comment"])
        except ValueError as error:
            self.set_status(400)
            self._show(problem_id, str(error), said)
        else:
            self.redirect(_next_open(self.screening, self.screening.current(), self.rater, problem_id), status=303)

    def _show(self, problem_id: str, wrong: str = "", said: Mapping[str, str] | None = None) -> None:
        problem = self.screening.problems.get(problem_id)
        if problem is None:
            raise HTTPError(404, reason="No such problem")
        if not self.rater:
            self.redirect("/")
            return
        current = self.screening.current()
        mine = current.get(problem_id, {}).get(self.rater)
        if said is None:
            said = {name: str(getattr(mine, name, "")) for name in ("level", "decision", "comment")}
        order = [*self.screening.problems]
        place = order.index(problem_id)
        self.show(
            "problem.html",
            problem=problem,
            key=_key(problem),
            complete=_complete(problem),
            place=place + 1,
            done=sum(self.rater in by_rater for by_rater in current.values()),
            before=order[place - 1] if place else None,
            after=order[place + 1] if place + 1 < len(order) else None,
            # Others' opinions, a model's too, come after one's own.
            history=[
                each
                for each in self.screening.history()
                if each.problem_id == problem_id and (mine or each.rater == self.rater)
            ],
            tier1=problem.reviews if mine else (),
            said=said,
            wrong=wrong,
        )


class Export(Page):
    """All judgements as JSON lines."""

    def get(self) -> None:
        """Send the file."""
        self.set_header("Content-Type", "application/jsonl; charset=utf-8")
        self.set_header("Content-Disposition", 'attachment; filename="judgements.jsonl"')
        self.write(export(self.screening))


class Static(Page):
    """The style and the script of the page."""

    def get(self, name: str) -> None:
        """Send it."""
        kind = {"css": "text/css", "js": "text/javascript"}[name.rpartition(".")[2]]
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.write(files("wmbxl.construct.screening").joinpath("page", name).read_bytes())


def export(screening: Screening) -> str:
    """Return all judgements, JSON by line, in the order of time; a person's last one on a problem counts."""
    return "".join(f"{each.model_dump_json()}\n" for each in screening.history())


def _decision(current: Mapping[str, Mapping[str, Judgement]], problem_id: str, rater: str) -> str:
    mine = current.get(problem_id, {}).get(rater)
    return mine.decision if mine else ""


def _next_open(
    screening: Screening, current: Mapping[str, Mapping[str, Judgement]], rater: str, behind: str | None = None
) -> str:
    """Return the address of the next problem that a rater has not judged; of the overview if there is none."""
    order = [*screening.problems]
    start = order.index(behind) + 1 if behind else 0
    for problem_id in (*order[start:], *order[:start]):
        if rater not in current.get(problem_id, {}):
            return f"/problem/{quote(problem_id, safe='')}"
    return "/"


@lru_cache(maxsize=1)
def _measures(screening: Screening, judgements: int) -> list[Agreement]:
    """Measure agreement, anew when there is another judgement."""
    return agreement(screening.current())


def _key(problem: Problem) -> list[str]:
    if problem.options:
        return [problem.options[problem.correct_answer]]
    return boxed(problem.correct_answer)


def _complete(problem: Problem) -> str:
    """Return the equation with its blanks filled."""
    parts = problem.equation.split(MASK)
    return parts[0] + "".join(answer + part for answer, part in zip(_key(problem), parts[1:], strict=False))

"""The screening page, driven as an expert would, and what becomes of the judgements."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest
from click.testing import CliRunner
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from tests.construct.problems import make_problem
from wmbxl.cli import main
from wmbxl.construct.records import Problem, Review
from wmbxl.construct.screening.formulas import formula
from wmbxl.construct.screening.judgements import Judgement, Screening, history, on
from wmbxl.construct.screening.server import application, export
from wmbxl.construct.screening.settlement import settle, status
from wmbxl.errors import NothingMatches, RecordsError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = (
    r"$\text{<script>window.hurt = 1</script>}$ $\href{javascript:alert(1)}{x}$ <img src=x onerror='window.hurt = 1'>"
    r" $\color{red' onload='window.hurt = 1}{x}$ $\frac{a$ </pre><script>window.hurt = 1</script> {{ 7 * 7 }}"
)


def write(folder: Path, problems: list[Problem], version: int = 1) -> Path:
    (folder / f"v{version}").mkdir(parents=True)
    lines = "".join(f"{problem.model_dump_json()}\n" for problem in problems)
    (folder / f"v{version}/candidates.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A build with 20 candidates; the third is hostile."""
    problems = [make_problem(number) for number in range(1, 21)]
    span = problems[2].span.model_copy(update={"text": HOSTILE})
    model = Review(problem_id="x", tier=1, rater="model-m", level=4, decision="accept", scores={"rigour": 4})
    problems[2] = make_problem(
        3, background=HOSTILE, question_text=HOSTILE, span=span, paper_title=HOSTILE,
        correct_answer=rf"\boxed{{{HOSTILE}}}",
        reviews=(model,),
    )  # fmt: skip
    return write(tmp_path / "build", problems)


class Served:
    """The page, served from a thread."""

    def __init__(self, screening: Screening) -> None:
        self._ready = threading.Event()
        self._screening = screening
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        sockets = bind_sockets(0, "127.0.0.1")
        self.port = sockets[0].getsockname()[1]
        server = HTTPServer(application(self._screening, self.port))
        server.add_sockets(sockets)
        self._ready.set()
        await self._end.wait()
        server.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {"Content-Type": "application/x-www-form-urlencoded", **headers})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    server = Served(Screening(folder))
    yield server
    server.close()


# ---------------------------------------------------------------- in a browser


def start(page: Page, url: str, name: str) -> None:
    page.goto(url)
    page.fill("#name", name)
    page.keyboard.press("Enter")
    page.wait_for_selector("#start")
    page.click("#start")
    page.wait_for_selector("#judge")
    page.wait_for_load_state()


def press(page: Page, level: int, decision: str) -> None:
    """Judge the problem that is shown, by keyboard."""
    page.keyboard.press(str(level))
    if decision == "revise":
        page.keyboard.press("c")
        page.keyboard.type("say more")
        page.keyboard.press("Escape")
    with page.expect_navigation():
        page.keyboard.press({"accept": "a", "revise": "v", "reject": "r"}[decision])


def test_two_raters_screen_20_problems_by_keyboard(served: Served, folder: Path, browser: Browser) -> None:
    pytest.importorskip("ziamath", reason="formulas are drawn with it: pip install '.[construct]'")
    said = {
        "Ada L.": [(4, "accept")] * 12 + [(1, "reject")] * 6 + [(3, "revise")] * 2,
        "Grace <i>": [(5, "accept")] * 14 + [(2, "reject")] * 6,
    }
    errors: list[str] = []
    for name, clicks in said.items():
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        start(page, served.url, name)
        for number, (level, decision) in enumerate(clicks, start=1):
            assert f"{number} of 20" in page.locator(".bar nav").inner_text()
            press(page, level, decision)
        assert "You have judged them all." in page.inner_text("main")
        if name == "Ada L.":
            assert page.locator("#agreement-decision").count() == 0
        else:
            row = page.inner_text("#agreement-decision tbody tr")
            assert "Ada L., Grace <i>" in row.replace("\t", " ")
            assert "80 %" in row  # 12 accepts and 4 rejections of 20 are the same
            assert "[" in row
            assert page.inner_text(".cards .accepted dd") == "12"
            assert page.inner_text(".cards .disputed dd") == "2"
            with page.expect_download() as download:
                page.click("#export")
            exported = [json.loads(line) for line in download.value.path().read_text().splitlines()]
        context.close()
    assert not errors

    expected = [
        (make_problem(number).problem_id, name, level, decision)
        for name, clicks in said.items()
        for number, (level, decision) in enumerate(clicks, start=1)
    ]
    assert [(each["problem_id"], each["rater"], each["level"], each["decision"]) for each in exported] == expected
    assert [each["comment"] for each in exported if each["decision"] == "revise"] == ["say more"] * 2


def test_hostile_latex_stays_text(served: Served, page: Page) -> None:
    pytest.importorskip("ziamath", reason="formulas are drawn with it: pip install '.[construct]'")
    start(page, served.url, "Ada")
    page.goto(f"{served.url}problem/{quote(make_problem(3).problem_id, safe='')}")
    page.wait_for_selector("#judge")
    assert page.evaluate("window.hurt") is None
    assert "<img src=x onerror='window.hurt = 1'>" in page.inner_text("article")
    assert "{{ 7 * 7 }}" in page.inner_text("article")
    assert page.locator("article script, article a").count() == 0
    sources = page.locator("article img").evaluate_all("pictures => pictures.map(picture => picture.src.slice(0, 19))")
    assert set(sources) == {"data:image/svg+xml;"}
    assert page.locator("code.formula", has_text="frac{a").count() > 0, "what can't be drawn is shown as its source"


def test_a_formula_that_would_take_for_ever_is_shown_as_its_source() -> None:
    pytest.importorskip("ziamath", reason="formulas are drawn with it: pip install '.[construct]'")
    deep = r"\frac{a}{" * 30 + "b" + "}" * 30
    assert formula(deep).startswith("<code")
    assert formula(r"\frac{a}{\sqrt{b}}").startswith("<img")


def test_opinions_of_others_come_after_ones_own(served: Served, folder: Path, page: Page) -> None:
    Screening(folder).add("Grace", make_problem(3).problem_id, 1, "reject", "Her words")
    start(page, served.url, "Ada")
    address = f"{served.url}problem/{quote(make_problem(3).problem_id, safe='')}"
    page.goto(address)
    assert "Her words" not in page.content() and "model-m" not in page.content()
    page.wait_for_load_state()
    press(page, 4, "accept")
    page.goto(address)
    assert "Her words" in page.content() and "model-m" in page.content()
    assert page.locator("button.chosen").inner_text().split()[-1] == "Accept"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_screen(served: Served, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    start(page, served.url, "Ada")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(served.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


# ---------------------------------------------------------------- over HTTP


def test_a_request_under_a_foreign_name_is_refused(served: Served) -> None:
    assert served.ask("GET", "/")[0] == 200
    assert served.ask("GET", "/", Host=f"localhost:{served.port}")[0] == 200
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1:1"):
        assert served.ask("GET", "/export", Host=host)[0] == 403


def test_a_form_of_another_site_is_refused(served: Served, folder: Path) -> None:
    cookie = f"rater_{served.port}={b'Ada'.hex()}"
    path = f"/problem/{quote(make_problem(1).problem_id, safe='')}"
    body = urlencode({"level": 4, "decision": "accept", "comment": ""})
    assert served.ask("POST", path, body, Cookie=cookie)[0] == 403
    assert served.ask("POST", "/name", "name=Eve")[0] == 403
    assert not (folder / "screening").exists()


def test_the_policy_allows_no_foreign_script_and_no_frame(served: Served) -> None:
    _, headers, _ = served.ask("GET", "/")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "script-src 'self';" in policy


def test_a_tab_of_another_person_judges_for_nobody(served: Served, folder: Path, browser: Browser) -> None:
    """Both tabs share the cookie, so the click in the old one would count as the new person's."""
    context = browser.new_context()
    page, other = context.new_page(), context.new_page()
    start(page, served.url, "Ada")
    other.goto(served.url)
    other.click(".who button")
    start(other, served.url, "Grace")
    press(page, 4, "accept")
    assert "shown to Ada, and now Grace judges" in page.inner_text("[role=alert]")
    context.close()
    assert not (folder / "screening").exists()


def test_a_cookie_of_something_else_is_no_name(served: Served) -> None:
    assert served.ask("GET", "/", Cookie=f"rater_{served.port}=no-hex")[0] == 200


def test_what_is_not_there(served: Served) -> None:
    cookie = f"rater_{served.port}={b'Ada'.hex()}"
    assert served.ask("GET", "/problem/none", Cookie=cookie)[0] == 404
    assert served.ask("GET", "/../secrets")[0] == 404


# ---------------------------------------------------------------- judgements


def test_judgements_are_appended_and_the_last_one_counts(folder: Path) -> None:
    screening, colleague = Screening(folder), Screening(folder)
    one = make_problem(1).problem_id
    screening.add("Ada", one, 4, "accept", "")
    colleague.add("Grace", one, 1, "reject", "wrong")
    screening.add("Ada", one, 3, "revise", "units")
    assert [(each.rater, each.decision) for each in screening.history()] == [
        ("Ada", "accept"), ("Grace", "reject"), ("Ada", "revise"),
    ]  # fmt: skip
    assert screening.history() == colleague.history()
    assert {rater: each.decision for rater, each in screening.current()[one].items()} == {
        "Ada": "revise",
        "Grace": "reject",
    }
    assert [Judgement.model_validate_json(line) for line in export(screening).splitlines()] == screening.history()


def test_a_line_that_was_cut_off_is_dropped_by_the_next_click(folder: Path) -> None:
    screening = Screening(folder)
    screening.add("Ada", make_problem(1).problem_id, 4, "accept", "")
    [file] = (folder / "screening").iterdir()
    file.write_bytes(file.read_bytes() + b'{"problem_id": "24')
    assert len(screening.history()) == 1  # the page is there, so that there can be a next click
    screening.add("Ada", make_problem(2).problem_id, 4, "accept", "")
    assert [each.problem_id for each in screening.history()] == [make_problem(n).problem_id for n in (1, 2)]


@pytest.mark.parametrize(
    ("rater", "level", "decision", "comment", "told"),
    [
        ("", 4, "accept", "", "Give a name"),
        ("a\nb", 4, "accept", "", "Give a name"),
        ("Ada", 0, "accept", "", "Choose a level"),
        ("Ada", 2, "accept", "", "can't be accepted"),
        ("Ada", 3, "revise", " ", "Say in the comment"),
        ("Ada", 3, "burn", "", "Choose to accept"),
    ],
)
def test_a_judgement_that_makes_no_sense_is_told(
    folder: Path, rater: str, level: int, decision: str, comment: str, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        Screening(folder).add(rater, make_problem(1).problem_id, level, decision, comment)
    assert not (folder / "screening").exists()


def test_a_name_is_no_path(folder: Path) -> None:
    Screening(folder).add("../../etc/x", make_problem(1).problem_id, 4, "accept", "")
    assert [path.parent.name for path in folder.parent.rglob("*etc*")] == ["screening"]


def test_judgements_hold_for_the_next_version(folder: Path) -> None:
    Screening(folder).add("Ada", make_problem(1).problem_id, 4, "accept", "")
    write(folder, [make_problem(1), make_problem(30)], version=2)
    later = Screening(folder)
    assert [*later.problems] == [make_problem(1).problem_id, make_problem(30).problem_id]
    assert len(later.history()) == 1


def test_judgements_do_not_hold_for_other_words_under_the_same_id(folder: Path) -> None:
    """Another seed blanks other parts; nobody has accepted these."""
    before = make_problem(1)
    Screening(folder).add("Ada", before.problem_id, 4, "accept", "")
    after = make_problem(1, equation="$$y = a_1 [MASK] + b$$", correct_answer=r"\boxed{x}")
    assert after.problem_id == before.problem_id
    write(folder, [after], version=2)
    assert Screening(folder).current() == {}
    assert [len(on([problem], history(folder))) for problem in (before, after)] == [1, 0]


def test_a_folder_without_candidates_and_bad_lines_are_told(tmp_path: Path) -> None:
    with pytest.raises(NothingMatches, match="give the folder that wmbxl build writes to"):
        Screening(tmp_path)
    write(tmp_path, [make_problem(1)])
    (tmp_path / "v1/candidates.jsonl").write_text("{}\nno\n")
    with pytest.raises(RecordsError, match="line 1: expected a problem"):
        Screening(tmp_path)


def judgement(rater: str, decision: str) -> Judgement:
    return Judgement.model_validate(
        {
            "problem_id": make_problem(1).problem_id, "tier": 2, "rater": rater, "level": 3, "decision": decision,
            "shown_sha256": make_problem(1).shown_sha256, "time": "2026-01-01T00:00:00Z",
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ([], "open"),
        (["accept"], "accepted"),
        (["accept", "accept"], "accepted"),
        (["accept", "reject"], "disputed"),
        (["accept", "revise"], "disputed"),
        (["revise"], "revise"),
        (["revise", "reject"], "rejected"),
    ],
)
def test_status(decisions: list[str], expected: str) -> None:
    assert status({str(k): judgement(str(k), decision) for k, decision in enumerate(decisions)}) == expected


def test_nothing_is_released_without_a_persons_accept_unless_the_config_says_so() -> None:
    accepted, objected, opened, doubted = (make_problem(number) for number in (1, 2, 3, 4))
    by_model = Review(problem_id=doubted.problem_id, tier=1, rater="m", level=2, decision="revise")
    doubted = doubted.model_copy(update={"reviews": (by_model,)})
    current = {
        accepted.problem_id: {"Ada": judgement("Ada", "accept")},
        objected.problem_id: {"Ada": judgement("Ada", "reject")},
    }
    problems = [accepted, objected, opened, doubted]
    released, dropped = settle(problems, current)
    assert [(each.problem_id, each.accepted_by, len(each.reviews)) for each in released] == [
        (accepted.problem_id, "expert", 1)
    ]
    assert [drop.reason for drop in dropped] == ["rejected", "not_screened", "not_screened"]
    released, dropped = settle(problems, current, release_unscreened=True)
    assert [each.accepted_by for each in released] == ["expert", "config"]
    assert [drop.item for drop in dropped] == [objected.problem_id, doubted.problem_id]


# ---------------------------------------------------------------- the verb


def test_the_verb_exports_and_tells_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    Screening(folder).add("Ada", make_problem(1).problem_id, 4, "accept", "")
    file = tmp_path / "judgements.jsonl"
    assert CliRunner().invoke(main, ["screen", str(folder), "--export", str(file)]).exit_code == 0
    assert file.read_text(encoding="utf-8") == export(Screening(folder))
    assert CliRunner().invoke(main, ["screen", str(tmp_path)]).exit_code == 2


def test_a_port_that_is_taken_is_told(served: Served, folder: Path) -> None:
    told = CliRunner().invoke(main, ["screen", str(folder), "--port", str(served.port)])
    assert told.exit_code == 2
    assert "name another with --port" in told.output

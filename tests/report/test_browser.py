"""The report in a real browser, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import wmbxl
from tests.report.conftest import COMBINED, LATEX, PROBLEMS, RTL, STAMP, TAG
from wmbxl.recheck import recheck
from wmbxl.report.page import write_report

Opener = Callable[..., Any]
HOSTILE = PROBLEMS[3]["problem_id"]


def row(page: Any, problem: str, channel: str = "prompt") -> Any:
    """Return the part of the table that belongs to a problem."""
    bodies = page.locator("#problems > tbody")
    for i in range(bodies.count()):
        cells = bodies.nth(i).locator("tr").first
        if cells.locator("th bdi").inner_text() == problem and channel in cells.locator("td").first.inner_text():
            return bodies.nth(i)
    raise AssertionError(f"{problem} is not in the table")


def open_problem(page: Any, problem: str, channel: str = "prompt") -> Any:
    body = row(page, problem, channel)
    body.locator("tr").first.locator("th button").click()
    return body.locator(".detail")


def ids(page: Any) -> list[str]:
    return page.locator("#problems > tbody:visible > tr:first-child th bdi").all_inner_texts()


def marked(place: Any) -> str:
    return "".join(place.locator("mark").all_text_contents())


def test_a_problem_opens_beside_its_passages(open_page: Opener, report: str) -> None:
    detail = open_problem(open_page(report), "latex")
    assert detail.locator(".source .text").text_content() == LATEX
    assert marked(detail.locator(".source")) == LATEX
    first = detail.locator(".passage").first
    assert marked(first.locator(".text")) in (LATEX, LATEX.upper())
    assert "tokens" in first.inner_text() and "web: doc-" in first.inner_text() and "row " in first.inner_text()


def test_texts_stay_texts(open_page: Opener, report: str) -> None:
    page = open_page(report)
    detail = open_problem(page, HOSTILE)
    assert detail.locator(".source .text").text_content() == PROBLEMS[3]["text"]
    passage = detail.locator(".passage .text").first
    assert f"{TAG}</script><script>alert(1)</script><!-- {PROBLEMS[3]['text']}" in passage.text_content()
    assert marked(passage) == PROBLEMS[3]["text"]
    assert page.locator("main script, main img").count() == 0
    assert page.title() == "Audit of problems.jsonl"


@pytest.mark.parametrize(("problem", "text"), [("rtl", RTL), ("combined", COMBINED)])
def test_every_script_is_marked_where_it_matches(open_page: Opener, report: str, problem: str, text: str) -> None:
    detail = open_problem(open_page(report), problem)
    assert marked(detail.locator(".source")) == text
    assert marked(detail.locator(".passage").first.locator(".text")) == text
    direction = detail.locator(".source .text").evaluate("place => getComputedStyle(place).direction")
    assert direction == ("rtl" if problem == "rtl" else "ltr")


def test_search_and_sort(open_page: Opener, report: str) -> None:
    page = open_page(report)
    everything = ids(page)
    assert len(everything) == page.locator("#problems > tbody").count() == 8
    page.get_by_label("Search").fill("WITH two")
    assert ids(page) == ["stamp-2"]
    assert page.locator("#shown").inner_text() == "1 shown"
    page.get_by_label("Search").fill("doc-3<script>")  # a document
    assert ids(page) == [HOSTILE]
    page.get_by_label("Search").fill("no such thing")
    assert page.locator("#none").is_visible()
    page.get_by_label("Search").fill("")
    longest = page.get_by_role("button", name="longest")
    values = page.locator("#problems > tbody > tr:first-child td:nth-last-child(2)")
    for direction, reverse in (("descending", True), ("ascending", False)):
        longest.click()
        found = [int(value) for value in values.evaluate_all("cells => cells.map(cell => cell.dataset.value)")]
        assert found == sorted(found, reverse=reverse)
        assert page.locator("th", has=longest).get_attribute("aria-sort") == direction
    page.get_by_role("button", name="problem", exact=True).click()
    assert ids(page) == sorted(ids(page), key=str.lower)
    assert sorted(ids(page)) == sorted(everything)


def test_keys_are_enough(open_page: Opener, report: str) -> None:
    page = open_page(report)
    page.get_by_label("Search").focus()
    page.keyboard.type("combined")
    page.locator("#problems thead th").last.locator("button").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".detail").is_visible()
    assert page.locator("#problems > tbody th button[aria-expanded=true] bdi").inner_text() == "combined"
    page.keyboard.press("Enter")
    assert page.locator(".detail").count() == 0


def test_a_passage_shows_its_part_of_the_problem(open_page: Opener, make_audit: Callable[..., wmbxl.Audit]) -> None:
    head, tail = "one two three four five six seven eight nine", "a b c d e f g h i"
    problems = [{"problem_id": "p", "text": f"{head} between {tail}", "answer": ""}] * 1
    made = make_audit([f"x {head} x", f"y {tail} y {tail} y"], [*problems, {**PROBLEMS[-1]}])
    page = open_page(write_report(made, n=8))
    detail = open_problem(page, "p")
    for i, part in enumerate((head, tail, tail)):
        detail.locator(".passage header button").nth(i).click()
        assert "".join(detail.locator(".source mark.current").all_text_contents()) == part
        assert marked(detail.locator(".source")) == head + tail
        assert marked(detail.locator(".passage").nth(i).locator(".text")) == part


def test_the_evidence_shown_is_that_of_the_file(open_page: Opener, hostile: wmbxl.Audit, report: str) -> None:
    page = open_page(report)
    page.get_by_role("button", name="Open all shown").click()
    for button in page.locator(".more").all():
        button.click()
    shown = []
    for body in page.locator("#problems > tbody").all():
        problem = body.locator("tr").first.locator("th bdi").inner_text()
        for passage in body.locator(".passage").all():
            corpus, _, document = passage.locator("bdi").inner_text().partition(": ")
            for cells in passage.locator("tr.match").all():
                start, end, key, _ = cells.locator("td").all_text_contents()
                shown.append((problem, corpus, document, int(start), int(end), int(key)))
    evidence = hostile.evidence[hostile.evidence["n"] == 8]
    wanted = [
        (r["problem_id"], r["corpus"], f"row {r['row']}" if pd.isna(r["document_id"]) else r["document_id"], r["start"],
         r["end"], r["xxh64"])
        for r in evidence.to_dict("records")
    ]  # fmt: skip
    assert sorted(shown) == sorted(wanted)
    outcome = recheck(hostile)
    assert outcome.confirmed == len(hostile.evidence) and not outcome.failures


def test_templates_are_told(open_page: Opener, report: str) -> None:
    page = open_page(report)
    assert "1 other" in row(page, "stamp-1").inner_text()
    detail = open_problem(page, "stamp-1")
    assert "also in 1 other problem" in detail.inner_text()
    assert marked(detail.locator(".passage .text").first) == STAMP.removesuffix(
        " bits"
    )  # in the problem a comma follows


def test_a_figure_that_fails_leaves_the_others(browser: Any, report: str, tmp_path: Any) -> None:
    page = browser.new_page()
    text = Path(report).read_text(encoding="utf-8")
    figures = text.index('id="figures">')
    broken = text[:figures] + text[figures:].replace('"MCQ"', '"$$x$$"'.replace("$$", "$\u200b$"))
    (tmp_path / "report.html").write_text(broken, encoding="utf-8")
    page.goto(f"file://{tmp_path}/report.html")
    page.wait_for_selector("html[data-drawn]")
    assert "can't be drawn" in page.locator("#format-plot").inner_text()
    assert page.locator(".plot .bk-Figure").count() == page.locator(".plot").count() - 1 > 3
    page.close()


def test_dark_and_light(open_page: Opener, report: str) -> None:
    page = open_page(report, color_scheme="dark")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.get_by_role("button", name="Light").click()
    page.wait_for_selector("html[data-drawn=light]")
    assert page.locator(".plot").count() == page.locator(".plot .bk-Figure").count() > 4


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(open_page: Opener, report: str, width: int) -> None:
    page = open_page(report, viewport={"width": width, "height": 900})
    page.get_by_role("button", name="Open all shown").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_an_incomplete_audit_says_so_first(open_page: Opener, incomplete: wmbxl.Audit) -> None:
    page = open_page(write_report(incomplete, n=8))
    assert page.locator("body").inner_text().splitlines()[0].startswith("Incomplete: part of a corpus was not read")
    assert page.title() == "Incomplete audit of problems.jsonl"
    assert "Undecided" in page.locator(".cards").inner_text()
    assert "1 records that are not JSON" in page.locator(".gaps").inner_text()


def test_verdicts(open_page: Opener, hostile: wmbxl.Audit, tmp_path: Any) -> None:
    from click.testing import CliRunner

    from wmbxl.cli import main

    verdicts = [
        {"model": model, "problem_id": problem["problem_id"], "is_correct": (i + k) % 3 > 0}
        for k, model in enumerate(("one", f"$$two$${TAG}"))
        for i, problem in enumerate(PROBLEMS)
    ]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(verdict) + "\n" for verdict in verdicts))
    done = CliRunner().invoke(
        main, ["report", hostile.folder.url, "-n", "8", "--verdicts", str(path), "-B", "200"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    page = open_page(done.output.strip())
    section = page.locator("section", has=page.locator("#matters"))
    assert section.locator(".plot .bk-Figure").count() == 4
    section.locator("summary", has_text="Numbers").first.click()
    numbers = section.locator("table").first.inner_text()
    assert "S0-n8-prompt" in numbers and f"$$two$${TAG}" in numbers

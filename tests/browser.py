"""A real browser for tests of pages: Debian's Chromium, driven by Playwright. Without it these tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser, without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no page was looked at: Playwright is missing (pip install playwright)"
    )
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no page was looked at: Chromium is missing (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])  # root needs it
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """An empty page; an error in its console, or one that no script catches, fails the test."""
    errors: list[str] = []
    opened = chromium.new_page(viewport={"width": 1280, "height": 900})
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    assert errors == []

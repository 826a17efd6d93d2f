"""A real browser for tests of pages: Debian's Chromium, driven by Playwright. Without it these tests are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium, for one module: while it is open, Playwright's loop runs in this thread and no other can."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser: pip install playwright")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no browser: apt-get install chromium, or name one in CHROMIUM")
    with playwright.sync_playwright() as driver:
        # Chromium's sandbox does not work for root, which CI is.
        launched = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page; an error in its console, or one that no script catches, fails the test."""
    errors: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    assert not errors, errors

"""Takes the pictures of the report that README and docs show, with headless Chromium.

    python docs/screenshots/report.py

It runs the demo, invents verdicts of four models for it (they mean nothing), shortens local paths to the files' names,
and writes docs/images/report-*.png.
Needs Playwright (pip install --group test) and Chromium (apt-get install chromium).
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from wmbxl import Audit

IMAGES = Path(__file__).parents[1] / "images"
MODELS = {"model-a": 0.80, "model-b": 0.70, "model-c": 0.60, "model-d": 0.45}
# name: width, height, colour scheme, what is at the top
PICTURES = {
    "report": (1280, 1000, "light", None),
    "report-evidence": (1280, 900, "light", "flagged"),
    "report-verdicts": (1280, 820, "dark", "matters"),
    "report-390": (390, 844, "light", None),
    "report-evidence-390": (390, 844, "light", "flagged"),
}


def run(*arguments: str) -> None:
    """Run wmbxl."""
    subprocess.run([sys.executable, "-m", "wmbxl", *arguments], check=True, stdout=subprocess.DEVNULL)


def invent_verdicts(audit: Audit, path: Path) -> None:
    """Write verdicts that are right more often on flagged problems."""
    chooser = random.Random(0)
    clean = set(audit.view("S0", 13, "prompt").ids)
    rows = [
        {"model": model, "problem_id": id, "is_correct": chooser.random() < skill + 0.1 * (id not in clean)}
        for model, skill in MODELS.items()
        for id in audit.metadata["problem_id"].unique()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def take(browser: Any, page_url: str) -> None:
    """Take every picture."""
    for name, (width, height, scheme, section) in PICTURES.items():
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.goto(page_url)
        page.wait_for_selector("html[data-drawn]")
        if section == "flagged":
            page.locator("#problems > tbody th button").first.click()
        page.locator(".where").evaluate_all(
            "places => places.forEach(p => p.textContent = p.textContent.split('/').pop())"
        )
        if section:
            page.evaluate("id => document.getElementById(id).scrollIntoView()", section)
        page.wait_for_timeout(300)  # for the last frame of the figures
        page.screenshot(path=IMAGES / f"{name}.png")
        page.close()


def main() -> None:
    """Run the demo and take the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        audit, verdicts = f"{folder}/demo-audit", Path(folder) / "verdicts.jsonl"
        run("demo", "--out", audit)
        invent_verdicts(Audit.open(audit), verdicts)
        run("report", audit, "--verdicts", str(verdicts))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take(browser, f"file://{audit}/report.html")
        browser.close()


if __name__ == "__main__":
    main()

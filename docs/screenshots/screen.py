"""Takes the pictures of the screening page that the docs show, with headless Chromium.

    python docs/screenshots/screen.py

It makes problems from a few equations (needs pip install '.[construct]'), has two experts judge them, and writes
docs/images/screen*.png. Needs Playwright (pip install --group test) and Chromium (apt-get install chromium).
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from wmbxl.construct.records import Extraction, Paper, Problem, Review, SourceSpan
from wmbxl.construct.screening.judgements import Screening
from wmbxl.construct.tasks import make_problems

IMAGES = Path(__file__).parents[1] / "images"
BACKGROUND = (
    r"A base station with $N$ antennas serves user $k$ over the channel $\mathbf{h}_k \in \mathbb{C}^{N \times 1}$ "
    r"with the precoder $\mathbf{w}_k \in \mathbb{C}^{N \times 1}$. The symbol $s_k$ has unit power, $P_k$ is the "
    r"transmit power (in watts), and $n_k \sim \mathcal{CN}(0, \sigma^2)$ is noise of power $\sigma^2$ (in watts)."
)
EQUATIONS = (
    r"y_k = \sqrt{P_k} \mathbf{h}_k^{H} \mathbf{w}_k s_k + n_k",
    r"\gamma_k = \frac{P_k g_k}{I_k + \sigma^2}",
    r"R_k = B \log_2 \left( 1 + \frac{P_k g_k}{\sigma^2} \right)",
    r"E_k = \frac{P_k + P_c}{B R_k}",
)
# name: width, height, address
PICTURES = {"screen": (1280, 900, "problem"), "screen-390": (390, 844, "problem"), "screen-overview": (1280, 900, "")}


def make() -> list[Problem]:
    """Make the problems of the equations."""
    paper = Paper(
        paper_id="2401.00001v1", source="", sha256="", title="A made paper on downlink precoding", license="CC-BY-4.0"
    )
    made: list[Problem] = []
    for number, equation in enumerate(EQUATIONS, start=1):
        source = f"\\begin{{equation}}\\label{{eq:{number}}}\n  {equation},\n\\end{{equation}}"
        extraction = Extraction(
            equation_id=f"{paper.paper_id}#{number}", paper_id=paper.paper_id, kind="equation", background=BACKGROUND,
            variables=(), equation=equation,
            span=SourceSpan(file="main.tex", start=4_210, end=4_210 + len(source), text=source),
        )  # fmt: skip
        made += make_problems(extraction, paper, ["MCQ", "fill_blank_25", "fill_blank_75", "fill_blank_100"], seed=1)[0]
    review = Review(problem_id="", tier=1, rater="a model", level=4, decision="accept")
    return [
        each.model_copy(update={"reviews": (review.model_copy(update={"problem_id": each.problem_id}),)})
        for each in made
    ]


def judge(folder: str) -> None:
    """Have two experts judge nearly all of them; the decisions mean nothing."""
    chooser = random.Random(1)
    screening = Screening(folder)
    for problem_id in [*screening.problems][:-2]:
        level = chooser.choice((1, 3, 4, 4, 5))
        for rater in ("Ada", "Grace"):
            seen = chooser.choice((level, level, level, 4))
            screening.add(rater, problem_id, seen, "accept" if seen > 2 else "reject", "")


def take(browser: Any, url: str, problem_id: str) -> None:
    """Take every picture."""
    for name, (width, height, page_name) in PICTURES.items():
        page = browser.new_context(viewport={"width": width, "height": height}).new_page()
        page.goto(url)
        page.fill("#name", "Ada")
        page.keyboard.press("Enter")
        page.wait_for_selector(".map")
        if page_name:
            page.click(f".map a[title^='{problem_id}']")
            page.wait_for_selector("#judge")
        page.screenshot(path=IMAGES / f"{name}.png")
        page.close()


def main() -> None:
    """Make a build's folder, serve it, and take the pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        problems = make()
        (Path(folder) / "v1").mkdir()
        lines = "".join(f"{problem.model_dump_json()}\n" for problem in problems)
        (Path(folder) / "v1/candidates.jsonl").write_text(lines, encoding="utf-8")
        judge(folder)
        served = subprocess.Popen(
            [sys.executable, "-m", "wmbxl", "screen", folder, "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert served.stdout
            url = served.stdout.readline().split()[-1]
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            take(browser, url, problems[0].problem_id)
            browser.close()
        finally:
            served.terminate()
            served.wait()


if __name__ == "__main__":
    main()

"""Size of the report, and how long it takes to write and to open.

    python benchmarks/report.py [--quick] [--json FILE]

The audit is made: 4,027 problems of 60 tokens, of which 200 stand in the corpus, each in 20 documents that share a run
of 13 to 40 tokens with it. So the page holds 4,000 passages. It is opened in headless Chromium, if there is one and
Playwright is installed, from a file and with an empty cache; the time is that until all figures are drawn, the median
of five.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import orjson
from distributed import Client

import wmbxl
from wmbxl.report.page import write_report

OPENED = 5


def make_audit(folder: Path, client: Client, problems: int, flagged: int, documents: int) -> wmbxl.Audit:
    """Audit made problems, the first `flagged` of which share a run with so many documents each."""
    chooser = random.Random(0)
    vocabulary = [f"w{chooser.getrandbits(24):x}" for _ in range(3000)]

    def text(words: int) -> list[str]:
        return [f"\\mathbf{{{w}}}" if chooser.random() < 0.1 else w for w in chooser.choices(vocabulary, k=words)]

    surfaces = {f"problem-{i:05}": text(60) for i in range(problems)}
    lines = []
    for id in list(surfaces)[:flagged]:
        for i in range(documents):
            start, length = chooser.randrange(20), chooser.choice((13, 13, 20, 40))
            words = [*text(100), *surfaces[id][start : start + length], *text(100)]
            lines.append(orjson.dumps({"text": " ".join(words), "id": f"{id}/{i}"}))
    (folder / "corpus.jsonl").write_bytes(b"\n".join(lines))
    records = [{"problem_id": id, "text": " ".join(words), "type": "MCQ"} for id, words in surfaces.items()]
    (folder / "problems.jsonl").write_bytes(b"\n".join(orjson.dumps(record) for record in records))
    bench = wmbxl.read_benchmark(str(folder / "problems.jsonl"))
    corpus = wmbxl.Corpus("made", str(folder / "corpus.jsonl"), id_field="id")
    return wmbxl.audit(bench, [corpus], str(folder / "audit"), ns=(13,), client=client)


def seconds_to_open(path: str) -> float | None:
    """Return the seconds until the page is drawn, or None without a browser."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(OPENED):
            page = browser.new_context().new_page()
            began = time.perf_counter()
            page.goto(f"file://{path}")
            page.wait_for_selector("html[data-drawn]")
            taken.append(time.perf_counter() - began)
            page.close()
        browser.close()
    return statistics.median(taken)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny audit")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    options = parser.parse_args()
    size = (40, 4, 3) if options.quick else (4027, 200, 20)
    with tempfile.TemporaryDirectory() as folder, Client(processes=False, dashboard_address=None) as client:
        audit = make_audit(Path(folder), client, *size)
        began = time.perf_counter()
        path = write_report(audit)
        found = {
            "evidence_rows": len(audit.evidence),
            "megabytes": Path(path).stat().st_size / 1e6,
            "seconds_to_write": time.perf_counter() - began,
            "seconds_to_open": seconds_to_open(path),
        }
    for name, value in found.items():
        print(f"{name:>18}  {value if value is None or isinstance(value, int) else round(value, 2)}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

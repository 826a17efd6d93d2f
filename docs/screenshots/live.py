"""Take the screenshots of the live page.

    python docs/screenshots/live.py

They are taken in Debian's Chromium by Playwright (`apt-get install chromium`, `pip install playwright`) while an audit
of the demo's problems runs, and after its end. The corpora are the demo's documents, many times over, and one file that
is cut off.
"""

from __future__ import annotations

import gzip
import shutil
import threading
from pathlib import Path

import fsspec
from distributed import Client, LocalCluster
from playwright.sync_api import Browser, expect, sync_playwright

import wmbxl
from wmbxl.demo import demo_benchmark, demo_corpus
from wmbxl.watch import Watch

IMAGES = Path(__file__).parents[1] / "images"
SHARDS, COPIES = 48, 150
WIDTHS = (1280, 390)


def make_benchmark() -> wmbxl.Benchmark:
    """Put the demo's problems into memory, so that no path of this machine shows."""
    fsspec.filesystem("memory").pipe("/problems.jsonl", Path(demo_benchmark().source).read_bytes())
    return wmbxl.read_benchmark("memory://problems.jsonl", text_fields=["background", "question_text", "equation"])


def make_corpora() -> list[wmbxl.Corpus]:
    """Put two corpora into memory, one of them with a file that is cut off."""
    memory = fsspec.filesystem("memory")
    plain = next(Path(shard.url) for shard in demo_corpus().listing.shards if shard.url.endswith(".jsonl"))
    content = gzip.compress(plain.read_bytes()) * COPIES  # members of one gzip file
    for number in range(SHARDS):
        memory.pipe(f"/arxiv/part-{number:03}.jsonl.gz", content)
    memory.pipe("/arxiv/part-020.jsonl.gz", content[: len(content) // 2 + 1000])
    for number in range(SHARDS // 4):
        memory.pipe(f"/encyclopedia/part-{number:03}.jsonl.gz", content)
    return [
        wmbxl.Corpus("arxiv", "memory://arxiv/*.gz"),
        wmbxl.Corpus("encyclopedia", "memory://encyclopedia/*.gz", role="control"),
    ]


def take(browser: Browser, link: str, name: str) -> None:
    """Take the page at each width."""
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(link)
        expect(page.get_by_role("heading", name="Corpora")).to_be_visible()
        page.wait_for_timeout(1500)  # until the plots are drawn
        page.screenshot(path=IMAGES / f"{name}-{width}.png", full_page=True)
        page.close()


def main() -> None:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        bench, corpora, watch = make_benchmark(), make_corpora(), Watch()
        options = {"ns": (8, 13), "client": client, "watch": watch}
        audit = threading.Thread(target=wmbxl.audit, args=(bench, corpora, "memory://audit"), kwargs=options)
        audit.start()
        while watch.pieces_done < SHARDS // 2:
            audit.join(0.1)
        take(browser, watch.dashboard, "live")
        audit.join()
        take(browser, watch.dashboard, "live-end")
        browser.close()


if __name__ == "__main__":
    main()

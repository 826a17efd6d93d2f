"""Audits of texts that a page could stumble over, and a browser to open pages in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

import wmbxl
from tests.tools import jsonl, line
from wmbxl.report.page import write_report

STAMP = "let the channel matrix be given and find the capacity of the link in bits"  # of two problems: a template
LATEX = r"Find $\mathbf{H}^{H}$ of a \emph{flat} channel with four transmit antennas & two receive antennas, $a<b$."
RTL = "أوجد سعة القناة المعطاة بالمصفوفة التالية عندما يكون عدد هوائيات الإرسال أربعة وعدد هوائيات الاستقبال اثنين"
COMBINED = (
    "e\u0301nonce\u0301 \U0001d407 de la matrice \U0001f469\u200d\U0001f52c du canal a\u0300 quatre antennes et deux "
    "re\u0301cepteurs sans bruit"
)
TAG = "<script>document.title = 'owned'</script>"
PROBLEMS: list[dict[str, Any]] = [
    {"problem_id": "latex", "text": LATEX, "type": "MCQ", "arxiv_id": "2302.00001", "answer": "B"},
    {"problem_id": "rtl", "text": RTL, "type": "MCQ", "arxiv_id": "2302.00002", "answer": "A"},
    {"problem_id": "combined", "text": COMBINED, "type": "$$x$$", "arxiv_id": "2402.00001", "answer": "C"},
    {
        "problem_id": f"{TAG}<img src=x onerror=alert(1)>",
        "text": f"An attacker writes {TAG} into a benchmark </script><!-- and hopes that nobody escapes it at all",
        "type": "</script><b>bold</b>",
        "answer": "the beam that is steered towards the user",
    },
    {"problem_id": "stamp-1", "text": f"{STAMP}, with one antenna.", "type": "MCQ", "answer": "D"},
    {"problem_id": "stamp-2", "text": f"{STAMP}, with two antennas.", "type": "MCQ", "answer": "D"},
    {"problem_id": "absent", "text": "Nothing of this problem is to be found anywhere in the corpora.", "answer": "E"},
    {"problem_id": "elsewhere", "text": "Only the control corpus has a copy of this problem here.", "answer": "E"},
]
DOCUMENTS = [
    f"Before it. {LATEX} After it.",
    "\u202eturned round " + RTL + " \u202c and back",
    f"{'filler ' * 30}{COMBINED} {'👩‍🔬 ' * 50}",
    f'{TAG}</script><script>alert(1)</script><!-- {PROBLEMS[3]["text"]} --><img src=x onerror="alert(1)">',
    f"He said: the beam that is steered towards the user so {STAMP} and so on, then {LATEX.upper()}",
    *(f"{i} copies of {LATEX}" for i in range(12)),
]


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as made:
        yield made


@pytest.fixture(scope="session")
def make_audit(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., wmbxl.Audit]:
    """Audits `documents` and a control corpus, which stands in `broken` bytes if they are given."""

    def make(documents: list[str] = DOCUMENTS, problems: list[dict[str, Any]] = PROBLEMS, broken: bytes = b"",
             out: str | None = None, ns: tuple[int, ...] = (5, 8), cap: int = 20) -> wmbxl.Audit:  # fmt: skip
        folder = tmp_path_factory.mktemp("audit")
        (folder / "problems.jsonl").write_text("".join(json.dumps(record) + "\n" for record in problems))
        lines = b"".join(line(text, id=f"doc-{i}{TAG}") for i, text in enumerate(documents))
        (folder / "corpus.jsonl").write_bytes(lines + broken)
        (folder / "control.jsonl").write_bytes(jsonl([problems[-1]["text"]]))
        bench = wmbxl.read_benchmark(str(folder / "problems.jsonl"), answer_field="answer")
        corpora = [
            wmbxl.Corpus("web", str(folder / "corpus.jsonl"), id_field="id"),
            wmbxl.Corpus("held-out", str(folder / "control.jsonl"), role="control"),
        ]
        return wmbxl.audit(bench, corpora, out or str(folder / "run"), ns, client=client, evidence_cap=cap)

    return make


@pytest.fixture(scope="session")
def hostile(make_audit: Callable[..., wmbxl.Audit]) -> wmbxl.Audit:
    return make_audit()


@pytest.fixture(scope="session")
def incomplete(make_audit: Callable[..., wmbxl.Audit]) -> wmbxl.Audit:
    return make_audit(broken=b"not json\n")


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file and returns its page; afterwards, the page must have asked for nothing and complained of nothing."""
    pages, said = [], []

    def open_file(path: str | Path, **options: Any) -> Any:
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: said.append(asked.url) if not asked.url.startswith("file:") else None)
        page.goto(f"file://{path}")
        page.wait_for_selector("html[data-drawn]")
        return page

    yield open_file
    for page in pages:
        page.close()
    assert said == []


@pytest.fixture(scope="session")
def report(hostile: wmbxl.Audit) -> str:
    return write_report(hostile, n=8)

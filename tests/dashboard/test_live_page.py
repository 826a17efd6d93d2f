"""The live page in a browser and without one, on schedulers that are processes of their own and on local ones."""

from __future__ import annotations

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from bokeh.client import pull_session
from bokeh.models import Div
from distributed import Client, LocalCluster

import wmbxl
from tests.support import as_jsonl, make_benchmark, make_documents, write_benchmark
from wmbxl.dashboard.plugin import LivePage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "<img src=x onerror=document.title='broken'>"
GATED = "z-gated.jsonl"  # not among the three that an audit looks into before it starts


class Gate(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, but one file only once the gate is open."""

    opened = threading.Event()

    def do_GET(self) -> None:
        if self.path.endswith(GATED):
            self.opened.wait(120)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    Gate.opened.clear()
    yield Gate.opened
    Gate.opened.set()


@pytest.fixture
def corpus_url(tmp_path: Path, gate: threading.Event) -> Iterator[str]:
    """A corpus of four files, the last of them behind the gate, another one with a bad record."""
    folder = tmp_path / "served"
    folder.mkdir()
    for number, name in enumerate(["a.jsonl", "b.jsonl", "c.jsonl", GATED]):
        bad = b"nonsense\n" if name == "c.jsonl" else b""
        (folder / name).write_bytes(as_jsonl(make_documents(make_benchmark(), number, 20)) + bad)
    handler = functools.partial(Gate, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        gate.set()
        server.shutdown()


@pytest.fixture
def benchmark_path(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "problems.jsonl", make_benchmark())


# On this little data it takes longer to compile. Not compiled, hashes overflow with a warning.
ENVIRONMENT = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
UNHEARD = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def process(*command: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a command, at most until the end of the block."""
    with subprocess.Popen(command, env=ENVIRONMENT, text=True, **options) as started:
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def scheduler(place: Path, start: Sequence[str], *options: str, **heard: Any) -> Iterator[Client]:
    """Start a scheduler and a worker from the command line."""
    file = str(place / "scheduler.json")
    worker = [sys.executable, "-m", "dask", "worker", "--scheduler-file", file, "--nthreads", "2", "--no-nanny"]
    with (
        process(
            *start, "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file, *options, **{**UNHEARD, **heard}
        ),
        process(*worker, "--no-dashboard", cwd=place, **UNHEARD),
    ):
        while not Path(file).exists():
            time.sleep(0.05)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(1, timeout=60)
            yield client


DASK_SCHEDULER = (sys.executable, "-m", "dask", "scheduler")


def without(module: str) -> list[str]:
    """Return the command of a scheduler whose Python lacks a module."""
    code = f"""
import sys
class Absent:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent)
from distributed.cli.dask_scheduler import main
main()
"""
    return [sys.executable, "-c", code]


def audit_command(client: Client, benchmark: Path, corpus: str, out: Path) -> list[str]:
    return [
        sys.executable, "-m", "wmbxl", "audit", "--benchmark", str(benchmark), "--corpus", f"made={corpus}",
        "--out", str(out), "-n", "5,13", "--scheduler", client.scheduler.address,
    ]  # fmt: skip


def texts(link: str) -> str:
    """Return what the page says, as a browser without a screen gets it."""
    session = pull_session(url=link)
    try:
        return "\n".join(root.text for root in session.document.roots if isinstance(root, Div))
    finally:
        session.close()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


# ---------------------------------------------------------------- without a browser


def test_two_audits_on_a_scheduler_from_the_command_line(
    tmp_path: Path, benchmark_path: Path, corpus_url: str, gate: threading.Event
) -> None:
    with scheduler(tmp_path, DASK_SCHEDULER, "--dashboard-address", "127.0.0.1:0") as client:
        with process(
            *audit_command(client, benchmark_path, corpus_url, tmp_path / "first"), stderr=subprocess.PIPE
        ) as audit:
            assert audit.stderr
            first_line = audit.stderr.readline()
            link = first_line.split()[-1]
            assert first_line == f"Watch this run in a browser: {link}\n"
            assert link == client.dashboard_link.replace("/status", "/wmbxl")
            wait_for(lambda: "<dd>3 <small>of 4" in texts(link))
            seen = texts(link)
            assert "<b>Running</b>" in seen
            assert "not_json" in seen
            assert GATED in seen
            gate.set()
            audit.wait(60)
        assert "<b>Incomplete</b>" in texts(link)
        with process(
            *audit_command(client, benchmark_path, corpus_url + "a.jsonl", tmp_path / "second"), stderr=subprocess.PIPE
        ) as audit:
            audit.wait(60)
        seen = texts(link)
        assert "<b>Complete</b>" in seen
        assert str(tmp_path / "second") in seen
        with urlopen(str(client.dashboard_link)) as status:
            assert '<a href="wmbxl">' in status.read().decode()


def test_an_audit_that_is_killed_is_lost(
    tmp_path: Path, benchmark_path: Path, corpus_url: str, gate: threading.Event
) -> None:
    with scheduler(tmp_path, DASK_SCHEDULER, "--dashboard-address", "127.0.0.1:0") as client:
        with process(
            *audit_command(client, benchmark_path, corpus_url, tmp_path / "run"), stderr=subprocess.PIPE
        ) as audit:
            assert audit.stderr
            link = audit.stderr.readline().split()[-1]
        wait_for(lambda: "<b>Lost</b>" in texts(link))


@pytest.mark.parametrize(
    ("start", "options", "words"),
    [
        (DASK_SCHEDULER, ["--no-dashboard"], "the scheduler was started without its dashboard"),
        (without("bokeh"), ["--dashboard-address", "127.0.0.1:0"], "pip install bokeh there"),
    ],
)
def test_without_a_dashboard_the_audit_runs_on(
    tmp_path: Path, benchmark_path: Path, corpus_url: str, gate: threading.Event, start: list[str],
    options: list[str], words: str,
) -> None:  # fmt: skip
    said = tmp_path / "scheduler.log"
    with said.open("w") as log, scheduler(tmp_path, start, *options, stderr=log) as client:
        command = audit_command(client, benchmark_path, corpus_url + "a.jsonl", tmp_path / "run")
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "No live page: " in done.stderr
    assert "Traceback" not in done.stderr + said.read_text()
    assert words in done.stderr
    assert "/wmbxl" not in done.stderr


def test_a_scheduler_without_wmbxl_is_named(
    tmp_path: Path, benchmark_path: Path, corpus_url: str, gate: threading.Event
) -> None:
    with scheduler(tmp_path, without("wmbxl"), "--dashboard-address", "127.0.0.1:0") as client:
        command = audit_command(client, benchmark_path, corpus_url + "a.jsonl", tmp_path / "run")
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "has no wmbxl" in done.stderr
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- in a browser


def test_the_page_changes_and_shows_the_end(page: Page, tmp_path: Path, corpus_url: str, gate: threading.Event) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(LivePage())
        page.goto(str(client.dashboard_link).replace("/status", "/workers"))
        page.get_by_role("link", name="Wmbxl").click()
        expect(page.get_by_text("No audit has run on this scheduler yet.")).to_be_visible()

        def audit(url: str, out: str) -> threading.Thread:
            corpus = wmbxl.Corpus(HOSTILE, url)
            thread = threading.Thread(
                target=wmbxl.audit, args=(make_benchmark(), [corpus], str(tmp_path / out), (5, 13)),
                kwargs={"client": client},
            )  # fmt: skip
            thread.start()
            return thread

        first = audit(corpus_url, "first")
        expect(page.get_by_text("Running")).to_be_visible()
        expect(page.locator("dl > div", has_text="pieces").first).to_contain_text("3")
        expect(page.get_by_role("cell", name=HOSTILE).first).to_be_visible()
        expect(page.get_by_role("cell", name="not_json", exact=True)).to_be_visible()
        expect(page.get_by_role("cell", name=re.compile(GATED)).first).to_be_visible()
        expect(page).to_have_title(re.compile(r"\d+% – wmbxl"))
        gate.set()
        first.join()
        expect(page.get_by_text("Incomplete")).to_be_visible()
        expect(page.get_by_role("heading", name="Result")).to_be_visible()
        expect(page).to_have_title("incomplete – wmbxl")

        audit(corpus_url + "a.jsonl", "second").join()
        expect(page.get_by_text("Complete after")).to_be_visible()
        page.get_by_label("Audit").select_option(label=_label(page, "first"))
        expect(page.get_by_text("Incomplete")).to_be_visible()

        page.set_viewport_size({"width": 390, "height": 900})
        page.wait_for_function("document.documentElement.scrollWidth <= 390")  # nothing sticks out
        page.goto("about:blank")  # before the server goes away


def _label(page: Page, words: str) -> str:
    options = page.get_by_label("Audit").locator("option").all_inner_texts()
    return next(option for option in options if words in option)


def test_a_local_cluster_shows_the_end_before_it_goes(
    browser: Browser, tmp_path: Path, benchmark_path: Path, corpus_url: str, gate: threading.Event
) -> None:
    from playwright.sync_api import expect

    command = [
        sys.executable, "-m", "wmbxl", "audit", "--benchmark", str(benchmark_path), "--corpus",
        f"made={corpus_url}", "--out", str(tmp_path / "run"), "--workers", "2",
    ]  # fmt: skip
    page = browser.new_page()  # the server goes away, which the browser reports as an error
    with process(*command, stderr=subprocess.PIPE) as audit:
        assert audit.stderr
        page.goto(audit.stderr.readline().split()[-1])
        expect(page.get_by_text("Running")).to_be_visible()
        gate.set()
        audit.wait(60)
    expect(page.get_by_text("Incomplete")).to_be_visible()
    page.close()

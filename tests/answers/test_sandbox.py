from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from wmbxl.answers import equivalent
from wmbxl.answers.sandbox import Overdue, Sandbox


@pytest.fixture
def sandbox():
    made = Sandbox("tests.answers.misbehaving", size=2)
    yield made
    made.close()


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children() if "misbehaving" in " ".join(child.cmdline())}


def test_a_child_answers_again_and_again(sandbox):
    first = sandbox.ask({"do": "pid"}, 60)
    assert sandbox.ask({"do": "echo", "value": "é\n" * 50_000}, 60) == "é\n" * 50_000
    assert sandbox.ask({"do": "pid"}, 60) == first
    assert first != os.getpid()


def test_one_that_hangs_is_stopped_and_replaced(sandbox):
    first = sandbox.ask({"do": "pid"}, 60)
    with pytest.raises(Overdue, match="no answer in time"):
        sandbox.ask({"do": "hang"}, 0.2)
    assert not psutil.pid_exists(first)
    assert sandbox.ask({"do": "echo", "value": 1}, 60) == 1


def test_one_that_dies_is_replaced(sandbox):
    with pytest.raises(Overdue, match="the process died"):
        sandbox.ask({"do": "die"}, 60)
    assert sandbox.ask({"do": "echo", "value": 1}, 60) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_memory_is_limited(sandbox):
    assert sandbox.ask({"do": "grab", "value": 20_000_000}, 60) == 20_000_000
    assert sandbox.ask({"do": "grab", "value": 400_000_000}, 60) == "refused"


def test_threads_share_a_few_children_which_close_ends(sandbox):
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: sandbox.ask({"do": "echo", "value": n}, 60), range(60)))
    assert answers == list(range(60))
    assert 1 <= len(children()) <= 2
    sandbox.close()
    assert children() == set()


def test_a_child_does_not_outlive_a_parent_that_is_killed():
    body = (
        "from wmbxl.answers.sandbox import Sandbox, Overdue\n"
        "import threading\n"
        "sandbox = Sandbox('tests.answers.misbehaving', 2)\n"
        "print(sandbox.ask({'do': 'pid'}, 60), flush=True)\n"
        "sandbox.ask({'do': 'hang'}, 1)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", body], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    child.wait(timeout=60)  # by its alarm, at the latest


def _in_daemon(queue):
    queue.put(equivalent("a+b", "b+a").relation)


def test_it_works_in_a_daemonic_process_which_may_have_no_multiprocessing_children():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_in_daemon, args=(queue,), daemon=True)
    process.start()
    assert queue.get(timeout=120) == "equivalent"
    process.join()


def test_it_works_in_the_threads_of_dask_workers(client):
    pytest.importorskip("pylatexenc", reason="needs the extra answers")
    pairs = [(f"a_{n} + b", f"b + a_{n}") for n in range(8)]
    found = client.gather(client.map(lambda pair: equivalent(*pair).relation, pairs))
    assert found == ["equivalent"] * 8


def test_a_fork_leaves_the_parents_children_alone(sandbox):
    first = sandbox.ask({"do": "pid"}, 60)
    pid = os.fork()
    if pid == 0:
        sandbox.close()
        os._exit(0)
    os.waitpid(pid, 0)
    time.sleep(0.05)
    assert sandbox.ask({"do": "pid"}, 60) == first


def test_files_in_the_working_directory_do_not_stand_in_the_way(tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("raise SystemExit('somebody else\\'s')\n")
    monkeypatch.chdir(tmp_path)
    made = Sandbox("wmbxl.answers.steps", size=1)
    try:
        assert made.ask({"step": "symbolic", "first": "a+b", "second": "b+a"}, 60)["relation"] == "equivalent"
    finally:
        made.close()

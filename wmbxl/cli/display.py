"""What a person sees: progress while a run goes on, and tables at its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from wmbxl.audit import Audit
from wmbxl.estimate import LONGEST_RECORD, Estimate
from wmbxl.folder import REPORT, RunFolder
from wmbxl.records import GAPS
from wmbxl.units import duration, percent, size
from wmbxl.watch import Watch
from wmbxl.words import SKIPPED, bytes_read, doubts, status

console = Console()
progress_console = Console(stderr=True)

LINE_EVERY = 10.0  # seconds between lines where there is no terminal
LOOK_EVERY = 0.1  # seconds between looks for the address of the live page


@contextmanager
def following(watch: Watch) -> Iterator[None]:
    """Show a run's progress while the block runs: live on a terminal, a line now and then in a pipe."""
    stop = threading.Event()
    thread = threading.Thread(target=_lines, args=(watch, stop), daemon=True)
    with _live(watch) if progress_console.is_terminal else nullcontext():
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
    say(_line(watch))
    for note in watch.notes:
        say(f"Note: {note}")


def say(line: str) -> None:
    """Print a line that is no result."""
    progress_console.print(line, highlight=False, markup=False, soft_wrap=True)


def _lines(watch: Watch, stop: threading.Event) -> None:
    """Print where to watch as soon as that is known; then, in a pipe, a line now and then."""
    while not watch.dashboard and not stop.wait(LOOK_EVERY):
        pass
    if watch.dashboard:
        say(f"Watch this run in a browser: {watch.dashboard}")
    while not stop.wait(LINE_EVERY):
        if not progress_console.is_terminal:
            say(_line(watch))


def _live(watch: Watch) -> Live:
    def bar() -> Table:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(ProgressBar(max(1, watch.file_bytes), watch.file_bytes_read, width=40), Text(_line(watch)))
        return grid

    return Live(get_renderable=bar, console=progress_console, refresh_per_second=4, transient=True)


def _line(watch: Watch) -> str:
    if not watch.pieces:
        return "indexing the benchmark and listing the corpus"
    if watch.told is None:
        return f"{watch.pieces:,} pieces, {size(watch.file_bytes)}: starting workers, which compile the scan first"
    rate = watch.windows / watch.seconds if watch.seconds else 0
    parts = [
        f"{size(watch.file_bytes_read)} of {size(watch.file_bytes)}",
        f"{watch.pieces_done:,} of {watch.pieces:,} pieces",
        f"{watch.documents:,} documents",
        f"{rate:,.0f} windows/s",
        f"{len(watch.flagged):,} flagged",
    ]
    if watch.pieces_resumed:
        parts.append(f"{watch.pieces_resumed:,} pieces resumed")
    if watch.unread:
        parts.append("unread: " + ", ".join(f"{name} {count:,}" for name, count in sorted(watch.unread.items())))
    left = watch.seconds_left if watch.pieces_done < watch.pieces else None
    parts.append(duration(watch.seconds) if left is None else f"{duration(left)} left")
    return " · ".join(parts)


def show_audit(audit: Audit, config: str | None = None) -> None:
    """Print a finished audit: its status in plain words, S0 and S1, what was read and what wasn't, and the files.

    The verbs to go on with are told with `config`, the file that holds how its stores are reached.
    """
    info = audit.info
    where = audit.folder.url + (f" --config {config}" if config else "")
    _say_status(info)
    console.print(_views(info))
    console.print(_corpora(info))
    for corpus in info["corpora"]:
        _say_gaps(corpus)
    console.print(
        f"Files: {audit.folder.url} (metadata, evidence, spans, ngrams, ledger as Parquet; audit.json)",
        soft_wrap=True,
    )
    if audit.folder.exists(REPORT):
        console.print(f"Look at the matches:  {audit.folder.url}/{REPORT}", highlight=False, soft_wrap=True)
    else:
        console.print(f"Look at the matches:  wmbxl report {where}", highlight=False, soft_wrap=True)
    console.print(f"Recompute them:       wmbxl recheck {where}", highlight=False, soft_wrap=True)


def _say_status(info: dict[str, Any]) -> None:
    word, _, rest = status(info).partition(" ")
    colour = "red" if word.startswith("Incomplete") else "green"
    console.print(Text.assemble((word, f"bold {colour}"), f" {rest}"))
    for sentence in doubts(info):
        console.print(Text.assemble(("Look at this:", "bold yellow"), f" {sentence}"))


def _views(info: dict[str, Any]) -> Table:
    table = Table(
        title=f"{info['benchmark']['problems']:,} problems: S0 in no document, S1 in at most two",
        caption="* without problems that are too short to have an n-gram",
    )
    for name in ("channel", "n", "S0", "%", "S0*", "S1", "S1*", "flagged", "short", "undecided"):
        table.add_column(name, justify="left" if name == "channel" else "right")
    for row in info["summary"]:
        short = row["problems"] - row["auditable"]
        s0, s1 = row["S0_undecided"], row["S1_undecided"]
        table.add_row(
            row["channel"],
            str(row["n"]),
            _between(row["S0"], s0, row["problems"]),
            percent(row["S0"], row["problems"], 1).removesuffix(" %") if not s0 else "–",
            _between(row["S0_auditable"], s0, row["auditable"]),
            _between(row["S1"], s1, row["problems"]),
            _between(row["S1_auditable"], s1, row["auditable"]),
            *(f"{number:,}" for number in (row["flagged"], short, max(s0, s1))),
        )
    return table


def _between(decided: int, undecided: int, most: int) -> str:
    """Return a number that may be larger by those that are undecided."""
    return f"{decided:,} to {min(decided + undecided, most):,}" if undecided else f"{decided:,}"


def _corpora(info: dict[str, Any]) -> Table:
    table = Table(title="Corpora")
    for name in ("corpus", "role", "shards", "documents", "tokens", "read", "unread"):
        table.add_column(name, justify="left" if name in ("corpus", "role") else "right")
    for corpus in info["corpora"]:
        unread = (
            f"{size(corpus['unread_bytes'])} ({percent(corpus['unread_share'], digits=2)})"
            if corpus["unread_bytes"]
            else "0"
        )
        table.add_row(
            corpus["name"],
            corpus["role"],
            f"{corpus['shards']:,}",
            f"{corpus['documents']:,}",
            f"{corpus['tokens']:,}",
            size(bytes_read(corpus)),
            unread,
        )
    return table


def _say_gaps(corpus: dict[str, Any]) -> None:
    """Print what was skipped, repaired, or left out."""
    for reason, amount in corpus["faults"].items():
        console.print(
            f"  {corpus['name']}: [red]{amount['pieces']:,} piece(s) not read to the end[/]: {reason} "
            f"({size(amount['bytes'])}); see the ledger"
        )
    for reason, amount in corpus["skipped"].items():
        colour = "red" if reason in GAPS else "yellow"
        console.print(
            f"  {corpus['name']}: [{colour}]{amount['records']:,}[/] {SKIPPED[reason]} ({reason}, "
            f"{size(amount['bytes'])})"
        )
    if corpus["left_out"]:
        examples = ", ".join(item["url"].rsplit("/", 1)[-1] for item in corpus["left_out"][:3])
        count = len(corpus["left_out"])
        console.print(f"  {corpus['name']}: {count:,} file(s) left out, such as {examples} (audit.json lists all)")


def show_plan(estimate: Estimate, workers: int | None) -> None:
    """Print what an audit would take, with so many workers if that is known."""
    table = Table(title="What an audit would take")
    for name in ("corpus", "shards", "bytes", "decompressed", "pieces", "tasks", "finished", "core-hours"):
        table.add_column(name, justify="left" if name == "corpus" else "right")
    for corpus in estimate.corpora:
        hours = corpus.bytes_left * corpus.growth / estimate.rate / 3.6e9
        table.add_row(
            corpus.name, f"{corpus.shards:,}", size(corpus.file_bytes), size(corpus.file_bytes * corpus.growth),
            f"{corpus.pieces:,}", f"{corpus.tasks:,}", f"{corpus.finished:,}", f"{hours:,.2f}",
        )  # fmt: skip
    console.print(table)
    unsized = sum(corpus.unsized for corpus in estimate.corpora)
    lines = [
        f"Core-hours: {estimate.core_seconds / 3600:,.2f} at {estimate.rate:g} MB/s for each core, decompressed "
        "(--rate), and some 10 s to start each worker",
        f"Workers: at most {estimate.tasks:,} are of use; the largest task takes {duration(estimate.longest_task)}",
        f"Memory for each worker: {size(estimate.memory)}, and {LONGEST_RECORD} times the longest record of the corpus",
        f"Files or objects written: {estimate.objects:,}",
    ]
    if workers:
        lines.append(
            f"Wall time with {workers:,} workers: {duration(estimate.wall_seconds(workers))}, if reading keeps up"
        )
    if unsized:
        lines.append(f"{unsized:,} file(s) are of unknown size and not in these figures")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def show_unfinished(folder: RunFolder, info: dict[str, Any]) -> None:
    """Print how far an audit came that is running or was killed."""
    done = len(folder.checkpoints())
    console.print(
        f"[bold yellow]Not finished:[/] {done:,} of {info['tasks']:,} tasks have a checkpoint. If nothing is running, "
        "run the same wmbxl audit command again to resume.",
    )

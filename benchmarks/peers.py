"""wmbxl beside its peers, on the same files.

    python -m benchmarks.peers [--python PATH] [--corpus GLOB --corpus-text-field F] [--benchmark FILE] [--json FILE]

Each peer gets a virtual environment of its own in a temporary folder, so this needs pip and a network. Some need
Python 3.12 or later: `--python` says where one is, else python3.14, python3.13 and python3.12 are tried. The corpus is
one file of JSON lines. Each tool runs alone, on one core, in a process that a script in peer_scripts/ drives; CPU and
wall time are those of the scan, without the index, and memory is the whole process's peak.

Every tool flags documents at n = 13 words. Their normalisation and rules differ, so different documents are no fault by
themselves. The second table is about input that is not quite right: three documents, all of which hold a problem.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import psutil

from benchmarks import inputs
from benchmarks.figures import MB, machine, told_by

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "peer_scripts"
REPEAT_UP_TO = 5  # seconds; a longer scan is not repeated
ROUNDS = 3
_COMPLAINT = re.compile(r"(?i)error|warn|fail|invalid|malformed|could not|missing")


@dataclass(frozen=True)
class Peer:
    name: str
    script: str
    counts: str  # what it counts
    packages: tuple[str, ...] = ()  # none: runs beside wmbxl, in this environment
    python: tuple[int, int] = (3, 11)
    reads: bool = True  # whether it reads files itself


PEERS = (
    Peer("wmbxl", "run_wmbxl.py", "every occurrence of every n-gram, confirmed by text"),
    Peer("plain Python", "run_plain.py", "the same, by the definition", reads=False),
    Peer("overlapy", "run_overlapy.py", "every occurrence, by Aho-Corasick over the caller's tokens", ("overlapy",),
         reads=False),
    Peer("datatrove", "run_datatrove.py", "documents, up to the first n-gram whose hash is known",
         ("datatrove[io,processing]", "spacy")),
    Peer("corpus-assay", "run_corpus_assay.py", "distinct hashed n-grams of a document, without stop words",
         ("corpus-assay",), (3, 12)),
    Peer("decon", "run_decon.py", "sampled 5-grams of subwords, scored against whole problems", ("decontaminate",),
         (3, 12)),
)  # fmt: skip


@dataclass
class Outcome:
    """What a peer did with one corpus."""

    status: int
    peak: int  # bytes
    output: str
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def documents(self) -> set[str]:
        return set(self.found.get("documents", ()))

    @property
    def said(self) -> list[str]:
        """What the peer said of its own accord about input that it could not read."""
        told = self.found.get("told")
        if told is not None:
            return list(map(str, told))
        return [line for line in self.output.splitlines() if _COMPLAINT.search(line)][-3:]


def run(peer: Peer, python: str, corpus: Path, benchmark: Path, folder: Path) -> Outcome:
    """Run a peer's script, and watch the memory of its processes."""
    scratch = Path(tempfile.mkdtemp(dir=folder))
    command = [python, str(SCRIPTS / peer.script), "--corpus", str(corpus), "--benchmark", str(benchmark)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub")}
    # A peer must not see the packages of this environment; wmbxl and the oracle are found in the source tree.
    environment["PYTHONPATH"] = "" if peer.packages else str(ROOT)
    process = subprocess.Popen(
        [*command, "--scratch", str(scratch)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=environment, cwd=scratch,
    )  # fmt: skip
    peak = [0]
    watching = threading.Thread(target=_watch, args=(process.pid, peak))
    watching.start()
    output, _ = process.communicate()
    watching.join()
    *before, last = output.strip().splitlines() or [""]
    shutil.rmtree(scratch)
    if process.returncode or not last.startswith("{"):
        return Outcome(process.returncode or 1, peak[0], output)
    return Outcome(0, peak[0], "\n".join(before), json.loads(last))


def _watch(pid: int, peak: list[int]) -> None:
    """Keep the largest resident size of a process and its children."""
    try:
        root = psutil.Process(pid)
        while root.status() != psutil.STATUS_ZOMBIE:
            sizes = []
            for process in [root, *root.children(recursive=True)]:
                try:
                    sizes.append(process.memory_info().rss)
                except psutil.NoSuchProcess:
                    continue
            peak[0] = max(peak[0], sum(sizes))
            time.sleep(0.02)
    except psutil.NoSuchProcess:
        return


# ---------------------------------------------------------------- environments


def find_python(least: tuple[int, int], given: str | None) -> str | None:
    """Return a Python of at least this version."""
    for name in (sys.executable, given, "python3.14", "python3.13", "python3.12"):
        path = name and shutil.which(name)
        if not path:
            continue
        asked = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0 and tuple(map(int, asked.stdout.split())) >= least:
            return path
    return None


def environment_for(peer: Peer, folder: Path, given: str | None) -> str | None:
    """Return the Python of a new environment with the peer in it; None without a Python that is new enough."""
    if not peer.packages:
        return sys.executable
    base = find_python(peer.python, given)
    if base is None:
        return None
    home = folder / f"env-{peer.name}"
    subprocess.run([base, "-m", "venv", str(home)], check=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", *peer.packages]
    installed = subprocess.run(install, capture_output=True, text=True, check=False)
    if installed.returncode:
        raise SystemExit(f"{peer.name} could not be installed:\n{installed.stderr}")
    return str(python)


# ---------------------------------------------------------------- corpora


def store(used: inputs.Inputs) -> tuple[Path, Path]:
    """Write the corpus as one file, with ids that name file and line, and the benchmark."""
    corpus = used.folder / "peers-corpus"
    corpus.mkdir()
    _write(corpus / "a.jsonl", used.texts)
    benchmark = used.folder / "peers-benchmark.jsonl"
    surfaces = [(problem.id, next(iter(problem.surfaces.values()))) for problem in used.benchmark.problems]
    benchmark.write_bytes(b"".join(orjson.dumps({"problem_id": i, "text": text}) + b"\n" for i, text in surfaces))
    return corpus, benchmark


def _lines(name: str, texts: Sequence[str], key: str = "text") -> list[bytes]:
    return [orjson.dumps({key: text, "id": f"{name}:{row}"}) + b"\n" for row, text in enumerate(texts)]


def _write(path: Path, texts: Sequence[str]) -> None:
    path.write_bytes(b"".join(_lines(path.name, texts)))


def _odd(kind: str, texts: Sequence[str]) -> tuple[str, bytes]:
    """Return the name and content of a file of three documents that is not quite right."""
    name = "a.jsonl.gz" if kind == "second gzip member" else "a.jsonl"
    lines = _lines(name, texts, "content" if kind == "wrong field name" else "text")
    if kind == "second gzip member":
        return name, gzip.compress(lines[0]) + gzip.compress(lines[1] + lines[2])
    if kind == "byte order mark":
        return name, b"\xef\xbb\xbf" + b"".join(lines)
    if kind == "one bad UTF-8 byte":
        lines[1] = lines[1].replace(b'{"text":"', b'{"text":"\xff ')
    return name, b"".join(lines)


ODD = ("nothing", "second gzip member", "byte order mark", "one bad UTF-8 byte", "wrong field name")


def odd_corpora(used: inputs.Inputs) -> tuple[dict[str, Path], Path]:
    """Write small corpora, and a benchmark one of whose problems is in all their documents."""
    problem = (
        "Suppose that a transmitter with three antennas serves two receivers over a fading channel whose variance "
        "doubles every second while interference from neighbouring cells remains constant and noise power vanishes "
        "slowly until both receivers decode their intended messages without errors, then determine how many bits per "
        "channel use either receiver can expect."
    )
    filler = "This chapter collects remarks about harmonic oscillators, pendulums and springs."
    texts = [f"{filler} Part {i}. {problem} {filler}" for i in range(3)]
    corpora = {}
    for number, kind in enumerate(ODD):
        folder = used.folder / f"odd-{number}"
        folder.mkdir()
        name, content = _odd(kind, texts)
        (folder / name).write_bytes(content)
        corpora[kind] = folder
    benchmark = used.folder / "odd-benchmark.jsonl"
    # Scores that weigh rare n-grams need some problems to tell what is rare.
    surfaces = [problem, *(inputs.made_text(random.Random(seed), 40) for seed in range(20))]
    rows = ({"problem_id": f"p{i}", "text": text} for i, text in enumerate(surfaces))
    benchmark.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return corpora, benchmark


def behaviour(outcome: Outcome) -> str:
    """Say in a word what became of three documents, all of which should be flagged."""
    lost = 3 - len(outcome.documents)
    if outcome.status:
        return "stops"
    if not lost:
        return "found, says so" if outcome.said else "found"
    return f"{lost} of 3 lost, {'says so' if outcome.said else 'quietly'}"


# ---------------------------------------------------------------- the tables


def fastest_of(peer: Peer, python: str, used: inputs.Inputs, corpus: Path, benchmark: Path) -> Outcome:
    """Run a peer a few times, unless it is slow, and keep the fastest."""
    outcomes: list[Outcome] = []
    for _ in range(1 if used.quick else ROUNDS):
        outcome = run(peer, python, corpus, benchmark, used.folder)
        if outcome.status:
            raise SystemExit(f"{peer.name} failed:\n{outcome.output}")
        outcomes.append(outcome)
        if outcome.found["cpu_s"] > REPEAT_UP_TO:
            break
    return min(outcomes, key=lambda outcome: outcome.found["cpu_s"])


def measure(used: inputs.Inputs, given_python: str | None, only: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each peer; wmbxl comes first, and `shared` counts documents that it flags too."""
    corpus, benchmark = store(used)
    odd, odd_benchmark = odd_corpora(used)
    size = sum(path.stat().st_size for path in corpus.iterdir())
    ours: set[str] = set()
    for peer in PEERS:
        if only and peer.name not in only and peer is not PEERS[0]:
            continue
        python = environment_for(peer, used.folder, given_python)
        if python is None:
            print(f"{peer.name:14} needs Python {'.'.join(map(str, peer.python))}: name one with --python")
            continue
        best = fastest_of(peer, python, used, corpus, benchmark)
        ours = ours or best.documents
        outcomes = {
            kind: run(peer, python, path, odd_benchmark, used.folder) for kind, path in odd.items() if peer.reads
        }
        yield {
            "name": peer.name,
            "version": best.found["version"],
            "cpu_mb_s": size / MB / best.found["cpu_s"],
            "wall_mb_s": size / MB / best.found["wall_s"],
            "peak_mb": best.peak / MB,
            "flagged": len(best.documents),
            "shared": len(best.documents & ours),
            "counts": peer.counts,
            "odd": {kind: behaviour(outcome) for kind, outcome in outcomes.items()},
            "said": {kind: outcome.said for kind, outcome in outcomes.items()},
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    inputs.add_options(parser)
    parser.add_argument("--python", help="a Python 3.12 or later")
    parser.add_argument("--only", nargs="+", metavar="PEER", help="run these: " + ", ".join(p.name for p in PEERS))
    given = parser.parse_args()
    about, rows = machine(), []
    with tempfile.TemporaryDirectory() as name:
        with told_by(parser):
            used = inputs.from_options(given, Path(name))
        print(", ".join(f"{key} {value}" for key, value in about.items()))
        print(used)
        print(f"{'':14} {'version':>12} {'MB/s CPU':>9} {'MB/s wall':>9} {'peak MB':>8} {'flagged':>8} {'shared':>7}")
        for row in measure(used, given.python, given.only):
            rows.append(row)
            print(
                f"{row['name']:14} {row['version']:>12} {row['cpu_mb_s']:9.2f} {row['wall_mb_s']:9.2f} "
                f"{row['peak_mb']:8.0f} {row['flagged']:8} {row['shared']:7}   {row['counts']}", flush=True,
            )  # fmt: skip
        for row in rows:
            print(f"\n{row['name']}" + ("" if row["odd"] else ": reading is the caller's"))
            print("\n".join(f"{kind:>24}: {what}" for kind, what in row["odd"].items()))
    if given.json:
        given.json.write_text(json.dumps({"machine": about, "bytes": used.size, "peers": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()

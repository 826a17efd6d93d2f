"""Is any text of a withheld problem in a release? Looked for by the audit itself, with the release as the corpus."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmbxl.benchmark import Benchmark
from wmbxl.index import ProbeIndex
from wmbxl.release import layout
from wmbxl.release.opened import Issue
from wmbxl.release.rows import Files
from wmbxl.release.sources import Problem
from wmbxl.scan import scan_shard
from wmbxl.tables import json_lines
from wmbxl.text import Normaliser, ngrams, replace_surrogates
from wmbxl.types import Shard

NS = (8, 13)
_ALL = 1 << 20  # evidence is not to be sampled here


@dataclass(frozen=True)
class Passage:
    """A piece of a released file that is read as one document; `line` is where it starts."""

    line: int
    text: str


def find_leaks(files: Files, withheld: set[str], problems: Sequence[Problem]) -> tuple[list[Issue], str]:
    """Look for windows of withheld problems in every file of a release.

    A window that the record of a released problem holds too is no leak: it is public under that record's licence.

    Parameters
    ----------
    files : mapping of str to bytes
    withheld : set of str
        Ids.
    problems : sequence of Problem
        The whole benchmark.

    Returns
    -------
    issues : list of Issue
        One for each line, withheld problem and n.
    remark : str
        What was looked for, and what could not be.
    """
    absent = withheld - {problem.problem_id for problem in problems}
    lacks = "the benchmark given lacks this problem, so its text can't be looked for:"
    issues = [Issue("leaks", layout.MANIFEST, f"{lacks} {name!r}") for name in sorted(absent)]
    if absent == withheld:
        return issues, "no leak was looked for"
    hidden = Benchmark.from_surfaces({p.problem_id: p.content() for p in problems if p.problem_id in withheld})
    index = ProbeIndex.build(hidden, NS)
    public = _windows(problem for problem in problems if problem.problem_id not in withheld)
    shared = {gram for gram in range(index.size) if index.ngram(gram) in public}
    for path, content in files.items():
        issues += _leaks_of(path, content, index, shared)
    return issues, _remark(index, hidden, len(shared), len(files))


def _remark(index: ProbeIndex, hidden: Benchmark, shared: int, files: int) -> str:
    short = sum(len(Normaliser().tokens(problem.surfaces["prompt"])) < min(NS) for problem in hidden.problems)
    notes = [
        f"leak check: {index.size - shared:,} windows (n = {' and '.join(map(str, NS))}) of {len(hidden)} withheld "
        f"problems looked for in {files} files"
    ]
    notes += [f"{shared:,} more are in released problems too, so they are no leak"] if shared else []
    notes += [f"{short} withheld problem(s) are too short to be looked for"] if short else []
    return "; ".join(notes)


def _windows(problems: Iterator[Problem]) -> set[str]:
    """Return the windows of what released records say, in the order in which they say it."""
    found: set[str] = set()
    for problem in problems:
        for text in (problem.content(), problem.asked()):
            tokens = Normaliser().tokens(text)
            found.update(ngram for n in NS for ngram in ngrams(tokens, n))
    return found


def _leaks_of(path: str, content: bytes, index: ProbeIndex, shared: set[int]) -> Iterator[Issue]:
    passages = list(_passages(path, content))
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "release.jsonl"
        corpus.write_bytes(json_lines({"text": p.text} for p in passages))
        tally = scan_shard(Shard("release", str(corpus)), index, _ALL)
    if tally.unread_bytes or tally.faults:
        yield Issue("leaks", path, f"could not be looked through: {', '.join(tally.faults)}")
    found: Counter[tuple[int, str, int]] = Counter()
    for row in tally.evidence.to_pylist():
        if row["gram"] not in shared:
            passage = passages[row["row"]]
            line = passage.line + passage.text.count("\n", 0, row["start"]) * (not _is_table(path))
            owner = index.problem_ids[int(index.problems_of(row["entry"]))]
            found[line, owner, index.n_of(row["gram"])] += 1
    for (line, owner, n), times in sorted(found.items()):
        yield Issue("leaks", path, f"{times} window(s) of {n} tokens of the withheld problem {owner!r}", line)


def _is_table(path: str) -> bool:
    return path.endswith((".jsonl", ".csv"))


def _passages(path: str, content: bytes) -> Iterator[Passage]:
    """Cut a file into rows if it is a table; what JSON escapes is unescaped first."""
    text = content.decode(errors="replace")
    if path.endswith(".jsonl"):
        yield from (Passage(number, _json_text(line)) for number, line in enumerate(text.split("\n"), 1) if line)
    elif path.endswith(".csv"):
        yield from _csv_rows(text)
    elif path.endswith(".json"):
        yield Passage(1, _json_text(text))
    else:
        yield Passage(1, text)


def _csv_rows(text: str) -> Iterator[Passage]:
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        yield from [Passage(reader.line_num, "\n".join(cells)) for cells in reader]
    except csv.Error:
        yield Passage(1, text)


def _json_text(text: str) -> str:
    try:  # objects as pairs, since a name that comes twice hides the first value from most readers
        return replace_surrogates("\n\n".join(_strings(json.loads(text, object_pairs_hook=list))))
    except (json.JSONDecodeError, RecursionError):
        return text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)

"""Spans are what the oracle's matches merge into, as far as the evidence reaches, and never more."""

import bisect
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import naive, strategies
from tests.support import make_benchmark
from tests.test_scan import CORPORA, brief, build, entry_names, write
from wmbxl import Benchmark, ProbeIndex, Tally, scan_shard
from wmbxl.metadata import metadata_table
from wmbxl.spans import find_spans

Span = tuple[int, int, int, int]  # start, end, tokens, windows


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that hypothesis may use again for each example."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def expected(want: naive.Audit, documents: list[str], profile: str) -> dict[tuple[naive.Key, int], set[Span]]:
    """Merge all matches of the oracle."""
    spans: dict[tuple[naive.Key, int], set[Span]] = {}
    for owner, matches in naive.group(want.all_matches).items():
        for document in {match.document for match in matches}:
            starts = [start for start, _, _ in naive.token_spans(documents[document], profile)]
            windows = sorted({(m.start, m.end) for m in matches if m.document == document})
            found: list[list[tuple[int, int]]] = []
            for window in windows:
                if found and window[0] < found[-1][-1][1]:
                    found[-1].append(window)
                else:
                    found.append([window])
            spans[owner, document] = {
                (run[0][0], run[-1][1], bisect.bisect_left(starts, run[-1][1]) - starts.index(run[0][0]), len(run))
                for run in found
            }
    return spans


@brief
@given(corpus=CORPORA, profile=strategies.profiles(), cap=st.sampled_from([1, 2, 3, 1000]))
def test_spans_are_merged_matches(folder: Path, corpus: strategies.Example, profile: str, cap: int) -> None:
    index = build(corpus, profile)
    tally = scan_shard(write(folder, corpus.documents), index, cap)
    want = naive.audit(corpus.problems, corpus.documents, corpus.ns, profile)
    everything = expected(want, corpus.documents, profile)
    names = entry_names(index)
    found: dict[tuple[naive.Key, int], set[Span]] = {}
    sampled = set()
    for row in find_spans(index, tally).to_pylist():
        owner = names[row["entry"]]
        found.setdefault((owner, row["row"]), set()).add((row["start"], row["end"], row["tokens"], row["windows"]))
        if row["sampled"]:
            sampled.add(owner)
    for (owner, document), spans in found.items():
        wanted = everything[owner, document]
        assert all(any(w[0] <= s[0] and s[1] <= w[1] and s[3] <= w[3] for w in wanted) for s in spans)
    for (owner, document), wanted in everything.items():
        if owner not in sampled:
            assert found[owner, document] == wanted
    if cap == 1000:
        assert not sampled


def test_a_verbatim_copy_is_one_span_though_evidence_is_a_sample(tmp_path: Path) -> None:
    benchmark = make_benchmark(problems=1, words=60)
    text = benchmark.problems[0].surfaces["prompt"]
    index = ProbeIndex.build(benchmark, [13])
    tally = scan_shard(write(tmp_path, [f"Something else. {text} The end."]), index, evidence_cap=20)
    assert len(tally.evidence) == 20
    [span] = find_spans(index, tally).to_pylist()
    assert (span["tokens"], span["windows"], span["sampled"]) == (60, 48, False)
    assert (span["start"], span["end"]) == (16, 16 + len(text))


def test_the_longest_span_in_the_metadata(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(20)]
    benchmark = Benchmark.from_surfaces({"a": " ".join(words), "b": "not anywhere at all"})
    index = ProbeIndex.build(benchmark, [3])
    shard = write(tmp_path, [" ".join(words[:5]), f"{' '.join(words[2:11])} and {' '.join(words[:3])}"])

    def longest(tally: Tally) -> list[int | None]:
        spans = [find_spans(index, tally)]
        return metadata_table(index, [tally], gaps=False, spans=spans)["longest_span"].to_pylist()

    assert longest(scan_shard(shard, index)) == [9, 0]
    assert longest(scan_shard(shard, index, evidence_cap=0)) == [None, 0]


@pytest.mark.parametrize("cap", [2, 4, 8, 16])
def test_snippets_that_meet_leave_no_hole(tmp_path: Path, cap: int) -> None:
    """A window may begin in one snippet and end in the next."""
    benchmark = make_benchmark(problems=1, words=400)
    index = ProbeIndex.build(benchmark, [13])
    tally = scan_shard(write(tmp_path, [benchmark.problems[0].surfaces["prompt"]]), index, cap)
    rows = sorted(tally.evidence.to_pylist(), key=lambda row: row["start"])
    reach = [(max(0, row["start"] - 80), max(0, row["start"] - 80) + len(row["snippet"])) for row in rows]
    apart = sum(after[0] > before[1] for before, after in itertools.pairwise(reach))
    spans = find_spans(index, tally).to_pylist()
    assert len(spans) == apart + 1
    assert [span["windows"] for span in spans] == [span["tokens"] - 12 for span in spans]

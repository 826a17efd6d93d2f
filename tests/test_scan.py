"""A scan counts what the oracle counts, however the corpus is stored, cut and batched."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import naive, strategies, tools
from wmbxl import Corpus, ProbeIndex, batches, kernels, sample, scan, scan_shard, tiers
from wmbxl.benchmark import Benchmark
from wmbxl.tally import Tally
from wmbxl.types import Shard

thorough = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
brief = settings(thorough, max_examples=40)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that hypothesis may use again for each example."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def as_read(example: strategies.Example) -> strategies.Example:
    """Return the documents as JSON carries them: two escaped surrogates in order are one character."""
    documents = [json.loads(json.dumps(text)) for text in example.documents]
    return strategies.Example(example.problems, documents, example.ns)


def filled(example: strategies.Example) -> strategies.Example:
    """Give all problems the same channels, as a benchmark has them."""
    channels = {channel: "" for texts in example.problems.values() for channel in texts}
    problems = {name: {**channels, **texts} for name, texts in example.problems.items()}
    return strategies.Example(problems, example.documents, example.ns)


CORPORA = strategies.corpora().map(filled).map(as_read)


def build(example: strategies.Example, profile: str) -> ProbeIndex:
    return ProbeIndex.build(Benchmark.from_surfaces(example.problems), example.ns, profile)  # type: ignore[arg-type]


def write(folder: Path, texts: list[str]) -> Shard:
    path = folder / "corpus.jsonl"
    path.write_bytes(b"".join(tools.line(text, id=str(i)) for i, text in enumerate(texts)))
    return Corpus("c", str(path), id_field="id").shards(1 << 40)[0]


def entry_names(index: ProbeIndex) -> list[naive.Key]:
    return [(p, channel, n) for p in index.problem_ids for channel in index.channels for n in index.ns]


def check_counts(tally: Tally, index: ProbeIndex, want: naive.Audit) -> None:
    names = entry_names(index)
    assert tally.unread_bytes == 0
    assert (tally.records, tally.documents, tally.tokens) == (want.documents, want.documents, want.tokens)
    assert tally.windows == tuple(want.windows[n] for n in index.ns)
    grams = dict(zip(tally.grams.keys.tolist(), map(tuple, tally.grams.counts.tolist()), strict=True))
    assert {(index.n_of(g), index.ngram(g)): counts for g, counts in grams.items()} == want.ngrams

    nothing = {"hits_total": 0, "docs_total": 0, "unique_ngrams_total": 0}
    surfaces = zip(names, index.windows_total.tolist(), index.windows_unique.tolist(), strict=True)
    counts = {name: {"n_grams_total": all_, "n_grams_unique": unique, **nothing} for name, all_, unique in surfaces}
    for gram, (occurrences, _) in grams.items():
        for surface in index.owners(gram).tolist():
            name = names[surface * len(index.ns) + index.ns.index(index.n_of(gram))]
            counts[name]["hits_total"] += occurrences
            counts[name]["unique_ngrams_total"] += 1
    for entry, documents in zip(tally.entries.keys.tolist(), tally.entries.counts[:, 0].tolist(), strict=True):
        counts[names[entry]]["docs_total"] = documents
    assert counts == want.counts


def check_evidence(tally: Tally, index: ProbeIndex, want: naive.Audit, texts: list[str]) -> None:
    names = entry_names(index)
    got: dict[naive.Key, list[naive.Match]] = {}
    for row in tally.evidence.to_pylist():
        name = names[row["entry"]]
        document = int(row["document_id"])
        place = (document, row["start"], row["end"])
        match = naive.Match(name[0], name[1], name[2], *place, index.ngram(row["gram"]))
        got.setdefault(name, []).append(match)
        text = naive.clean(texts[document])
        assert row["priority"] == naive.priority(text, row["start"])
        assert row["snippet"] == text[max(0, row["start"] - sample.CONTEXT) : row["end"] + sample.CONTEXT]
    expected = naive.evidence(want.all_matches, texts, tally.cap)
    assert got == {name: matches for name, matches in expected.items() if matches}


def check(folder: Path, example: strategies.Example, profile: str, cap: int) -> None:
    example = as_read(example)
    index = build(example, profile)
    tally = scan_shard(write(folder, example.documents), index, cap)
    want = naive.audit(example.problems, example.documents, example.ns, profile)
    check_counts(tally, index, want)
    check_evidence(tally, index, want, example.documents)
    assert tally.evidence["row"].to_pylist() == [int(i) for i in tally.evidence["document_id"].to_pylist()]


@thorough
@given(example=CORPORA, profile=strategies.profiles(), cap=st.sampled_from([0, 1, 3, 1 << 40]))
def test_counts_and_evidence(folder: Path, example: strategies.Example, profile: str, cap: int) -> None:
    check(folder, example, profile, cap)


@pytest.mark.parametrize("profile", ["release", "raw"])
def test_every_oddity(folder: Path, profile: str) -> None:
    """Each as a problem of its own, and as a document of its own."""
    some = {f"p{i}": {"text": text} for i, text in enumerate(strategies.ODDITIES)}
    check(folder, strategies.Example(some, strategies.ODDITIES, (1, 2)), profile, 3)


@thorough
@given(
    example=CORPORA,
    profile=strategies.profiles(),
    batch_bytes=st.sampled_from([1, 100, 4 << 20]),
    batch_rows=st.sampled_from([1, 2, 3, 16384]),
    held=st.sampled_from([128, 200, 1024]),
    spare=st.sampled_from([0, 1, 50]),
    room=st.sampled_from([1, 2, 1024]),
    interpreted=st.sampled_from([0, 40, 1 << 60]),
)
def test_any_batch_and_buffer_size(
    folder: Path, example: strategies.Example, profile: str, batch_bytes: int, batch_rows: int,
    held: int, spare: int, room: int, interpreted: int,
) -> None:  # fmt: skip
    index = build(example, profile)
    least = int(index.tables().parameters[kernels.STRIDE]) * len(index.ns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "BATCH_BYTES", batch_bytes)
        patch.setattr(batches, "BATCH_ROWS", batch_rows)
        patch.setattr(kernels, "TOKENS_HELD", held)
        patch.setattr(scan, "MATCHES_HELD", least + spare)
        patch.setattr(scan, "FEW_MATCHES", least + spare)
        patch.setattr(tiers.scan, "bytes_left", interpreted)
        patch.setattr(sample, "ROWS_HELD", room)
        patch.setattr(sample, "TEXTS_HELD", room)
        check(folder, example, profile, 2)


WORDS = [f"w{number}" for number in range(400)]


@st.composite
def long_copies(draw: st.DrawFn) -> strategies.Example:
    """Problems of hundreds of tokens, and documents that copy long stretches, with some words changed."""
    ends = st.integers(0, len(WORDS))
    cuts = draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=3))
    problems = {f"p{i}": {"text": " ".join(WORDS[min(cut) : max(cut)])} for i, cut in enumerate(cuts)}
    documents = []
    for parts in draw(st.lists(st.lists(st.tuples(ends, ends), max_size=4), min_size=1, max_size=3)):
        words = [word for part in parts for word in WORDS[min(part) : max(part)]]
        for place in draw(st.lists(st.integers(0, max(0, len(words) - 1)), max_size=6)):
            words[place:place] = draw(st.sampled_from([["other"], words[place : place + 1], []]))
        documents.append(" ".join(words))
    ns = draw(st.sampled_from([(13,), (2, 9), (8, 10, 12, 13, 15), (5, 64)]))
    return strategies.Example(problems, documents, ns)


@brief
@given(example=long_copies(), held=st.sampled_from([128, 1024]), spare=st.sampled_from([0, 7, 300, 1 << 16]))
def test_runs_that_outgrow_what_is_in_view(folder: Path, example: strategies.Example, held: int, spare: int) -> None:
    index = build(example, "release")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "TOKENS_HELD", held)
        patch.setattr(scan, "MATCHES_HELD", int(index.tables().parameters[kernels.STRIDE]) * len(index.ns) + spare)
        check(folder, example, "release", 2)


@brief
@given(example=CORPORA, data=st.data())
def test_any_cut(folder: Path, example: strategies.Example, data: st.DataObject) -> None:
    index = build(example, "release")
    shard = write(folder, example.documents)
    cuts = sorted(data.draw(st.sets(st.integers(1, shard.size - 1), max_size=8)))
    pieces = [
        Shard("c", shard.url, start, stop, size=shard.size, version=shard.version, options=shard.options)
        for start, stop in zip([0, *cuts], [*cuts, shard.size], strict=True)
    ]
    tallies = [scan_shard(piece, index, 3) for piece in data.draw(st.permutations(pieces))]
    tally = Tally.sum(tallies)
    want = naive.audit(example.problems, example.documents, example.ns)
    check_counts(tally, index, want)
    check_evidence(tally, index, want, example.documents)
    assert tally.file_bytes == shard.size


def essence(tally: Tally) -> dict[str, Any]:
    """Return what must not depend on how a corpus is stored."""
    return {
        "counts": (tally.windows, tally.records, tally.documents, tally.tokens, tally.unread_bytes),
        "skipped": {reason: amount.count for reason, amount in tally.skipped.items()},
        "grams": (tally.grams.keys.tolist(), tally.grams.counts.tolist()),
        "entries": (tally.entries.keys.tolist(), tally.entries.counts.tolist()),
        "evidence": tally.evidence.drop_columns(["shard", "piece"]).to_pylist(),
    }


def stored(texts: list[str]) -> dict[str, bytes]:
    """Return the same documents in every format, by the name of a file."""
    records = [{"text": text, "id": str(i)} for i, text in enumerate(texts)]
    lines = b"".join(tools.line(record["text"], id=record["id"]) for record in records)
    table = tools.table(texts, id=[record["id"] for record in records])
    return {
        "a.jsonl": lines,
        "crlf.jsonl": lines.replace(b"\n", b"\r\n"),
        "bom.jsonl": tools.BOM + lines,
        "utf16.jsonl": lines.decode().encode("utf-16"),
        **{f"a.jsonl.{codec}": compress(lines) for codec, compress in tools.COMPRESS.items()},
        "array.json": json.dumps(records).encode(),
        "pretty.json": json.dumps(records, indent=2, ensure_ascii=False).encode(),
        "a.parquet": tools.parquet(table),
        "groups.parquet": tools.parquet(table, row_group_size=2),
        "a.arrow": tools.arrow(table, 2),
        "stream.arrow": tools.arrow(table, 2, stream=True),
        "stream.arrow.gz": tools.COMPRESS["gz"](tools.arrow(table, stream=True)),
    }


def check_formats(folder: Path, texts: list[str], index: ProbeIndex) -> None:
    seen: dict[str, dict[str, Any]] = {}
    for name, data in stored(texts).items():
        (folder / name).write_bytes(data)
        (shard,) = Corpus("c", str(folder / name), id_field="id").shards(1 << 40)
        seen[name] = essence(scan_shard(shard, index, 3))
    for name, got in seen.items():
        assert got == seen["a.jsonl"], name


@brief
@given(example=CORPORA)
def test_any_format(folder: Path, example: strategies.Example) -> None:
    texts = [naive.clean(text) for text in example.documents]
    check_formats(folder, texts, build(example, "release"))


def test_every_oddity_in_any_format(folder: Path) -> None:
    texts = [naive.clean(text) for text in strategies.ODDITIES]
    index = ProbeIndex.build(Benchmark.from_surfaces({"p": " ".join(texts)}), [1, 2])
    check_formats(folder, texts, index)


def test_a_phrase_that_all_own_and_all_hold(folder: Path) -> None:
    """More matches than are held at a time, all of them ties."""
    problems = {f"p{i}": {"text": "find the value of x"} for i in range(8)}
    documents = ["find the value of x " * 12] * 20
    check(folder, strategies.Example(problems, documents, (2, 3)), "release", 3)


@pytest.mark.parametrize(("problems", "compiles"), [(30, False), (3000, True)])
def test_what_many_problems_own_is_counted_by_kernels(
    folder: Path, monkeypatch: pytest.MonkeyPatch, problems: int, compiles: bool
) -> None:
    """Plain Python would take minutes for an instruction that all problems share."""
    monkeypatch.setattr(tiers.scan, "bytes_left", tiers.scan.bytes_first - 1)
    shared = " ".join(WORDS[:40])
    index = ProbeIndex.build(Benchmark.from_surfaces({f"p{i}": f"{shared} {i}" for i in range(problems)}))
    tally = scan_shard(write(folder, [shared] * 2), index)
    assert tally.occurrences == 2 * 28
    assert len(tally.entries.keys) == problems
    assert (tiers.scan.bytes_left == 0) == compiles


def test_long_lines_and_long_tokens(folder: Path) -> None:
    long = "Σ" * 300_000 + " the end " + "é\u0301" * 100_000 + " of it " + "É" * 70_000
    problems = {"p": {"text": "the end"}, "q": {"text": "Σ" * 300_000}}
    check(folder, strategies.Example(problems, [long, "x " * 50_000 + "the end"], (1, 2)), "release", 3)


def test_the_ledger_line(folder: Path) -> None:
    index = ProbeIndex.build(Benchmark.from_surfaces({"p": "a b"}), [1])
    told: list[scan.Progress] = []
    scanned = scan.scan_piece(write(folder, ["a b", "c"]), index, 1, told.append)
    ledger = scanned.ledger
    assert (ledger["status"], ledger["reason"], ledger["error"]) == ("complete", None, None)
    assert (ledger["documents"], ledger["records"], ledger["tokens"]) == (2, 2, 3)
    assert ledger["unread_bytes"] == 0
    assert ledger["file_bytes"] == ledger["size"] == (folder / "corpus.jsonl").stat().st_size
    total = sum(told, scan.Progress())
    assert (total.documents, total.windows, total.file_bytes) == (2, 3, ledger["file_bytes"])


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b'{"text": "a"}', "complete", None),
        (b'{"text": "a"}\n{', "incomplete", None),
        (b"PK\x03\x04", "incomplete", "refused_zip"),
        (b"", "empty", None),
        (b"\n\n", "complete", None),
    ],
)
def test_the_status_of_a_piece(tmp_path: Path, data: bytes, status: str, reason: str | None) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    index = ProbeIndex.build(Benchmark.from_surfaces({"p": "a"}), [1])
    (shard,) = Corpus("c", str(tmp_path / "a.jsonl")).shards()
    ledger = scan.scan_piece(shard, index).ledger
    assert (ledger["status"], ledger["reason"]) == (status, reason)
    assert (ledger["unread_bytes"] > 0) == (status == "incomplete")

"""The index holds every n-gram and its owners, whatever the hash does."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests import naive, strategies, tools
from wmbxl import Corpus, ProbeIndex, hashing, kernels, scan_shard
from wmbxl import index as module
from wmbxl.benchmark import Benchmark
from wmbxl.errors import UsageError

BENCH = Benchmark.from_surfaces({"p": "Let $x$ be a value", "q": {"prompt": "be a value of X"}, "r": ""})


def contents(index: ProbeIndex) -> dict[tuple[int, str], set[tuple[str, str]]]:
    surfaces = [(p, channel) for p in index.problem_ids for channel in index.channels]
    return {(index.n_of(g), index.ngram(g)): {surfaces[s] for s in index.owners(g).tolist()} for g in range(index.size)}


def expected(
    problems: dict[str, dict[str, str]], ns: tuple[int, ...], profile: str
) -> dict[tuple[int, str], set[tuple[str, str]]]:
    out: dict[tuple[int, str], set[tuple[str, str]]] = {}
    for name, channels in problems.items():
        for channel, text in channels.items():
            for n in ns:
                for gram in naive.ngrams(naive.tokens(text, profile), n):
                    out.setdefault((n, gram), set()).add((name, channel))
    return out


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.corpora(), strategies.profiles())
def test_ngrams_and_owners(example: strategies.Example, profile: str) -> None:
    surfaces = {
        name: {channel: channels.get(channel, "") for channel in ("text", "answer")}
        for name, channels in example.problems.items()
    }
    index = ProbeIndex.build(Benchmark.from_surfaces(surfaces), example.ns, profile)  # type: ignore[arg-type]
    assert contents(index) == expected(surfaces, example.ns, profile)
    keys = [(name, channel, n) for name in surfaces for channel in ("text", "answer") for n in example.ns]
    want = naive.audit(surfaces, [], example.ns, profile).counts
    assert index.windows_total.tolist() == [want[key]["n_grams_total"] for key in keys]
    assert index.windows_unique.tolist() == [want[key]["n_grams_unique"] for key in keys]
    assert index.entries == len(keys)


def same(a: ProbeIndex, b: ProbeIndex) -> None:
    for name in ("profile", "ns", "problem_ids", "channels", "fingerprint"):
        assert getattr(a, name) == getattr(b, name)
    assert a.arrays.keys() == b.arrays.keys()
    for name, array in a.arrays.items():
        assert array.dtype == b.arrays[name].dtype
        assert array.tolist() == b.arrays[name].tolist()


def test_round_trip_through_bytes_and_file(tmp_path: Path) -> None:
    index = ProbeIndex.build(BENCH, [1, 3])
    same(index, ProbeIndex.from_bytes(index.to_bytes()))
    path = tmp_path / "index é.arrow"
    path.write_bytes(index.to_bytes())
    mapped = ProbeIndex.open(path)
    same(index, mapped)
    assert mapped.to_bytes() == index.to_bytes()
    assert mapped.nbytes == index.nbytes > 0


def test_an_index_can_not_be_written_to() -> None:
    index = ProbeIndex.build(BENCH, [1])
    assert not any(array.flags.writeable for array in index.arrays.values())


def test_the_fingerprint_stays() -> None:
    """A stored run is resumed only if this number is the same on every machine and in every version."""
    first = ProbeIndex.build(BENCH, [3, 1, 3])
    again = ProbeIndex.build(BENCH, (1, 3))
    assert first.fingerprint == again.fingerprint
    assert len(first.fingerprint) == 64
    assert first.to_bytes() == again.to_bytes()


@pytest.mark.parametrize(
    ("surfaces", "ns", "profile"),
    [
        ({"p": "a b c", "q": "d"}, (2,), "release"),
        ({"p": "a b d", "q": "c"}, (1,), "release"),
        ({"p": "a b", "q": "c d"}, (1,), "release"),  # the same tokens, cut elsewhere
        ({"p": "a b c", "r": "d"}, (1,), "release"),
        ({"q": "a b c", "p": "d"}, (1,), "release"),
        ({"p": "a b c", "q": "d"}, (1, 2), "release"),
        ({"p": "a b c", "q": "d"}, (1,), "raw"),
        ({"p": {"answer": "a b c"}, "q": {"answer": "d"}}, (1,), "release"),
    ],
)
def test_the_fingerprint_tells_audits_apart(surfaces: dict[str, Any], ns: tuple[int, ...], profile: str) -> None:
    one = ProbeIndex.build(Benchmark.from_surfaces({"p": "a b c", "q": "d"}), (1,))
    other = ProbeIndex.build(Benchmark.from_surfaces(surfaces), ns, profile)  # type: ignore[arg-type]
    assert one.fingerprint != other.fingerprint


def collide(monkeypatch: pytest.MonkeyPatch, seeds: int) -> list[int]:
    """Make all tokens hash alike under the first `seeds` seeds; return the seeds that are tried."""
    honest, tried = hashing.hash_tokens, []

    def hash_tokens(*args: Any) -> Any:
        tried.append(int(args[-1]))
        return honest(*args) * np.uint64(len(tried) > seeds)

    monkeypatch.setattr(hashing, "hash_tokens", hash_tokens)
    return tried


@pytest.mark.parametrize("seeds", [0, 1, 3])
def test_a_collision_makes_another_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seeds: int) -> None:
    plain = ProbeIndex.build(BENCH, [1, 2])
    tried = collide(monkeypatch, seeds)
    index = ProbeIndex.build(BENCH, [1, 2])
    assert len(set(tried)) == len(tried) == seeds + 1
    assert index.tables().parameters[kernels.SEED] == tried[-1]
    assert contents(index) == contents(plain)
    assert index.fingerprint == plain.fingerprint  # the seed decides no count
    documents = ["LET x be a VALUE", "of x of x", "value a be"]
    (tmp_path / "a.jsonl").write_bytes(tools.jsonl(documents))
    (shard,) = Corpus("c", str(tmp_path / "a.jsonl")).shards()
    assert scan_shard(shard, index) == scan_shard(shard, plain)


def test_there_is_an_end_to_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = collide(monkeypatch, 1000)
    with pytest.raises(UsageError, match="under each of 64 seeds"):
        ProbeIndex.build(BENCH, [1, 2])
    assert len(set(tried)) == len(tried) == 64


@pytest.mark.parametrize("long", ["", "in eight bytes", "ééééé"])
def test_tokens_that_differ_by_zero_bytes(tmp_path: Path, long: str) -> None:
    """Where a zero byte ends a token its length makes up for it: "a" and a zero, "b"."""
    pairs = [chr(code) + "\0" * zeros for code in range(0x30, 0x7B) for zeros in range(9)]
    problems = {f"p{i}": {"prompt": f"{long}{token} and"} for i, token in enumerate(pairs)}
    index = ProbeIndex.build(Benchmark.from_surfaces(problems), [1, 2], "raw")
    documents = [problem["prompt"] for problem in problems.values()][::2]
    (tmp_path / "a.jsonl").write_bytes(tools.jsonl(documents))
    (shard,) = Corpus("c", str(tmp_path / "a.jsonl")).shards()
    tally, want = scan_shard(shard, index), naive.audit(problems, documents, [1, 2], "raw")
    counts = dict(zip(tally.grams.keys.tolist(), map(tuple, tally.grams.counts.tolist()), strict=True))
    assert {(index.n_of(gram), index.ngram(gram)): count for gram, count in counts.items()} == want.ngrams


def test_hashes_are_those_of_their_version() -> None:
    """Indexes are kept in files, so whoever changes a formula has to raise its number, and then this."""
    index = ProbeIndex.build(Benchmark.from_surfaces({"p": "Let h be the channel of a two-antenna receiver"}), [3])
    digest = hashlib.sha256(b"".join(index.arrays[name].tobytes() for name in ("gram_hash", "filter", "slots")))
    assert (hashing.FORMULAS, digest.hexdigest()[:16]) == (2, "9006bd6b2ee4f891")


@pytest.mark.parametrize("parameters", [slice(0, 6), slice(0, 7)])
def test_an_index_of_other_hashes_is_not_scanned_with(tmp_path: Path, parameters: slice) -> None:
    index = ProbeIndex.build(BENCH, [1])
    older = np.append(index.arrays["parameters"][:6], np.uint64(1))[parameters]
    kept = replace(index, arrays={**index.arrays, "parameters": older}).to_bytes()
    assert contents(ProbeIndex.from_bytes(kept)) == contents(index)  # it still tells what was counted
    (tmp_path / "a.jsonl").write_bytes(tools.jsonl(["a"]))
    (shard,) = Corpus("c", str(tmp_path / "a.jsonl")).shards()
    with pytest.raises(UsageError, match="build it again"):
        scan_shard(shard, ProbeIndex.from_bytes(kept))


def test_a_collision_with_the_corpus_counts_nothing(tmp_path: Path) -> None:
    """Every window of the corpus is taken for a candidate; only text decides."""
    index = ProbeIndex.build(Benchmark.from_surfaces({"p": "a b"}), [2])
    arrays = dict(index.arrays)
    arrays["filter"] = np.full_like(arrays["filter"], 0xFFFFFFFFFFFFFFFF)
    documents = ["a b", "a  B", "ab", "a c", "b a b", "a bc", "xa b", "a b\u0301", "\\a b", "{a} {b}"]
    (tmp_path / "a.jsonl").write_bytes(tools.jsonl(documents))
    (shard,) = Corpus("c", str(tmp_path / "a.jsonl")).shards()
    forged = ProbeIndex(index.profile, index.ns, index.problem_ids, index.channels, index.fingerprint, arrays)
    want = naive.audit({"p": {"prompt": "a b"}}, documents, [2])
    assert scan_shard(shard, forged).grams.counts.tolist() == [list(want.ngrams[2, "a b"])]


@pytest.mark.parametrize("ns", [[0], [65], [-1, 13], [13, 0, 100]])
def test_n_out_of_range(ns: list[int]) -> None:
    with pytest.raises(UsageError, match="between 1 and 64") as error:
        ProbeIndex.build(BENCH, ns)
    bad = ", ".join(str(n) for n in sorted(ns) if not 1 <= n <= 64)
    assert str(error.value).endswith(f"found {bad}")


def test_no_n() -> None:
    with pytest.raises(UsageError, match="-n 13"):
        ProbeIndex.build(BENCH, [])


@pytest.mark.parametrize("n", [1, 64])
def test_the_outermost_n(n: int) -> None:
    words = [f"w{i}" for i in range(64)]
    index = ProbeIndex.build(Benchmark.from_surfaces({"p": " ".join(words)}), [n])
    assert index.size == 65 - n


@pytest.mark.parametrize("surfaces", [{"p": ""}, {"p": "", "q": " {}$\\alpha"}, {"p": "a b"}])
def test_nothing_long_enough(surfaces: dict[str, str], tmp_path: Path) -> None:
    index = ProbeIndex.build(Benchmark.from_surfaces(surfaces), [3])
    assert index.size == 0
    (tmp_path / "a.jsonl").write_bytes(tools.jsonl(["a b c d"]))
    (shard,) = Corpus("c", str(tmp_path / "a.jsonl")).shards()
    tally = scan_shard(shard, ProbeIndex.from_bytes(index.to_bytes()))
    assert (tally.windows, tally.occurrences) == ((2,), 0)


def test_an_index_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FORMAT", "wmbxl-index-0")
    data = ProbeIndex.build(BENCH, [1]).to_bytes()
    monkeypatch.undo()
    with pytest.raises(UsageError, match="build it again"):
        ProbeIndex.from_bytes(data)

"""Tallies add up, in any order."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmbxl.errors import UsageError
from wmbxl.tally import EVIDENCE, NAMES_KEPT, Amount, Sparse, Tally, cap_evidence

COUNTS = st.integers(0, 2**40)
REASONS = st.sampled_from(["not_json", "text_null", "truncated", "corrupt"])
AMOUNTS = st.dictionaries(REASONS, st.builds(Amount, COUNTS, COUNTS), max_size=3)


@st.composite
def sparse(draw: st.DrawFn, columns: int) -> Sparse:
    keys = sorted(draw(st.sets(st.integers(0, 12), max_size=6)))
    counts = draw(
        st.lists(st.lists(COUNTS, min_size=columns, max_size=columns), min_size=len(keys), max_size=len(keys))
    )
    return Sparse(np.array(keys, dtype=np.int64), np.array(counts, dtype=np.int64).reshape(-1, columns))


@st.composite
def evidence(draw: st.DrawFn, cap: int) -> pa.Table:
    row = st.fixed_dictionaries(
        {
            "entry": st.integers(0, 3),
            "priority": st.sampled_from([0, 1, 2, 2**63, 2**64 - 1]),  # ties are likely
            "shard": st.sampled_from(["a", "b", "é"]),
            "piece": st.sampled_from([0, 4096]),
            "row": st.integers(0, 3),
            "start": st.integers(0, 3),
            "end": st.just(9),
            "gram": st.just(1),
            "document_id": st.none() | st.just("id"),
            "snippet": st.sampled_from(["", "x"]),
        }
    )
    # A place is audited once, so no two rows of an entry have the same.
    rows = draw(st.lists(row, max_size=8, unique_by=lambda r: tuple(r[k] for k in list(r)[:6])))
    return cap_evidence(pa.Table.from_pylist(rows, schema=EVIDENCE), cap)


@st.composite
def tallies(draw: st.DrawFn, cap: int = 2, shard: str = "") -> Tally:
    found = draw(evidence(cap))
    if shard:  # pieces of their own, as in an audit: the rows of two tallies can't be the same place
        found = found.set_column(2, EVIDENCE.field("shard"), pa.array([shard] * len(found), pa.string()))
        found = cap_evidence(found, cap)
    return Tally(
        fingerprint="f",
        cap=cap,
        windows=(draw(COUNTS), draw(COUNTS)),
        **{name: draw(COUNTS) for name in ("pieces", "records", "documents", "tokens", "file_bytes")},
        decoded_bytes=draw(COUNTS),
        unread_bytes=draw(COUNTS),
        skipped=draw(AMOUNTS),
        faults=draw(AMOUNTS),
        names=frozenset(draw(st.sets(st.sampled_from([f"field{i}" for i in range(60)]), max_size=NAMES_KEPT))),
        grams=draw(sparse(2)),
        entries=draw(sparse(1)),
        evidence=found,
    )


EMPTY = Tally.empty("f", 2, 2)


@settings(deadline=None)
@given(tallies(), tallies(), tallies())
def test_addition_is_associative(a: Tally, b: Tally, c: Tally) -> None:
    assert (a + b) + c == a + (b + c) == Tally.sum([a, b, c])


@settings(deadline=None)
@given(tallies(shard="x"), tallies(shard="y"))
def test_addition_is_commutative(a: Tally, b: Tally) -> None:
    assert a + b == b + a


@settings(deadline=None)
@given(tallies())
def test_the_empty_tally_is_the_identity(a: Tally) -> None:
    assert EMPTY + a == a + EMPTY == Tally.sum([a]) == a


@settings(deadline=None)
@given(st.tuples(*(tallies(shard=shard) for shard in "vwxyz")), st.randoms(use_true_random=False))
def test_order_does_not_matter(parts: tuple[Tally, ...], rng: random.Random) -> None:
    shuffled = list(parts)
    rng.shuffle(shuffled)
    cut = rng.randrange(1, 5)
    assert Tally.sum(shuffled[:cut]) + Tally.sum(shuffled[cut:]) == Tally.sum(parts)


@settings(deadline=None)
@given(tallies())
def test_the_bytes_carry_everything(a: Tally) -> None:
    again = Tally.from_bytes(a.to_bytes())
    assert again == a
    assert again.to_bytes() == a.to_bytes()
    for name in ("windows", "skipped", "faults", "names", "unread_bytes", "cap", "fingerprint"):
        assert getattr(again, name) == getattr(a, name)
    assert again.evidence.equals(a.evidence)
    assert again.grams.counts.tolist() == a.grams.counts.tolist()
    assert again.entries.keys.tolist() == a.entries.keys.tolist()


@settings(deadline=None)
@given(tallies(), tallies())
def test_sums_by_hand(a: Tally, b: Tally) -> None:
    both = a + b
    assert both.unread_bytes == a.unread_bytes + b.unread_bytes
    assert both.windows == (a.windows[0] + b.windows[0], a.windows[1] + b.windows[1])
    assert (both.grams.dense(13) == a.grams.dense(13) + b.grams.dense(13)).all()
    assert (both.entries.dense(13) == a.entries.dense(13) + b.entries.dense(13)).all()
    assert both.occurrences == a.occurrences + b.occurrences
    for reason in {*a.skipped, *b.skipped}:
        assert both.skipped[reason] == a.skipped.get(reason, Amount()) + b.skipped.get(reason, Amount())


def rows(*values: tuple[int, int, int]) -> pa.Table:
    """Return evidence of (entry, priority, row)."""
    blank: dict[str, Any] = {
        "shard": "s",
        "piece": 0,
        "start": 0,
        "end": 1,
        "gram": 0,
        "document_id": None,
        "snippet": "",
    }
    listed = [{**blank, "entry": entry, "priority": priority, "row": row} for entry, priority, row in values]
    return pa.Table.from_pylist(listed, schema=EVIDENCE)


def test_the_cap_keeps_the_smallest_of_each_entry() -> None:
    table = rows((1, 2**63 + 5, 0), (0, 9, 1), (1, 3, 2), (1, 3, 1), (0, 2**64 - 1, 0), (1, 7, 9))
    kept = cap_evidence(table, 2).select(["entry", "priority", "row"]).to_pydict()
    assert kept == {"entry": [0, 0, 1, 1], "priority": [9, 2**64 - 1, 3, 3], "row": [1, 0, 1, 2]}
    assert cap_evidence(table, 0).num_rows == 0
    assert cap_evidence(table, 10).num_rows == 6


def test_evidence_can_be_dropped() -> None:
    tally = Tally("f", 2, (1, 2), documents=3, evidence=rows((0, 1, 2)))
    assert tally.without_evidence() == Tally("f", 2, (1, 2), documents=3)
    assert tally != tally.without_evidence()


@pytest.mark.parametrize("other", [Tally.empty("g", 2, 2), Tally.empty("f", 2, 3)])
def test_tallies_of_different_audits_do_not_mix(other: Tally) -> None:
    with pytest.raises(UsageError, match="can't be added"):
        _ = EMPTY + other


def test_no_tallies_have_no_sum() -> None:
    with pytest.raises(UsageError, match=r"Tally\.empty"):
        Tally.sum([])


def test_a_tally_is_not_equal_to_something_else() -> None:
    assert EMPTY != "tally"

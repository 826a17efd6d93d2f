from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmbxl.errors import FieldNotFound, UsageError
from wmbxl.papers import paper_disjoint_slice, paper_disjoint_split


def benchmark(papers, formats):
    return pd.DataFrame({"problem_id": [f"p{k:04d}" for k in range(len(papers))], "paper_id": papers, "type": formats})


def naive(records, fraction, seed):
    """The rule in plain Python, one paper at a time."""
    by_paper = {}
    for row in records.itertuples():
        by_paper.setdefault(str(row.paper_id), []).append(row.type)
    order = {paper: hashlib.sha256(f"{seed}:{paper}".encode()).hexdigest() for paper in by_paper}
    kinds = sorted(set(records["type"]))
    target = {kind: fraction * (records["type"] == kind).sum() for kind in kinds}
    total = round(fraction * len(records))
    taken, chosen = [], set()
    while len(taken) < total:

        def distance(paper, taken=taken):
            after = taken + by_paper[paper]
            spread = sum(abs(after.count(kind) - target[kind]) for kind in kinds)
            return round(spread, 9), abs(len(after) - total), order[paper]

        best = min(by_paper.keys() - chosen, key=distance)
        chosen.add(best)
        taken = taken + by_paper[best]
    return chosen


@settings(deadline=None, max_examples=40)
@given(data=st.data(), seed=st.integers(0, 5), fraction=st.sampled_from([0.1, 0.2, 0.5]))
def test_the_split_follows_its_rule(data, seed, fraction):
    size = data.draw(st.integers(5, 40))
    records = benchmark(
        data.draw(st.lists(st.integers(0, 12), min_size=size, max_size=size)),
        data.draw(st.lists(st.sampled_from(["MCQ", "fill", "full"]), min_size=size, max_size=size)),
    )
    split = paper_disjoint_split(records, fraction, seed)
    papers = records.set_index("problem_id")["paper_id"].astype(str)
    assert set(papers[list(split.test.ids)]) == naive(records, fraction, seed)
    assert sorted(split.train.ids + split.test.ids) == sorted(records["problem_id"])


def test_a_split_of_the_paper_s_size():
    rng = np.random.default_rng(0)
    papers = rng.choice(836, size=4027, p=rng.dirichlet(np.ones(836)))
    formats = rng.choice(["MCQ", "fill_blank_25", "fill_blank_50", "fill_blank_75", "fill_blank_100"], size=4027)
    records = benchmark(papers, formats)
    split = paper_disjoint_split(records)
    by_id = records.set_index("problem_id")
    test, train = by_id.loc[list(split.test.ids)], by_id.loc[list(split.train.ids)]
    assert not set(test["paper_id"]) & set(train["paper_id"])
    assert 805 <= len(test) <= 806
    shares = test["type"].value_counts() / by_id["type"].value_counts()
    assert shares.between(0.19, 0.21).all()
    shuffled = paper_disjoint_split(records.sample(frac=1, random_state=1))
    assert shuffled == split
    assert paper_disjoint_split(records, seed=1) != split


def test_the_slice_and_its_errors():
    records = pd.DataFrame(
        {"problem_id": list("abcd"), "paper_id": [1, 1, 2, 3], "split": ["train", "test", "test", "train"]}
    )
    assert paper_disjoint_slice(records).ids == ("c",)
    with pytest.raises(UsageError, match=r"no record has split = 'dev'; found train, test.*--split-field"):
        paper_disjoint_slice(records, train="dev")
    with pytest.raises(FieldNotFound, match="--paper-field"):
        paper_disjoint_slice(records, paper_field="paper")
    records.loc[2, "paper_id"] = None
    with pytest.raises(UsageError, match=r"1 record.* have no paper_id, such as 'c'"):
        paper_disjoint_slice(records)


@pytest.mark.parametrize("fraction", [0, 1, 20])
def test_a_fraction_out_of_range(fraction):
    with pytest.raises(UsageError, match="between 0 and 1 for --paper-split"):
        paper_disjoint_split(benchmark([1, 2], ["a", "a"]), fraction)

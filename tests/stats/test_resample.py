from __future__ import annotations

from dataclasses import replace

import dask
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmbxl.errors import UsageError
from wmbxl.stats.compare import full_vs_view, replicate_accuracies
from wmbxl.stats.resample import Bootstrap, cluster_sums, replicate, resample


def total(sums):
    return sums


UNIT = np.eye(7)


@pytest.mark.parametrize("rng", ["philox", "release"])
@settings(deadline=None, max_examples=25)
@given(rows=st.integers(1, 50), seed=st.integers(0, 2**64 - 1), stream=st.integers(0, 3))
def test_any_chunking_gives_the_same(rng, rows, seed, stream):
    bootstrap = Bootstrap(replicates=41, seed=seed, rng=rng)
    whole = resample(UNIT, total, bootstrap, stream).compute()
    chunked = resample(UNIT, total, replace(bootstrap, rows_per_chunk=rows), stream).compute()
    assert np.array_equal(whole, chunked)


@pytest.mark.parametrize("rng", ["philox", "release"])
def test_any_scheduler_gives_the_same(rng):
    from distributed import Client

    lazy = resample(UNIT, total, Bootstrap(replicates=200, rng=rng, rows_per_chunk=30))
    found = [lazy.compute(scheduler=scheduler) for scheduler in ("synchronous", "threads")]
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
        found.append(lazy.compute())
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("rng", ["philox", "release"])
def test_more_replicates_begin_with_the_same_ones(rng):
    few, many = (resample(UNIT, total, Bootstrap(replicates=size, rng=rng)).compute() for size in (10, 500))
    assert np.array_equal(few, many[:10])


def test_blocks_within_a_chunk_do_not_matter(monkeypatch):
    whole = resample(UNIT, total, Bootstrap(replicates=300)).compute(scheduler="synchronous")
    monkeypatch.setattr("wmbxl.stats.resample._DRAWS_AT_ONCE", 20)
    assert np.array_equal(whole, resample(UNIT, total, Bootstrap(replicates=300)).compute(scheduler="synchronous"))


@pytest.mark.parametrize("rng", ["philox", "release"])
def test_every_replicate_draws_as_many_units_as_there_are(rng):
    counts = resample(UNIT, total, Bootstrap(replicates=4000, rng=rng)).compute()
    assert (counts.sum(axis=1) == 7).all()
    # A unit's count is binomial: mean 1, variance 6/7.
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.06)
    np.testing.assert_allclose(counts.var(axis=0), 6 / 7, atol=0.08)


def test_streams_and_seeds_differ():
    def draws(seed, stream, rng):
        return resample(UNIT, total, Bootstrap(replicates=50, seed=seed, rng=rng), stream).compute()

    for rng in ("philox", "release"):
        assert not np.array_equal(draws(0, 0, rng), draws(0, 1, rng))
        assert not np.array_equal(draws(0, 0, rng), draws(1, 0, rng))


def test_release_is_the_authors_script_bit_for_bit(simulated):
    verdicts, view = simulated(items=97, models=4, view=80)
    replicates, seed = 2_000, 5

    index = np.random.default_rng(seed).integers(0, 97, size=(replicates, 97))
    inside = verdicts.contains(view.ids)
    expected = []
    for k in range(4):
        right = verdicts.correct[:, k][index]
        kept = inside[index]
        full = right.sum(axis=1) / 97 * 100
        part = (right & kept).sum(axis=1) / kept.sum(axis=1) * 100
        expected.append(np.percentile(full - part, [2.5, 97.5]))

    table = full_vs_view(verdicts, [view], Bootstrap(replicates=replicates, seed=seed, rng="release"))
    assert table[["ci_low_pp", "ci_high_pp"]].to_numpy().tolist() == np.array(expected).tolist()


@pytest.mark.parametrize("rng", ["philox", "release"])
def test_clusters_of_one_are_items(simulated, rng):
    verdicts, view = simulated()
    sets = [verdicts.contains(view.ids)]
    bootstrap = Bootstrap(replicates=300, rng=rng)
    items = replicate_accuracies(verdicts, sets, bootstrap)
    clusters = replicate_accuracies(replace(verdicts, clusters=verdicts.ids), sets, bootstrap)
    assert np.array_equal(items.draws, clusters.draws)
    assert np.array_equal(items.influence, clusters.influence)


def test_clusters_are_drawn_whole():
    totals = cluster_sums(np.eye(6), ("a", "a", "b", "b", "c", "c"))
    counts = resample(totals, total, Bootstrap(replicates=100)).compute()
    assert np.array_equal(counts[:, 0::2], counts[:, 1::2])
    assert (counts.sum(axis=1) == 6).all()


def test_large_totals_are_summed_exactly():
    totals = np.array([[2.0**24 + 1], [1.0]])
    draws = resample(totals, total, Bootstrap(replicates=50)).compute().ravel()
    assert set(draws) <= {2.0**25 + 2, 2.0**24 + 2, 2.0}


def test_nothing_to_resample():
    with pytest.raises(UsageError, match="no problems to resample"):
        resample(np.zeros((0, 1)), total, Bootstrap())


def test_a_replicated_statistic_keeps_to_its_scheduler():
    with dask.config.set(scheduler="synchronous"):
        found = replicate(UNIT, total, Bootstrap(replicates=20))
    assert found.draws.shape == (20, 7)
    assert found.influence.shape == (7, 7)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"replicates": 0}, "at least one replicate"),
        ({"seed": -1}, "from 0 to"),
        ({"level": 95}, "between 0 and 1"),
    ],
)
def test_wrong_settings_are_named(wrong, message):
    with pytest.raises(UsageError, match=message):
        Bootstrap(**wrong)

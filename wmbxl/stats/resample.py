"""The bootstrap: resample problems, and see how accuracies move.

A replicate is a vector of counts: how often each problem (or cluster of problems) was drawn. An accuracy
under a replicate is a ratio of two sums, so all models and all views come from one product, counts times a
matrix of totals, and no verdict is ever gathered row by row. Sums of small integers are exact in floating
point in any order, which is why results do not depend on chunks, schedulers or workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wmbxl.errors import UsageError

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
Method = Literal["percentile", "basic", "bca"]
Rng = Literal["philox", "release"]

# Draws per Dask chunk when the caller doesn't say, and draws held at once within a chunk: half a megabyte of
# them stays in a core's cache.
_DRAWS_PER_CHUNK = 2**21
_DRAWS_AT_ONCE = 2**16
# Philox gives four 64-bit words at each step of its counter, which make eight draws.
_WORDS_PER_STEP, _DRAWS_PER_STEP = 4, 8


@dataclass(frozen=True)
class Bootstrap:
    """How to resample, and how to read an interval off the replicates.

    Attributes
    ----------
    replicates : int
        Number of resamples, B.
    seed : int
        From 0 to 2**64 - 1.
    rng : {"philox", "release"}
        ``"philox"`` draws every replicate from its own place in a counter-based stream. ``"release"`` draws
        ``numpy.random.default_rng(seed).integers(0, n, size=(B, n))`` over problems in sorted order: the
        protocol of the WirelessMathBench-XL authors, to the last digit on the same verdicts.
    method : {"percentile", "basic", "bca"}
        Kind of interval.
    level : float
        Coverage asked for, between 0 and 1.
    rows_per_chunk : int, optional
        Replicates per Dask chunk. It bounds memory and has no influence on any result.

    Raises
    ------
    UsageError
        A value is out of range.
    """

    replicates: int = 10_000
    seed: int = 0
    rng: Rng = "philox"
    method: Method = "percentile"
    level: float = 0.95
    rows_per_chunk: int | None = None

    def __post_init__(self) -> None:
        if self.replicates < 1:
            raise UsageError(f"expected at least one replicate (-B), found {self.replicates}.")
        if not 0 <= self.seed < 2**64:
            raise UsageError(f"expected a seed (--seed) from 0 to 2**64 - 1, found {self.seed}.")
        if not 0 < self.level < 1:
            raise UsageError(f"expected a level (--level) between 0 and 1, such as 0.95, found {self.level}.")

    def chunk_rows(self, units: int) -> int:
        """Replicates per chunk for so many units."""
        return self.rows_per_chunk if self.rows_per_chunk else max(1, _DRAWS_PER_CHUNK // units)


def resample(totals: Floats, statistic: Statistic, bootstrap: Bootstrap, stream: int = 0) -> da.Array:
    """Evaluate statistics under every replicate, lazily.

    Parameters
    ----------
    totals : ndarray, shape (U, C)
        Whole numbers: what each unit (problem or cluster) adds to each of C sums.
    statistic : callable
        Maps sums of shape (rows, C) to statistics of shape (rows, S). It must be picklable.
    bootstrap : Bootstrap
        The protocol.
    stream : int
        Independent streams of one seed, for samples that are to be resampled each on its own.

    Returns
    -------
    dask.array.Array of float64, shape (B, S)
        Chunked along replicates. The values are the same for any chunking and any scheduler.

    Raises
    ------
    UsageError
        There are no units to draw.
    """
    if len(totals) == 0:
        raise UsageError("there are no problems to resample. Check that verdicts and views name the same problems.")
    # Every sum of a replicate is a whole number below this bound, so single precision is exact where it fits.
    exact_in_single = len(totals) * np.abs(totals).max(initial=0) < 2**24
    packed = totals.astype(np.float32 if exact_in_single else np.float64)
    draw = _draw_release if bootstrap.rng == "release" else _draw_philox
    return draw(packed, statistic, bootstrap, stream)


def _width(totals: NDArray[Any], statistic: Statistic) -> int:
    return len(statistic(totals[:1].astype(np.float64))[0])


def _draw_philox(totals: NDArray[Any], statistic: Statistic, bootstrap: Bootstrap, stream: int) -> da.Array:
    indices = da.arange(bootstrap.replicates, chunks=bootstrap.chunk_rows(len(totals)))
    return indices.map_blocks(
        _philox_block,
        # A node of the graph, so that a scheduler holds it once and not once per task.
        totals=dask.delayed(totals),
        statistic=statistic,
        key=(bootstrap.seed, stream),
        chunks=(indices.chunks[0], (_width(totals, statistic),)),
        new_axis=1,
        meta=np.empty((0, 0)),
    )


def _philox_block(
    indices: NDArray[np.int64], totals: NDArray[Any], statistic: Statistic, key: tuple[int, int]
) -> Floats:
    units = len(totals)
    steps = -(-units // _DRAWS_PER_STEP)
    bits = np.random.Philox(key=np.array(key, dtype=np.uint64))
    bits.advance(int(indices[0]) * steps)

    def draw(rows: int) -> NDArray[np.int64]:
        words = bits.random_raw(rows * steps * _WORDS_PER_STEP).astype("<u8", copy=False)
        halves = words.view("<u4").reshape(rows, steps * _DRAWS_PER_STEP)[:, :units]
        # Multiply and shift: the chance of a unit is off by less than units / 2**32 of itself.
        return (halves.astype(np.uint64) * np.uint64(units) >> np.uint64(32)).view(np.int64)

    return _evaluate(draw, len(indices), totals, statistic)


def _draw_release(totals: NDArray[Any], statistic: Statistic, bootstrap: Bootstrap, stream: int) -> da.Array:
    # Bounded integers use up a varying number of words, so the stream can only be followed: each block hands
    # the state of the generator to the next.
    spawn = (stream,) if stream else ()
    sequence = np.random.SeedSequence(bootstrap.seed, spawn_key=spawn)
    state: Any = np.random.PCG64(sequence).state
    shared = dask.delayed(totals)
    follow = dask.delayed(_release_block, nout=2, pure=False)
    rows, width = bootstrap.chunk_rows(len(totals)), _width(totals, statistic)
    blocks = []
    for start in range(0, bootstrap.replicates, rows):
        size = min(rows, bootstrap.replicates - start)
        state, block = follow(state, size, shared, statistic)
        blocks.append(da.from_delayed(block, shape=(size, width), dtype=np.float64))
    return da.concatenate(blocks, axis=0)


def _release_block(state: Any, rows: int, totals: NDArray[Any], statistic: Statistic) -> tuple[Any, Floats]:
    bits = np.random.PCG64()
    bits.state = state
    generator, units = np.random.Generator(bits), len(totals)

    def draw(size: int) -> NDArray[np.int64]:
        return generator.integers(0, units, size=(size, units))

    values = _evaluate(draw, rows, totals, statistic)
    return bits.state, values


def _evaluate(draw: Callable[[int], NDArray[Any]], rows: int, totals: NDArray[Any], statistic: Statistic) -> Floats:
    step = max(1, _DRAWS_AT_ONCE // len(totals))
    sizes = [min(step, rows - start) for start in range(0, rows, step)]
    return np.concatenate([statistic(_sums(draw(size), totals)) for size in sizes])


def _sums(drawn: NDArray[Any], totals: NDArray[Any]) -> Floats:
    rows, units = drawn.shape
    flat = drawn + np.arange(rows)[:, None] * units
    counts = np.bincount(flat.ravel(), minlength=rows * units).reshape(rows, units)
    sums: Floats = (counts.astype(totals.dtype) @ totals).astype(np.float64)
    return sums


@dataclass(frozen=True)
class Replicates:
    """Statistics, and how they vary under resampling.

    Attributes
    ----------
    estimate : ndarray of float64, shape (S,)
        The statistics of the data as they are.
    draws : ndarray of float64, shape (B, S)
        The statistics of each replicate; NaN where a replicate leaves one undefined.
    influence : ndarray of float64, shape (U, S)
        How far each unit pulls each statistic, from leaving it out (jackknife); BCa intervals need it.
    """

    estimate: Floats
    draws: Floats
    influence: Floats

    def columns(self, chosen: slice | list[int]) -> Replicates:
        """Keep some of the statistics."""
        return Replicates(self.estimate[chosen], self.draws[:, chosen], self.influence[:, chosen])

    def minus(self, other: Replicates) -> Replicates:
        """Subtract statistics of the same resamples."""
        return Replicates(self.estimate - other.estimate, self.draws - other.draws, self.influence - other.influence)

    def minus_independent(self, other: Replicates) -> Replicates:
        """Subtract statistics of another sample, resampled on its own."""
        return Replicates(
            self.estimate - other.estimate,
            self.draws - other.draws,
            np.concatenate([self.influence, -other.influence]),
        )


def cluster_sums(totals: Floats, clusters: Sequence[str] | None) -> Floats:
    """Sum what items add to some totals over the units that are resampled.

    Parameters
    ----------
    totals : ndarray, shape (N, C)
        One row per item.
    clusters : sequence of str, length N, or None
        Items with the same label are resampled together; None resamples items one by one.

    Returns
    -------
    ndarray, shape (U, C)
        One row per cluster, in sorted order; `totals` itself without clusters.
    """
    if clusters is None:
        return totals
    labels, cluster = np.unique(np.array(clusters, dtype=object), return_inverse=True)
    summed = np.zeros((len(labels), totals.shape[1]))
    np.add.at(summed, cluster, totals)
    return summed


def replicate(totals: Floats, statistic: Statistic, bootstrap: Bootstrap, stream: int = 0) -> Replicates:
    """Resample, and compute.

    Parameters
    ----------
    totals, statistic, bootstrap, stream
        As for `resample`.

    Returns
    -------
    Replicates
        In memory; ``8 * B * S`` bytes for the draws. Without any unit, what the statistic is of sums of 0.

    Examples
    --------
    >>> right = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> found = replicate(right, lambda sums: sums / 4, Bootstrap(replicates=1000))
    >>> found.estimate.item(), found.draws.shape
    (0.75, (1000, 1))
    """
    whole = totals.sum(axis=0, keepdims=True)
    if len(totals) == 0:
        nothing = statistic(whole)
        return Replicates(nothing[0], nothing, nothing[:0])
    # Dask brings the threads; more of them inside each product only get in each other's way.
    with threadpool_limits(limits=1, user_api="blas"):
        draws = resample(totals, statistic, bootstrap, stream).compute()
    left_out = statistic(whole - totals)
    units = len(totals)
    influence = (units - 1) / units * (left_out.mean(axis=0) - left_out)
    return Replicates(statistic(whole)[0], draws, influence)

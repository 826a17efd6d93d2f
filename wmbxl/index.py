"""The benchmark turned round: every n-gram of every surface, and the problems that own it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from unicodedata import unidata_version

import numpy as np
import pyarrow as pa

from wmbxl import hashing, kernels
from wmbxl.benchmark import Benchmark
from wmbxl.errors import UsageError
from wmbxl.text import Normaliser, Profile

Array = np.ndarray[Any, Any]

FORMAT = "wmbxl-index-1"
_BITS_PER_QGRAM = 8
_SHORT_WINDOW = 10  # tokens
_FEW_TOKENS = 1 << 18  # of a benchmark
_FIRST_SEED = 0x51ED270B74A1C3D5
_SEEDS = 64  # that are tried
_NUMBERS = ("surface_bounds", "surface_tokens", "gram_bounds", "owner_bounds", "parameters", "powers")
_ARRAYS = ("text", *_NUMBERS, "gram_start", "gram_end", "gram_hash", "slots", "filter", "owners", "ns")


@dataclass(frozen=True)
class ProbeIndex:
    """The n-grams of a benchmark, for every n, and who owns them. Immutable.

    Build one with `ProbeIndex.build`. A *surface* is one problem's text in one channel; surface ``p * C + c`` is
    problem ``p`` in channel ``c``. An *entry* is a surface at one n: entry ``surface * N + k`` for ``ns[k]``.

    Attributes
    ----------
    profile : {"release", "raw"}
    ns : tuple of int, ascending
    problem_ids : tuple of str
    channels : tuple of str
    fingerprint : str
        sha256 of the content that decides counts; the same for any machine or version of the tables.
    arrays : dict of numpy arrays, read-only
    """

    profile: Profile
    ns: tuple[int, ...]
    problem_ids: tuple[str, ...]
    channels: tuple[str, ...]
    fingerprint: str
    arrays: dict[str, Array] = field(repr=False, compare=False)

    @classmethod
    def build(cls, benchmark: Benchmark, ns: Iterable[int] = (13,), profile: Profile = "release") -> ProbeIndex:
        """Index a benchmark.

        Parameters
        ----------
        benchmark : Benchmark
        ns : iterable of int
            Lengths of n-grams in tokens, 1 to 64, each counted apart in the same pass.
        profile : {"release", "raw"}
            The normalisation, see `wmbxl.text.Normaliser`.

        Raises
        ------
        UsageError
            If an n is out of range or none is given, or if n-grams can't be told apart by their hashes.

        Examples
        --------
        >>> from wmbxl.benchmark import Benchmark
        >>> bench = Benchmark.from_surfaces({"p1": "a b c", "p2": "b c d"})
        >>> index = ProbeIndex.build(bench, ns=[2])
        >>> [index.ngram(g) for g in range(index.size)]
        ['a b', 'b c', 'c d']
        """
        lengths = _check_ns(ns)
        surfaces = _Surfaces.of(benchmark, Normaliser(profile))
        tables = _hash_tables(surfaces, lengths, profile)
        content = [FORMAT, unidata_version, profile, lengths, benchmark.ids, benchmark.channels]
        digest = hashlib.sha256(json.dumps(content).encode())
        digest.update(surfaces.bounds.tobytes())
        digest.update(surfaces.text.tobytes())
        made = cls(profile, lengths, benchmark.ids, benchmark.channels, digest.hexdigest(), tables)
        return cls.from_bytes(made.to_bytes())

    # ------------------------------------------------------------ shape

    @property
    def size(self) -> int:
        """Number of distinct n-grams, over all n."""
        return len(self.arrays["gram_start"])

    @property
    def entries(self) -> int:
        """Number of entries: problems × channels × lengths."""
        return len(self.problem_ids) * len(self.channels) * len(self.ns)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(array.nbytes for array in self.arrays.values())

    def n_of(self, gram: int) -> int:
        """Return the n of an n-gram."""
        return self.ns[int(np.searchsorted(self.arrays["gram_bounds"], gram, side="right")) - 1]

    @cached_property
    def gram_lengths(self) -> Array:
        """Position in `ns` of every n-gram; uint8, shape (size,)."""
        return np.repeat(np.arange(len(self.ns), dtype=np.uint8), np.diff(self.arrays["gram_bounds"]))

    def ngram(self, gram: int) -> str:
        """Return the text of an n-gram."""
        start, end = int(self.arrays["gram_start"][gram]), int(self.arrays["gram_end"][gram])
        return self.arrays["text"][start:end].tobytes().decode()

    def owners(self, gram: int) -> Array:
        """Return the surfaces that own an n-gram; int32."""
        bounds = self.arrays["owner_bounds"]
        return self.arrays["owners"][int(bounds[gram]) : int(bounds[gram + 1])]

    def owner_entries(self, grams: Array) -> tuple[Array, Array]:
        """Return (position in `grams`, entry) for every owner of every n-gram in `grams`."""
        bounds = self.arrays["owner_bounds"].astype(np.int64)
        first, count = bounds[grams], bounds[np.asarray(grams) + 1] - bounds[grams]
        which = np.repeat(np.arange(len(grams)), count)
        within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        surfaces = self.arrays["owners"][first[which] + within].astype(np.int64)
        return which, surfaces * len(self.ns) + self.gram_lengths[np.asarray(grams)[which]]

    def problems_of(self, entries: Array) -> Array:
        """Return the number of the problem of each entry; int64."""
        return np.asarray(entries) // (len(self.channels) * len(self.ns))

    @property
    def windows_total(self) -> Array:
        """Windows of every entry, repeats counted; int64, shape (entries,)."""
        tokens = self.arrays["surface_tokens"]
        return np.maximum(0, tokens[:, None] - np.array(self.ns) + 1).ravel()

    @property
    def windows_unique(self) -> Array:
        """Distinct n-grams of every entry; int64, shape (entries,)."""
        _, entries = self.owner_entries(np.arange(self.size))
        return np.bincount(entries, minlength=self.entries)

    def tables(self) -> kernels.Tables:
        """Return what the kernels need.

        Raises
        ------
        UsageError
            If another version of wmbxl, which had other hashes, made the index.
        """
        parameters = self.arrays["parameters"]
        if len(parameters) <= kernels.FORMULAS or parameters[kernels.FORMULAS] != hashing.FORMULAS:
            raise UsageError(
                "another version of wmbxl made this index, with other hashes: build it again to scan with it"
            )
        return kernels.Tables(**{name: self.arrays[name] for name in kernels.Tables._fields})

    # ------------------------------------------------------------ Arrow

    def to_bytes(self) -> bytes:
        """Return the index as an Arrow IPC file of one row."""
        columns: dict[str, Any] = {"problem_ids": pa.array([list(self.problem_ids)], pa.large_list(pa.string()))}
        for name in _ARRAYS:
            values = pa.array(self.arrays[name])
            columns[name] = pa.LargeListArray.from_arrays([0, len(values)], values)
        about = {
            "format": FORMAT,
            "profile": self.profile,
            "channels": self.channels,
            "fingerprint": self.fingerprint,
        }
        table = pa.table(columns).replace_schema_metadata({"wmbxl": json.dumps(about)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> ProbeIndex:
        """Read an index that `to_bytes` wrote."""
        return cls._from_reader(pa.ipc.open_file(pa.py_buffer(data)))

    @classmethod
    def open(cls, path: str | Path) -> ProbeIndex:
        """Map a local index file into memory; pages are shared between processes and read when touched."""
        return cls._from_reader(pa.ipc.open_file(pa.memory_map(str(path))))

    @classmethod
    def _from_reader(cls, reader: Any) -> ProbeIndex:
        about = json.loads(reader.schema.metadata[b"wmbxl"])
        if about["format"] != FORMAT:
            raise UsageError(f"the index has format {about['format']}, this version reads {FORMAT}: build it again")
        row = reader.get_batch(0)
        arrays = {name: row.column(name).values.to_numpy(zero_copy_only=True) for name in _ARRAYS}
        ids = tuple(row.column("problem_ids").values.to_pylist())
        ns = tuple(int(n) for n in arrays["ns"])
        return cls(about["profile"], ns, ids, tuple(about["channels"]), about["fingerprint"], arrays)


def _check_ns(ns: Iterable[int]) -> tuple[int, ...]:
    lengths = tuple(sorted({int(n) for n in ns}))
    if not lengths:
        raise UsageError("no n given: name at least one length, such as -n 13")
    bad = [n for n in lengths if not 1 <= n <= kernels.LONGEST_N]
    if bad:
        raise UsageError(f"n must lie between 1 and {kernels.LONGEST_N}; found {', '.join(map(str, bad))}")
    return lengths


@dataclass(frozen=True)
class _Surfaces:
    """All surfaces, normalised, one after the other: bytes, and token places."""

    text: Array
    starts: Array
    ends: Array
    kinds: Array  # equal for tokens that are equal
    bounds: Array  # surface -> first token

    @property
    def first_of_kind(self) -> Array:
        """The first token of each kind."""
        return np.unique(self.kinds, return_index=True)[1]

    def windows(self, n: int) -> Array:
        """Return the first token of every window of `n` tokens that lies in one surface."""
        token = np.arange(len(self.starts))
        return token[token + n <= np.repeat(self.bounds[1:], np.diff(self.bounds))]

    @classmethod
    def of(cls, benchmark: Benchmark, normaliser: Normaliser) -> _Surfaces:
        tokens = [
            [token.encode() for token in normaliser.tokens(problem.surfaces[channel])]
            for problem in benchmark.problems
            for channel in benchmark.channels
        ]
        lengths = np.array([len(token) for surface in tokens for token in surface], dtype=np.int64)
        starts = np.cumsum(lengths + 1) - lengths - 1
        # Words of eight bytes are loaded, up to seven of them behind a token.
        joined = b" ".join(token for surface in tokens for token in surface) + b" " * 8
        bounds = np.cumsum([0] + [len(surface) for surface in tokens])
        numbers: dict[bytes, int] = {}
        kinds = [numbers.setdefault(token, len(numbers)) for surface in tokens for token in surface]
        text = np.frombuffer(joined, dtype=np.uint8)
        return cls(text, starts, starts + lengths, np.array(kinds, dtype=np.int64), bounds.astype(np.int64))


def _sampling(shortest: int, tokens: int) -> tuple[int, int]:
    """Return (q, stride): which q-grams to sample so that every window of at least `shortest` tokens holds one.

    Shorter q-grams lie further apart, which counts for a short window, but more of a large benchmark's occur anywhere.
    """
    q = 3 if shortest <= _SHORT_WINDOW and tokens <= _FEW_TOKENS else 4
    q = min(q, (shortest + 1) // 2)
    return q, shortest - q + 1


def _shift_for(bits: int) -> int:
    """Return the right shift that leaves `bits` bits of a 64-bit hash."""
    return 64 - max(1, bits)


def _hash_tables(surfaces: _Surfaces, ns: Sequence[int], profile: Profile) -> dict[str, Array]:
    """Return the tables, made with the first seed under which no two n-grams of the benchmark have the same hash."""
    seed = _FIRST_SEED
    for _ in range(_SEEDS):
        grams = _all_grams(surfaces, ns, seed)
        if grams is not None:
            return _tables(surfaces, ns, seed, profile, grams)
        seed = (seed * 0x9E3779B97F4A7C15 + 1) % 2**64
    raise UsageError(
        f"different n-grams of this benchmark have the same hash under each of {_SEEDS} seeds, which should never "
        "happen: please report it, with the benchmark"
    )


def _all_grams(surfaces: _Surfaces, ns: Sequence[int], seed: int) -> list[_Grams] | None:
    """Return the n-grams of each n, or None if two of them have the same hash under this seed."""
    distinct = surfaces.first_of_kind
    token_hash = hashing.hash_tokens(surfaces.text, surfaces.starts[distinct], surfaces.ends[distinct], seed)
    grams = []
    for n in ns:
        part = _grams(surfaces, token_hash[surfaces.kinds], n)
        if part is None:
            return None
        grams.append(part)
    hashes = np.concatenate([part.hashes for part in grams])
    return grams if len(np.unique(hashes)) == len(hashes) else None


def _tables(
    surfaces: _Surfaces, ns: Sequence[int], seed: int, profile: Profile, grams: Sequence[_Grams]
) -> dict[str, Array]:
    hashes = np.concatenate([part.hashes for part in grams])
    q, stride = _sampling(ns[0], len(surfaces.starts))
    qgrams = np.unique(hashing.hash_qgrams(surfaces.text, surfaces.starts, surfaces.ends, surfaces.windows(q), q))
    filter_shift = _shift_for((max(len(qgrams), 4) * _BITS_PER_QGRAM - 1).bit_length() - 6)
    slot_shift = _shift_for((2 * max(len(hashes), 1) - 1).bit_length())
    owner_counts = np.concatenate([part.owner_counts for part in grams])
    return {
        "text": surfaces.text,
        "surface_bounds": surfaces.bounds,
        "surface_tokens": np.diff(surfaces.bounds),
        "gram_bounds": np.cumsum([0] + [len(part.hashes) for part in grams]),
        "gram_start": np.concatenate([part.start for part in grams]).astype(np.uint32),
        "gram_end": np.concatenate([part.end for part in grams]).astype(np.uint32),
        "gram_hash": hashes,
        "owner_bounds": np.concatenate([[0], np.cumsum(owner_counts)]).astype(np.uint32),
        "owners": np.concatenate([part.owners for part in grams]).astype(np.int32),
        "slots": hashing.make_slots(hashes, slot_shift),
        "filter": hashing.make_filter(qgrams, filter_shift),
        "ns": np.array(ns, dtype=np.int64),
        "powers": np.array([hashing.power_of_base(n) for n in ns], dtype=np.uint64),
        "parameters": np.array(
            [seed, q, stride, profile == "release", slot_shift, filter_shift, hashing.FORMULAS], np.uint64
        ),
    }


@dataclass(frozen=True)
class _Grams:
    """The distinct n-grams of one n, in order of first occurrence."""

    hashes: Array
    start: Array
    end: Array
    owner_counts: Array
    owners: Array


def _grams(surfaces: _Surfaces, token_hash: Array, n: int) -> _Grams | None:
    first = surfaces.windows(n)
    windows = hashing.hash_windows(token_hash, first, n)
    unique, representative, inverse = np.unique(windows, return_index=True, return_inverse=True)
    order = np.argsort(representative, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    gram = rank[inverse]
    example = representative[order][gram]
    if any((surfaces.kinds[first + i] != surfaces.kinds[first[example] + i]).any() for i in range(n)):
        return None
    surface = np.searchsorted(surfaces.bounds, first, side="right") - 1
    # One pair for each (n-gram, surface), in that order: a surface owns a repeated n-gram once.
    pairs = np.unique(gram * len(surfaces.bounds) + surface)
    owned, owner = np.divmod(pairs, len(surfaces.bounds))
    counts = np.bincount(owned, minlength=len(unique))
    first_seen = representative[order]
    start, end = surfaces.starts[first[first_seen]], surfaces.ends[first[first_seen] + n - 1]
    return _Grams(unique[order], start, end, counts, owner)

"""The tables of an audit: their schemas, and how they follow from the tallies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wmbxl.benchmark import Benchmark
from wmbxl.index import ProbeIndex
from wmbxl.records import get_field
from wmbxl.tally import Sparse, Tally
from wmbxl.text import replace_surrogates, xxh64

Array = np.ndarray[Any, Any]

S1_DOCUMENTS = 2  # S1 holds the problems found in at most this many documents

_ENTRY = [("problem_id", pa.string()), ("channel", pa.string()), ("n", pa.int32())]
_COUNTS = [
    ("n_grams_total", pa.int64()),
    ("n_grams_unique", pa.int64()),
    ("hits_total", pa.int64()),
    ("docs_total", pa.int64()),
    ("unique_ngrams_total", pa.int64()),
]
_LABELS = [("auditable", pa.bool_()), ("in_S0", pa.bool_()), ("in_S1", pa.bool_())]
_PLACE = [  # what was found, and where
    *_ENTRY,
    ("corpus", pa.string()),
    ("shard", pa.string()),
    ("row", pa.int64()),
    ("piece", pa.int64()),
    ("piece_row", pa.int64()),
    ("document_id", pa.string()),
    ("start", pa.int64()),
    ("end", pa.int64()),
]
PROBLEMS = pa.schema(
    [
        ("problem_id", pa.string()),
        ("channel", pa.string()),
        ("text", pa.large_string()),
        ("format", pa.string()),
        ("date", pa.string()),
    ]
)
METADATA = pa.schema([*_ENTRY, *_COUNTS, *_LABELS, ("longest_span", pa.int64())])
BY_CORPUS = pa.schema([*_ENTRY, ("corpus", pa.string()), *_COUNTS])
NGRAMS = pa.schema(
    [
        ("corpus", pa.string()),
        ("n", pa.int32()),
        ("ngram", pa.string()),
        ("xxh64", pa.uint64()),
        ("occurrences", pa.int64()),
        ("documents", pa.int64()),
        ("owners", pa.int64()),
    ]
)
EVIDENCE = pa.schema(
    [
        *_PLACE,
        ("ngram", pa.string()),
        ("xxh64", pa.uint64()),
        ("snippet", pa.large_string()),
    ]
)
SPANS = pa.schema(
    [
        *_PLACE,
        ("tokens", pa.int64()),
        ("windows", pa.int64()),
        ("sampled", pa.bool_()),
    ]
)
SKETCHES = pa.schema([("corpus", pa.string()), ("xxh64", pa.uint64())])
LEDGER = pa.schema(
    [
        ("corpus", pa.string()),
        ("shard", pa.string()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("unit", pa.string()),
        ("size", pa.int64()),
        ("version", pa.string()),
        ("records", pa.int64()),
        ("documents", pa.int64()),
        ("tokens", pa.int64()),
        ("file_bytes", pa.int64()),
        ("unread_bytes", pa.int64()),
        ("skipped", pa.map_(pa.string(), pa.int64())),
        ("skipped_bytes", pa.map_(pa.string(), pa.int64())),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("position", pa.int64()),
        ("error", pa.string()),
        ("seconds", pa.float64()),
        ("worker", pa.string()),
    ]
)

# Where benchmarks keep a problem's task format and the date of its source; the first field that a record has counts.
FORMAT_FIELDS = ("type", "format", "task_format", "question_type")
DATE_FIELDS = ("year", "date", "published", "arxiv_id", "paper_id")


def problems_table(benchmark: Benchmark) -> pa.Table:
    """Return the texts that are looked for, schema `PROBLEMS`."""
    rows = [
        {
            "problem_id": problem.id,
            "channel": channel,
            "text": replace_surrogates(problem.surfaces[channel]),
            "format": _first_of(problem.record, FORMAT_FIELDS),
            "date": _first_of(problem.record, DATE_FIELDS),
        }
        for problem in benchmark.problems
        for channel in benchmark.channels
    ]
    return pa.Table.from_pylist(rows, schema=PROBLEMS)


def _first_of(record: Mapping[str, Any], names: Sequence[str]) -> str | None:
    values = (get_field(record, name) for name in names)
    return next((replace_surrogates(str(v)) for v in values if isinstance(v, str | int | date) and str(v)), None)


def _entry_columns(index: ProbeIndex) -> dict[str, Array]:
    """Return problem, channel and n of every entry."""
    channels, lengths = len(index.channels), len(index.ns)
    return {
        "problem_id": np.repeat(np.array(index.problem_ids, dtype=object), channels * lengths),
        "channel": np.tile(np.repeat(np.array(index.channels, dtype=object), lengths), len(index.problem_ids)),
        "n": np.tile(np.array(index.ns, dtype=np.int32), len(index.problem_ids) * channels),
    }


def _counts(index: ProbeIndex, grams: Sparse, entries: Sparse) -> dict[str, Array]:
    """Return the counts of every entry."""
    which, entry = index.owner_entries(grams.keys)
    hits = np.zeros(index.entries, dtype=np.int64)
    np.add.at(hits, entry, grams.counts[which, 0])
    return {
        "n_grams_total": index.windows_total,
        "n_grams_unique": index.windows_unique,
        "hits_total": hits,
        "docs_total": entries.dense(index.entries)[:, 0],
        "unique_ngrams_total": np.bincount(entry, minlength=index.entries),
    }


def metadata_table(index: ProbeIndex, release: Sequence[Tally], gaps: bool, spans: Sequence[pa.Table] = ()) -> pa.Table:
    """Return the per-problem metadata, schema `METADATA`.

    Parameters
    ----------
    release : sequence of Tally
        Of the corpora that decide S0 and S1.
    gaps : bool
        Whether any of them was not read whole. Then labels that more reading could change are null.
    spans : sequence of pyarrow.Table
        Of each of them, from `wmbxl.spans.find_spans`. Of what was found and is in no span the longest is null.
    """
    empty = [Tally.empty(index.fingerprint, len(index.ns), 0)]
    counts = _counts(
        index,
        Sparse.sum([tally.grams for tally in release or empty]),
        Sparse.sum([tally.entries for tally in release or empty]),
    )
    documents = counts["docs_total"]
    labels = {"in_S0": documents == 0, "in_S1": documents <= S1_DOCUMENTS}
    undecided = {name: pa.array(label, mask=label if gaps else None) for name, label in labels.items()}
    longest = np.zeros(index.entries, dtype=np.int64)
    for table in spans:
        np.maximum.at(longest, table["entry"].to_numpy(), table["tokens"].to_numpy())
    columns = {
        **_entry_columns(index),
        **counts,
        "auditable": counts["n_grams_total"] > 0,
        **undecided,
        "longest_span": pa.array(longest, mask=(longest == 0) & (documents > 0)),
    }
    return pa.table(columns, schema=METADATA)


def by_corpus_table(index: ProbeIndex, tallies: Mapping[str, Tally]) -> pa.Table:
    """Return the same counts for each corpus, schema `BY_CORPUS`."""
    entry = _entry_columns(index)
    tables = [
        pa.table(
            {**entry, "corpus": [name] * index.entries, **_counts(index, tally.grams, tally.entries)},
            schema=BY_CORPUS,
        )
        for name, tally in tallies.items()
    ]
    return pa.concat_tables(tables)


def ngrams_table(index: ProbeIndex, tallies: Mapping[str, Tally]) -> pa.Table:
    """Return the matched n-grams of each corpus, schema `NGRAMS`."""
    tables = [NGRAMS.empty_table()]
    for name, tally in tallies.items():
        grams = tally.grams.keys
        columns = {
            "corpus": [name] * len(grams),
            "n": np.array(index.ns, dtype=np.int32)[index.gram_lengths[grams]],
            **_texts_and_keys(index, grams),
            "occurrences": tally.grams.counts[:, 0],
            "documents": tally.grams.counts[:, 1],
            "owners": _owning_problems(index, grams),
        }
        tables.append(pa.table(columns, schema=NGRAMS))
    return pa.concat_tables(tables)


def _texts_and_keys(index: ProbeIndex, grams: Array) -> dict[str, Any]:
    """Return the texts and public keys of n-grams."""
    texts = [index.ngram(gram) for gram in grams.tolist()]
    return {"ngram": texts, "xxh64": np.array([xxh64(text) for text in texts], dtype=np.uint64)}


def _owning_problems(index: ProbeIndex, grams: Array) -> Array:
    """Return how many problems own each n-gram, in whatever channels; int64."""
    which, entries = index.owner_entries(grams)
    problems = len(index.problem_ids)
    pairs = np.unique(which * problems + index.problems_of(entries))
    return np.bincount(pairs // problems, minlength=len(grams))


def sketches_table(tallies: Mapping[str, Tally]) -> pa.Table:
    """Return the corpora's sketches, schema `SKETCHES`."""
    tables = [
        pa.table({"corpus": [name] * len(tally.sketch), "xxh64": tally.sketch}, schema=SKETCHES)
        for name, tally in tallies.items()
    ]
    return pa.concat_tables(tables)


class RowNumbers:
    """Turns rows within a piece into rows of the shard, from the ledger."""

    def __init__(self) -> None:
        self._pieces: dict[str, dict[int, int | None]] = {}

    def learn(self, ledger: pa.Table) -> None:
        """Take up the pieces of shards that were cut."""
        cut = ledger.filter(pc.or_(pc.not_equal(ledger["stop"], -1), pc.not_equal(ledger["start"], 0)))
        for line in cut.select(["shard", "start", "records", "reason"]).to_pylist():
            # Behind a piece that was not read to its end nobody knows how many records came before.
            records = line["records"] if line["reason"] is None else None
            self._pieces.setdefault(line["shard"], {})[line["start"]] = records

    def first_row(self, shard: str, piece: int) -> int | None:
        """Return the row with which a piece starts; None if that can't be known."""
        before = [records for start, records in self._pieces.get(shard, {}).items() if start < piece]
        known = [records for records in before if records is not None]
        return sum(known) if len(known) == len(before) else None


def evidence_table(index: ProbeIndex, tallies: Mapping[str, Tally], rows: RowNumbers) -> pa.Table:
    """Return the evidence, schema `EVIDENCE`: by problem, channel and n, then corpus, then priority."""
    tables = []
    for name, tally in tallies.items():
        found = tally.evidence
        grams = found["gram"].to_numpy()
        columns = {
            **_places(index, name, found, rows),
            **_texts_and_keys(index, grams),
            "snippet": found["snippet"],
        }
        tables.append((found["entry"], pa.table(columns, schema=EVIDENCE)))
    return _by_entry(tables, EVIDENCE)


def spans_table(index: ProbeIndex, spans: Mapping[str, pa.Table], rows: RowNumbers) -> pa.Table:
    """Return the spans of each corpus, schema `SPANS`: by problem, channel and n, then corpus, then place."""
    tables = []
    for name, found in spans.items():
        measures = {key: found[key] for key in ("tokens", "windows", "sampled")}
        tables.append((found["entry"], pa.table({**_places(index, name, found, rows), **measures}, schema=SPANS)))
    return _by_entry(tables, SPANS)


def _places(index: ProbeIndex, corpus: str, found: pa.Table, rows: RowNumbers) -> dict[str, Any]:
    """Return whose evidence or spans these are, and where."""
    entry = found["entry"].to_numpy()
    pieces = list(zip(found["shard"].to_pylist(), found["piece"].to_pylist(), strict=True))
    firsts = {piece: rows.first_row(*piece) for piece in set(pieces)}
    first = pa.array([firsts[piece] for piece in pieces], pa.int64())
    unknown = pc.is_null(first)
    return {
        **{key: values[entry] for key, values in _entry_columns(index).items()},
        "corpus": [corpus] * len(entry),
        "shard": found["shard"],
        "row": pc.add(first, found["row"]),
        # Only where nothing else tells documents apart: what a known row is in depends on the size of pieces.
        "piece": pc.if_else(unknown, found["piece"], None),
        "piece_row": pc.if_else(unknown, found["row"], None),
        "document_id": found["document_id"],
        "start": found["start"],
        "end": found["end"],
    }


def _by_entry(tables: Sequence[tuple[Any, pa.Table]], schema: pa.Schema) -> pa.Table:
    """Put the tables of several corpora under one another and order the rows by entry."""
    table = pa.concat_tables([schema.empty_table(), *(table for _, table in tables)])
    entries = np.concatenate([np.empty(0, dtype=np.int64), *(entry.to_numpy() for entry, _ in tables)])
    return table.take(np.argsort(entries, kind="stable"))


def ledger_table(lines: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return ledger lines as a table, schema `LEDGER`."""
    return pa.Table.from_pylist([dict(line) for line in lines], schema=LEDGER)


def summary(metadata: pa.Table) -> list[dict[str, Any]]:
    """Return S0 and S1 for each channel and n, with and without problems that are too short to audit.

    Undecided problems are in neither and counted apart.
    """
    frame = metadata.to_pandas()
    rows = []
    for (channel, n), part in frame.groupby(["channel", "n"], sort=True):
        auditable = part[part["auditable"]]
        rows.append(
            {
                "channel": channel,
                "n": int(n),
                "problems": len(part),
                "auditable": len(auditable),
                "flagged": int((part["docs_total"] > 0).sum()),
                "S0": int((part["in_S0"] == True).sum()),  # noqa: E712 - null is neither
                "S1": int((part["in_S1"] == True).sum()),  # noqa: E712
                "S0_auditable": int((auditable["in_S0"] == True).sum()),  # noqa: E712
                "S1_auditable": int((auditable["in_S1"] == True).sum()),  # noqa: E712
                "S0_undecided": int(part["in_S0"].isna().sum()),
                "S1_undecided": int(part["in_S1"].isna().sum()),
                "hits": int(part["hits_total"].sum()),
                "docs": int(part["docs_total"].sum()),
            }
        )
    return rows

"""Views: named sets of problem ids, each with the rule that made it.

A view is what a filter leaves: the zero-hit problems at some n, the public ones, those with some licence.
Functions take plain frames and give views; nothing is read from an audit but its metadata table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
import pandas as pd

from wmbxl.errors import FieldNotFound, NothingMatches, UsageError
from wmbxl.filesystems import filesystem_of
from wmbxl.tables import Record, read_parquet, write_files

AuditLabel = Literal["S0", "S1"]
UndecidedPolicy = Literal["refuse", "exclude"]

_AUDIT_RULES = {"S0": ("in_S0", "docs_total == 0"), "S1": ("in_S1", "docs_total <= 2")}
_METADATA_COLUMNS = ("problem_id", "channel", "n", "hits_total", "docs_total", "auditable", "in_S0", "in_S1")
_ARXIV_ID = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?")


@dataclass(frozen=True)
class View:
    """A named set of problems.

    Attributes
    ----------
    name : str
        Short, and fit to be a file name.
    ids : tuple of str
        The problems in the view, sorted, each once.
    rule : str
        What made a problem belong, in words or as an expression over the metadata.
    parents : tuple of str
        Names of the views that this one was cut from.
    undecided : tuple of str
        Problems of which nobody can say whether they belong, because part of a corpus was not read. They are
        neither in the view nor flagged by it.

    Examples
    --------
    >>> View("S0", ("b", "a"), "docs_total == 0").ids
    ('a', 'b')
    """

    name: str
    ids: tuple[str, ...]
    rule: str
    parents: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", tuple(sorted(set(self.ids))))
        object.__setattr__(self, "undecided", tuple(sorted(set(self.undecided))))

    def __len__(self) -> int:
        return len(self.ids)

    def within(self, other: View) -> View:
        """Cut this view down to the problems of another one.

        Examples
        --------
        >>> view = View("S0", ("a", "b"), "docs_total == 0").within(View("public", ("b", "c"), "listed"))
        >>> view.name, view.ids, view.parents
        ('S0-public', ('b',), ('S0', 'public'))
        """
        kept = set(other.ids)
        return View(
            name=f"{self.name}-{other.name}",
            ids=tuple(name for name in self.ids if name in kept),
            rule=f"in {self.name} and in {other.name}",
            parents=(self.name, other.name),
            undecided=tuple(name for name in self.undecided if name in kept),
        )


@dataclass(frozen=True)
class SnapshotViews:
    """Problems by the date of their source: up to a corpus snapshot, and after it."""

    before: View
    after: View


def read_metadata(audit: str, storage_options: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Read the metadata table of an audit folder.

    Parameters
    ----------
    audit : str
        The folder that ``wmbxl audit`` wrote, local or anywhere fsspec reaches.
    storage_options : mapping, optional
        For fsspec.

    Returns
    -------
    pandas.DataFrame
        One row per problem, channel and n. ``in_S0`` and ``in_S1`` are nullable booleans; null is undecided.

    Raises
    ------
    NothingMatches
        The folder holds no ``metadata.parquet``.
    UsageError
        The audit is still running, or the table lacks a column.
    """
    fs, root = filesystem_of(audit, **(storage_options or {}))
    if not fs.exists(f"{root}/metadata.parquet"):
        raise NothingMatches(
            f"{audit}: no metadata.parquet in this folder. Give --audit the folder that `wmbxl audit` wrote."
        )
    if fs.exists(f"{root}/audit.json"):
        status = orjson.loads(fs.cat_file(f"{root}/audit.json")).get("status")
        if status == "running":
            raise UsageError(
                f"{audit}: the audit is still running, so its counts can grow. "
                "Wait for it, or resume it with `wmbxl audit`."
            )
    with fs.open(f"{root}/metadata.parquet", "rb") as stream:
        frame = read_parquet(f"{audit}/metadata.parquet", stream).to_pandas()
    absent = [name for name in _METADATA_COLUMNS if name not in frame.columns]
    if absent:
        raise UsageError(
            f"{audit}/metadata.parquet: expected the column(s) {', '.join(absent)}; "
            f"found {', '.join(frame.columns)}. Give --audit a folder that `wmbxl audit` wrote."
        )
    return frame.astype({"problem_id": str, "in_S0": "boolean", "in_S1": "boolean", "auditable": bool})


def audit_rows(metadata: pd.DataFrame, n: int, channel: str | None = None) -> pd.DataFrame:
    """Pick the metadata rows of one n and one channel, one per problem.

    Parameters
    ----------
    metadata : pandas.DataFrame
        As `read_metadata` gives it.
    n : int
        Length of the n-grams.
    channel : str, optional
        May be left out if the audit has only one.

    Raises
    ------
    UsageError
        The audit holds no such n or channel, or the channel is left open among several.
    """
    channels = sorted(metadata["channel"].unique())
    if channel is None and len(channels) > 1:
        raise UsageError(f"the audit has several channels ({', '.join(channels)}). Name one with --channel.")
    chosen = channels[0] if channel is None else channel
    rows = metadata[(metadata["n"] == n) & (metadata["channel"] == chosen)]
    if rows.empty:
        lengths = ", ".join(str(value) for value in sorted(metadata["n"].unique()))
        raise UsageError(
            f"the audit has no n = {n} for channel {chosen!r}. It holds n = {lengths} for "
            f"{', '.join(channels)}; choose with -n and --channel."
        )
    return rows


def audit_view(
    metadata: pd.DataFrame,
    label: AuditLabel,
    n: int,
    channel: str | None = None,
    *,
    auditable_only: bool = False,
    undecided: UndecidedPolicy = "refuse",
) -> View:
    """Cut S0 or S1 from an audit.

    Parameters
    ----------
    metadata : pandas.DataFrame
        As `read_metadata` gives it.
    label : {"S0", "S1"}
        S0 holds the problems without a hit, S1 those with at most two documents.
    n, channel
        As for `audit_rows`.
    auditable_only : bool
        Leave out problems that are too short to have an n-gram. By the plain rule they belong, vacuously.
    undecided : {"refuse", "exclude"}
        What to do with problems that an incomplete audit could not decide: stop, or set them aside in
        ``View.undecided``.

    Returns
    -------
    View
        Named such as ``S0-n13``, with the channel added if the audit has several.

    Raises
    ------
    UsageError
        There are undecided problems and `undecided` is ``"refuse"``.

    Examples
    --------
    >>> metadata = pd.DataFrame({"problem_id": ["a", "b"], "channel": "text", "n": 13, "docs_total": [0, 4],
    ...                          "auditable": True, "in_S0": [True, False], "in_S1": [True, False]})
    >>> audit_view(metadata, "S0", n=13)
    View(name='S0-n13', ids=('a',), rule="docs_total == 0 at n = 13, channel 'text'", ...)
    """
    rows = audit_rows(metadata, n, channel)
    column, condition = _AUDIT_RULES[label]
    membership = rows[column].astype("boolean")
    unknown = tuple(rows.loc[membership.isna(), "problem_id"])
    if unknown and undecided == "refuse":
        raise UsageError(
            f"{len(unknown)} of {len(rows)} problems are undecided for {label} at n = {n}, such as "
            f"{unknown[0]!r}: part of the corpus was not read. Finish the audit, or set them aside with "
            "--undecided exclude."
        )
    member = membership.fillna(False) & (rows["auditable"] if auditable_only else True)
    chosen = rows["channel"].iloc[0]
    name = f"{label}-n{n}" + (f"-{chosen}" if metadata["channel"].nunique() > 1 else "")
    rule = f"{condition} at n = {n}, channel {chosen!r}"
    return View(
        name=f"{name}-auditable" if auditable_only else name,
        ids=tuple(rows.loc[member, "problem_id"]),
        rule=f"{rule}, and long enough to have an n-gram" if auditable_only else rule,
        parents=(name,) if auditable_only else (),
        undecided=unknown,
    )


def audit_views(metadata: pd.DataFrame, undecided: UndecidedPolicy = "refuse") -> list[View]:
    """Cut S0 and S1, with and without unauditable problems, for every n and channel of an audit.

    Parameters
    ----------
    metadata, undecided
        As for `audit_view`.
    """
    combinations = metadata[["n", "channel"]].drop_duplicates().sort_values(["channel", "n"])
    labels: tuple[AuditLabel, ...] = ("S0", "S1")
    return [
        audit_view(metadata, label, int(n), channel, auditable_only=auditable_only, undecided=undecided)
        for n, channel in combinations.itertuples(index=False)
        for label in labels
        for auditable_only in (False, True)
    ]


def listed_view(name: str, ids: Iterable[str], source: str) -> View:
    """Make a view of an id list, such as the public subset.

    Parameters
    ----------
    name : str
        The view's name.
    ids : iterable of str
        Its problems.
    source : str
        Where the list comes from; becomes part of the rule.
    """
    return View(name, tuple(ids), rule=f"listed in {source}")


def record_column(records: pd.DataFrame, field: str, option: str) -> pd.Series[Any]:
    """Pick a field of the benchmark records, by problem id; `option` is what an error says to change."""
    if field not in records.columns:
        raise FieldNotFound("benchmark records", field, records.columns, option)
    return records.set_index("problem_id")[field]


def licence_view(name: str, records: pd.DataFrame, licences: Sequence[str], field: str = "record_license") -> View:
    """Keep the problems whose record carries one of the given licences.

    Parameters
    ----------
    name : str
        The view's name.
    records : pandas.DataFrame
        Benchmark records with ``problem_id`` and `field`.
    licences : sequence of str
        Compared exactly, letter case included.
    field : str
        The column that holds the licence.

    Raises
    ------
    FieldNotFound
        No record has `field`.
    UsageError
        A licence is carried by no record.
    """
    column = record_column(records, field, "--licence-field")
    found = sorted(column.dropna().unique())
    unknown = [licence for licence in licences if licence not in found]
    if unknown:
        raise UsageError(
            f"no record has the licence {unknown[0]!r}. Found in {field!r}: {', '.join(found)}. "
            "Name them exactly with --licence."
        )
    return View(name, tuple(column.index[column.isin(licences)]), rule=f"{field} in {sorted(licences)}")


def snapshot_views(records: pd.DataFrame, snapshot: str, field: str) -> SnapshotViews:
    """Split problems by whether their source can be in a corpus at all.

    A source that appeared after the snapshot can't match itself, so the flag rate among such problems is a
    proxy for chance collisions.

    Parameters
    ----------
    records : pandas.DataFrame
        Benchmark records with ``problem_id`` and `field`.
    snapshot : str
        Last day of the corpus, as ``YYYY-MM-DD``.
    field : str
        Column with a date (a year, a month or a day, ISO 8601) or an arXiv id, which tells the month.

    Returns
    -------
    SnapshotViews
        Problems without a date, and those whose month or year contains the snapshot, are undecided in both.

    Raises
    ------
    UsageError
        A value is neither a date nor an arXiv id.

    Examples
    --------
    >>> ids = ["2302.00001", "2303.00001", "2304.00001"]
    >>> records = pd.DataFrame({"problem_id": ["a", "b", "c"], "arxiv_id": ids})
    >>> views = snapshot_views(records, "2023-03-07", "arxiv_id")
    >>> views.before.ids, views.after.ids, views.after.undecided
    (('a',), ('c',), ('b',))
    """
    limit = pd.Timestamp(snapshot)
    column = record_column(records, field, "--date-field")
    periods = {name: _period(name, value, field) for name, value in column.dropna().items()}
    before = tuple(str(name) for name, period in periods.items() if period.end_time.normalize() <= limit)
    after = tuple(str(name) for name, period in periods.items() if period.start_time > limit)
    unknown = tuple(set(column.index) - set(before) - set(after))
    return SnapshotViews(
        before=View("pre-snapshot", before, f"{field} up to {snapshot}", undecided=unknown),
        after=View("post-snapshot", after, f"{field} after {snapshot}", undecided=unknown),
    )


def arxiv_month(text: str) -> str | None:
    """Return the month that an arXiv id tells, or None if it is none.

    Examples
    --------
    >>> arxiv_month("2411.02757v1"), arxiv_month("hep-th/9901001"), arxiv_month("17")
    ('2024-11', '1999-01', None)
    """
    arxiv = _ARXIV_ID.fullmatch(text)
    if not arxiv:
        return None
    year, month = arxiv.groups()
    return f"{'19' if year > '90' else '20'}{year}-{month}"


def _period(problem: object, value: object, field: str) -> pd.Period:
    text = str(value).strip()
    try:
        return pd.Period(arxiv_month(text) or text)
    except ValueError:
        raise UsageError(
            f"problem {problem!r}: expected a date (YYYY, YYYY-MM or YYYY-MM-DD) or an arXiv id in "
            f"{field!r}, found {value!r}. Name another column with --date-field."
        ) from None


def manifest_entry(view: View, files: dict[str, bytes]) -> dict[str, Any]:
    """Describe a view and the files that hold it, with sizes and checksums."""
    return {
        "name": view.name,
        "rule": view.rule,
        "parents": list(view.parents),
        "problems": len(view),
        "undecided": len(view.undecided),
        "files": [
            {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        ],
    }


def write_views(
    views: Sequence[View], folder: str, records: Sequence[Record] = (), id_field: str = "problem_id"
) -> dict[str, Any]:
    """Write each view as an id list, and as JSON lines if records are given; then a manifest.

    Parameters
    ----------
    views : sequence of View
        Names must differ.
    folder : str
        Local or anywhere fsspec reaches.
    records : sequence of dict, optional
        Benchmark records; each view's file keeps their order and every field.
    id_field : str
        The field of the records that holds the problem's id.

    Returns
    -------
    dict
        What ``manifest.json`` holds: for each view its rule, parents, counts, and files with their sha256.
        It is written last, so a folder with a manifest is whole.

    Raises
    ------
    UsageError
        Two views share a name, or a view has a problem that no record describes.
    """
    names = [view.name for view in views]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two views are called {repeated!r}. Give each its own name.")
    entries = []
    for view in views:
        files = {f"{view.name}.ids.json": orjson.dumps(view.ids, option=orjson.OPT_INDENT_2)}
        if records:
            files[f"{view.name}.jsonl"] = _record_lines(view, records, id_field)
        write_files(folder, files)
        entries.append(manifest_entry(view, files))
    manifest = {"views": entries}
    write_files(folder, {"manifest.json": orjson.dumps(manifest, option=orjson.OPT_INDENT_2)})
    return manifest


def _record_lines(view: View, records: Sequence[Record], id_field: str) -> bytes:
    members = set(view.ids)
    kept = [record for record in records if str(record[id_field]) in members]
    lacking = members - {str(record[id_field]) for record in kept}
    if lacking:
        raise UsageError(
            f"view {view.name!r}: {len(lacking)} problem(s) have no benchmark record, such as "
            f"{min(lacking)!r}. Give --benchmark the file that was audited."
        )
    return b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in kept)

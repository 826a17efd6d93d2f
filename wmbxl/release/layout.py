"""Names of the files of a release, and what a row of each holds: those of the paper's own release."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wmbxl.release.licences import RECORD_LICENCES
from wmbxl.settings import Section

README, DATASHEET, REPRODUCE, LICENSE = PAGES = ("README.md", "DATASHEET.md", "REPRODUCE.md", "LICENSE")
CROISSANT, RELEASE, SUMS = "croissant.json", "release.json", "SHA256SUMS"

MANIFEST = "data/excluded_records_manifest.csv"
PAPERS = "data/source_paper_licenses.csv"
METADATA = "data/contamination_metadata.jsonl"
MEMBERSHIP = "data/s0_membership_by_n.csv"
PUBLIC_IDS = "data/public_test_ids.json"
DISJOINT = "data/paper_disjoint_test.csv"
PUBLIC_RESULTS = "data/public_subset_results.csv"
MULTIN_RESULTS = "_multin_delta.csv"  # how the names of these end
S0_VIEW, S1_VIEW, DISJOINT_VIEW = VIEWS = tuple(
    f"data/{name}_test_public.jsonl" for name in ("S0", "S1", "paper_disjoint")
)
PROBLEMS = tuple(licence.path for licence in RECORD_LICENCES)
RECORDS = (*PROBLEMS, *VIEWS)  # each is there if it has a record

MATCHED = "matched_ngrams_capped"  # not told of what is withheld
MATCHED_CAP = 5

Name = Annotated[str, Field(min_length=1)]
Whole = Annotated[str, Field(pattern=r"^[0-9]+$")]  # a count in a CSV file
Split = Literal["train", "test"]
Cell = Literal["True", "False", ""]  # a label in a CSV file; empty is undecided
Matched = Annotated[list[str], Field(max_length=MATCHED_CAP)]


class Contamination(Section):
    """The audit's labels in a record."""

    hits_total: int
    docs_total: int
    matched_ngrams_capped: Matched
    in_S0: bool | None
    in_S1: bool | None


class Record(Section):
    """A released problem."""

    problem_id: Name
    paper_id: Name
    paper_title: str
    type: Name
    split: Split
    background: str | None
    question_text: str
    equation: str | None
    options: dict[str, str] | None
    correct_answer: str
    prompt: str
    text: str
    contamination: Contamination
    source_license: str | None
    source_license_class: Name
    record_license: Name


class Metadata(Section):
    """The audit's labels of a problem."""

    problem_id: Name
    hits_total: int
    docs_total: int
    matched_ngrams_capped: Matched = Field(default=[])
    in_S0: bool | None
    in_S1: bool | None


class Flags(Section):
    """What tables say of a problem, in one row."""

    problem_id: Name
    paper_id: Name
    type: Name
    split: Split
    hits_total: Whole
    docs_total: Whole
    auditable: Literal["True", "False"]
    in_S0: Cell
    in_S1: Cell
    released: Literal["True", "False"]


class Withheld(Section):
    """A problem whose text is not released."""

    problem_id: Name
    paper_id: Name
    arxiv_id: str
    split: Split
    type: Name
    license_class: Name
    source_license: str


class SourcePaper(Section):
    """A source paper and its licence."""

    paper_id: Name
    arxiv_id: str
    source_license: str
    license_class: Name


class PaperSplit(Section):
    """On which side of the split by source paper a problem is."""

    problem_id: Name
    paper_id: Name
    type: Name
    original_split: Split
    paper_disjoint_split: Split


class DisjointTest(Section):
    """A test problem whose paper has no training problem."""

    problem_id: Name
    paper_id: Name
    type: Name


def flags_path(version: str) -> str:
    """Name the table of flags.

    Examples
    --------
    >>> flags_path("1.1.0")
    'data/contamination_flags_v11.csv'
    """
    major, minor, _ = version.split(".")
    return f"data/contamination_flags_v{major}{minor}.csv"


def split_path(seed: int) -> str:
    """Name the split by source paper."""
    return f"data/paper_disjoint_split_seed{seed}.csv"


def membership(n: int) -> str:
    """Name the column that says whether a test problem is in S0 at n."""
    return f"in_S0_n{n}"


def columns(row: type[Section]) -> list[str]:
    """Return the columns of a table with such rows, in order."""
    return list(row.model_fields)


def tables(version: str, seed: int) -> dict[str, type[Section]]:
    """Return the tables that a release always has, each with what a row of it holds."""
    return {
        MANIFEST: Withheld,
        PAPERS: SourcePaper,
        METADATA: Metadata,
        DISJOINT: DisjointTest,
        flags_path(version): Flags,
        split_path(seed): PaperSplit,
    }

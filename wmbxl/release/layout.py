"""Names of the files of a release, and of their columns: those of the paper's own release."""

from __future__ import annotations

from collections.abc import Iterable

from wmbxl.release.licences import RECORD_LICENCES

README, DATASHEET, REPRODUCE, LICENSE = PAGES = ("README.md", "DATASHEET.md", "REPRODUCE.md", "LICENSE")
CROISSANT, RELEASE, SUMS = "croissant.json", "release.json", "SHA256SUMS"

MANIFEST = "data/excluded_records_manifest.csv"
PAPERS = "data/source_paper_licenses.csv"
METADATA = "data/contamination_metadata.jsonl"
MEMBERSHIP = "data/s0_membership_by_n.csv"
PUBLIC_IDS = "data/public_test_ids.json"
DISJOINT = "data/paper_disjoint_test.csv"
PUBLIC_RESULTS = "data/public_subset_results.csv"
S0_VIEW, S1_VIEW, DISJOINT_VIEW = VIEWS = tuple(
    f"data/{name}_test_public.jsonl" for name in ("S0", "S1", "paper_disjoint")
)
PROBLEMS = tuple(licence.path for licence in RECORD_LICENCES)

RECORD = (
    "problem_id", "paper_id", "paper_title", "type", "split", "background", "question_text", "equation", "options",
    "correct_answer", "prompt", "text", "contamination", "source_license", "source_license_class", "record_license",
)  # fmt: skip
LABELS = ("hits_total", "docs_total", "in_S0", "in_S1")
MATCHED = "matched_ngrams_capped"  # absent for what is withheld
MATCHED_CAP = 5
COLUMNS = {
    MANIFEST: ("problem_id", "paper_id", "arxiv_id", "split", "type", "license_class", "source_license"),
    PAPERS: ("paper_id", "arxiv_id", "source_license", "license_class"),
    DISJOINT: ("problem_id", "paper_id", "type"),
}
FLAGS = (
    "problem_id",
    "paper_id",
    "type",
    "split",
    "hits_total",
    "docs_total",
    "auditable",
    "in_S0",
    "in_S1",
    "released",
)
PAPER_SPLIT = ("problem_id", "paper_id", "type", "original_split", "paper_disjoint_split")


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


def columns(version: str, seed: int, ns: Iterable[int]) -> dict[str, tuple[str, ...]]:
    """Return the columns of every table that a release always has."""
    return {
        **COLUMNS,
        flags_path(version): FLAGS,
        split_path(seed): PAPER_SPLIT,
        MEMBERSHIP: ("problem_id", *(membership(n) for n in sorted(ns))),
    }

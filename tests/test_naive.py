"""The oracle itself, against counts made by hand and against published and independent audits."""

import csv
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings

from tests import naive, strategies

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SHARED = Path(os.environ.get("WMBXL_SHARED", Path(__file__).parents[2] / "shared"))
DATA = SHARED / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs the shared data folder (set WMBXL_SHARED)")
DOT = "\u0307"  # what is left of a lower-cased 'İ' without its 'i'
KELVIN = "\u212a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\u3000", []),
        ("Let $x \\in \\mathbb{R}^{n}$ be", ["let", "x", "r", "^", "n", "be"]),
        ("\\frac{a}{b}", ["a", "b"]),
        ("\\frac12", ["12"]),
        ("a\\b{c}d", ["a", "c", "d"]),
        ("x\\\\alpha y", ["x\\", "y"]),  # the second backslash starts the command
        ("\\\\ \\, \\1 \\{a\\} \\", ["\\\\", "\\,", "\\1", "\\", "a\\", "\\"]),
        ("\\foo_bar \\foo@bar", ["_bar", "@bar"]),
        ("\\alphaé \\é \\alphaβ", ["é", "\\é", "β"]),
        (f"\\{KELVIN} 3{KELVIN} \\alpha{KELVIN}b", ["3k"]),  # lower-casing first makes it an ASCII letter
        ("\\ſ ſ", ["\\ſ", "ſ"]),  # lower(), not casefold() or IGNORECASE
        ("İ \\İ \\İx \\alphaİ", [f"i{DOT}", DOT, f"{DOT}x", DOT]),
        ("ΑΣ ΑΣ' ΑΣ'Α Σ", ["ας", "ας'", "ασ'α", "σ"]),
        ("\\alphaΣ \\alpha'Σ \\alpha Σ Α{Σ}", ["ς", "'ς", "σ", "α", "σ"]),  # the command's 'a' comes before
        ("a\x1cb\x85c\xa0d\u2028e\u1680f", ["a", "b", "c", "d", "e", "f"]),
        (
            "a\u200bb a\ufeffb a\u180eb a\u2060b a\u2800b a\x00b",
            [f"a{c}b" for c in "\u200b\ufeff\u180e\u2060\u2800\x00"],
        ),
        ("a\ud800b \udfff \ud83d\ude00", ["a\ufffdb", "\ufffd", "\ufffd\ufffd"]),
        ("ẞ \U00010400 Ა Ǆ \u212b", ["ß", "\U00010428", "ა", "ǆ", "\u00e5"]),
    ],
)
def test_tokens_of_the_release_profile(text: str, expected: list[str]) -> None:
    assert naive.tokens(text) == expected


def test_tokens_of_the_raw_profile() -> None:
    assert naive.tokens("The $\\Alpha$\u2003{x}  İ\ud800", "raw") == ["The", "$\\Alpha$", "{x}", "İ\ufffd"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  bc", [(0, 1, "a"), (3, 5, "bc")]),
        ("\\emph{Ab}c", [(6, 8, "ab"), (9, 10, "c")]),
        ("İ İx yİ", [(0, 1, f"i{DOT}"), (2, 4, f"i{DOT}x"), (5, 7, f"yi{DOT}")]),
        ("İİ\\bİ c", [(0, 2, f"i{DOT}i{DOT}"), (4, 5, DOT), (6, 7, "c")]),  # a token starts inside an 'İ'
        ("\\İ\\İ", [(1, 2, DOT), (3, 4, DOT)]),
        ("😀 \ud800b", [(0, 1, "😀"), (2, 4, "\ufffdb")]),
    ],
)
def test_spans_count_code_points_of_the_original(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert naive.token_spans(text) == expected


def test_spans_of_the_raw_profile() -> None:
    assert naive.token_spans(" İ $x$", "raw") == [(1, 2, "İ"), (3, 6, "$x$")]


def test_unknown_profile_and_n_below_one() -> None:
    with pytest.raises(ValueError, match="paper"):
        naive.tokens("", "paper")
    with pytest.raises(ValueError, match="paper"):
        naive.token_spans("", "paper")
    with pytest.raises(ValueError, match="0"):
        naive.ngrams(["a"], 0)


def test_what_the_spans_rest_on() -> None:
    """One character grows in lower case, and re agrees with str.split() about white space."""
    everything = [chr(code) for code in range(sys.maxunicode + 1)]
    assert [char for char in everything if len(char.lower()) != 1] == ["İ"]
    assert [char for char in everything if not char.split()] == strategies.SPACES
    assert [char for char in everything if char.isspace()] == strategies.SPACES


def test_ngrams() -> None:
    assert naive.ngrams(["a", "b", "a", "b"], 2) == ["a b", "b a", "a b"]
    assert naive.ngrams(["a", "b"], 2) == ["a b"]
    assert naive.ngrams(["a", "b"], 3) == []
    assert naive.ngrams([], 1) == []


def test_keys_are_the_published_xxh64_values() -> None:
    assert naive.key("") == 0xEF46DB3751D8E999
    assert naive.key("a") == 0xD24EC4F1A98C6E5B
    assert naive.key("abc") == 0x44BC2CF5AD770999


def counts(total: int, unique: int, hits: int, docs: int, found: int) -> dict[str, int]:
    return {
        "n_grams_total": total,
        "n_grams_unique": unique,
        "hits_total": hits,
        "docs_total": docs,
        "unique_ngrams_total": found,
    }


def test_counts_by_hand() -> None:
    problems = {
        "p": {"text": "a b a b a", "answer": "c"},  # ab ba ab ba
        "q": {"text": "$B$ \\emph{A} C"},  # ba ac
        "r": {"text": ""},
    }
    documents = [
        "a b a b",  # ab ba ab
        "A\n{B}",  # ab
        "b",
        "",
        "x b a",  # xb ba
        "x b a",  # a copy counts again
        "c c",  # cc
    ]
    audit = naive.audit(problems, documents, [2, 1, 2])
    assert audit.counts == {
        ("p", "text", 1): counts(5, 2, 4 + 2 + 1 + 2 + 2, 5, 2),
        ("p", "text", 2): counts(4, 2, 3 + 1 + 1 + 1, 4, 2),
        ("p", "answer", 1): counts(1, 1, 2, 1, 1),
        ("p", "answer", 2): counts(0, 0, 0, 0, 0),
        ("q", "text", 1): counts(3, 3, 4 + 2 + 1 + 2 + 2 + 2, 6, 3),
        ("q", "text", 2): counts(2, 2, 1 + 1 + 1, 3, 1),
        ("r", "text", 1): counts(0, 0, 0, 0, 0),
        ("r", "text", 2): counts(0, 0, 0, 0, 0),
    }
    assert audit.ngrams == {
        (1, "a"): (5, 4),
        (1, "b"): (6, 5),
        (1, "c"): (2, 1),
        (2, "a b"): (3, 2),
        (2, "b a"): (3, 3),
    }
    assert audit.owners == {
        (1, "a"): {"p", "q"},
        (1, "b"): {"p", "q"},
        (1, "c"): {"p", "q"},
        (2, "a b"): {"p"},
        (2, "b a"): {"p", "q"},
        (2, "a c"): {"q"},
    }
    assert (audit.documents, audit.tokens, audit.windows) == (7, 15, {1: 15, 2: 9})
    assert [match for match in audit.all_matches if match.n == 2 and match.problem_id == "q"] == [
        naive.Match("q", "text", 2, 0, 2, 5, "b a"),
        naive.Match("q", "text", 2, 4, 2, 5, "b a"),
        naive.Match("q", "text", 2, 5, 2, 5, "b a"),
    ]
    assert naive.Match("p", "text", 2, 1, 0, 4, "a b") in audit.all_matches  # from A to B, the brace within


def test_an_exact_surface_a_word_short_and_a_word_changed() -> None:
    surface = " ".join(f"w{i}" for i in range(13))
    documents = [surface, surface.removesuffix(" w12"), surface.replace("w6", "v6"), f"x {surface} y".upper()]
    audit = naive.audit({"p": {"text": surface}}, documents, [13])
    assert audit.counts == {("p", "text", 13): counts(1, 1, 2, 2, 1)}
    assert [match.document for match in audit.all_matches] == [0, 3]
    assert audit.windows == {13: 1 + 0 + 1 + 3}


def test_nothing_to_audit() -> None:
    assert naive.audit({}, ["a b"], [1]).counts == {}
    assert naive.audit({"p": {"text": "a"}}, [], [1]).counts == {("p", "text", 1): counts(1, 1, 0, 0, 0)}


def test_evidence_takes_the_smallest_priorities() -> None:
    documents = ["a x a", "a", "a x a", "b"]
    matches = naive.audit({"p": {"text": "a"}, "q": {"text": "b"}}, documents, [1]).all_matches
    ranked = sorted((naive.priority(documents[m.document], m.start), m.document, m.start) for m in matches[:5])
    assert len({rank[0] for rank in ranked}) == 3  # copies tie, and the earlier one wins
    for cap in range(7):
        kept = naive.evidence(matches, documents, cap)
        assert [(m.document, m.start) for m in kept["p", "text", 1]] == [rank[1:] for rank in ranked[:cap]]
        assert len(kept["q", "text", 1]) == min(cap, 1)


def test_priority_reads_the_cleaned_text_and_little_endian_words() -> None:
    assert naive.priority("\ud800", 5) == naive.priority("\ufffd", 5)
    # xxh64("abc") = 44bc2cf5ad770999 as eight little-endian bytes, then the start
    packed = bytes.fromhex("990977adf52cbc440700000000000000")
    assert naive.priority("abc", 7) == xxhash.xxh64_intdigest(packed)


def check_spans(text: str, profile: str) -> None:
    spans = naive.token_spans(text, profile)
    assert [token for _, _, token in spans] == naive.tokens(text, profile)
    stop = 0
    for start, end, token in spans:
        assert stop <= start < end <= len(text)
        stop = end
        # Read alone, a span is its token; but 'İ' and 'Σ' may depend on the command before the span.
        if profile == "raw" or not {"İ", "Σ"} & set(text[start:end]):
            assert naive.tokens(text[start:end], profile) == [token]


@settings(deadline=None)
@given(strategies.documents(), strategies.profiles())
def test_spans_carry_the_tokens_and_do_not_overlap(text: str, profile: str) -> None:
    check_spans(text, profile)


def test_spans_of_every_oddity() -> None:
    for text in strategies.ODDITIES:
        check_spans(text, "release")
        check_spans(text, "raw")


def test_a_text_may_be_cut_at_any_white_space() -> None:
    """Lower-casing looks at neighbours, over any distance, but never across white space."""
    for space in strategies.SPACES:
        for left, right in [
            ("Α", "Σ"),
            ("ΑΣ", "Α"),
            ("ΑΣ'", "'Α"),
            ("\\alpha", "Σ"),
            ("\\alpha'", "'Σ"),
            ("\\", "İ"),
        ]:
            assert naive.tokens(left + space + right) == naive.tokens(left) + naive.tokens(right)
    assert naive.tokens("Α" + "'" * 100_000 + "Σ") == ["α" + "'" * 100_000 + "ς"]
    assert naive.tokens("\\alpha" + "'" * 100_000 + "Σ") == ["'" * 100_000 + "ς"]
    assert naive.tokens("ΑΣ" + "'" * 100_000 + "Α") == ["ασ" + "'" * 100_000 + "α"]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.corpora(), strategies.profiles())
def test_counts_agree_with_each_other(example: strategies.Example, profile: str) -> None:
    audit = naive.audit(example.problems, example.documents, example.ns, profile)
    assert sum(row["hits_total"] for row in audit.counts.values()) == len(audit.all_matches)
    assert len(set(audit.all_matches)) == len(audit.all_matches)
    for row in audit.counts.values():
        assert row["docs_total"] <= min(row["hits_total"], audit.documents)
        assert row["unique_ngrams_total"] <= min(row["hits_total"], row["n_grams_unique"])
        assert (row["hits_total"] > 0) == (row["docs_total"] > 0) == (row["unique_ngrams_total"] > 0)
    assert all(0 < documents <= occurrences for occurrences, documents in audit.ngrams.values())
    assert set(audit.ngrams) == {(match.n, match.ngram) for match in audit.all_matches}
    assert set(audit.ngrams) <= set(audit.owners)


def test_the_strategy_makes_hits() -> None:
    seen: list[bool] = []

    @settings(
        max_examples=200,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(strategies.corpora())
    def collect(example: strategies.Example) -> None:
        seen.append(bool(naive.audit(example.problems, example.documents, example.ns).all_matches))

    collect()
    assert sum(seen) / len(seen) > 0.6


def read_problems(name: str) -> dict[str, dict[str, str]]:
    lines = (DATA / "bench" / name).read_bytes().split(b"\n")
    records = [json.loads(line) for line in lines if line]
    return {record["problem_id"]: {"text": record["text"]} for record in records}


def read_documents() -> Iterator[str]:
    for path in sorted((DATA / "latex").glob("*.jsonl.zst")):
        with zstd.open(path, "rb") as lines:
            for line in lines:
                yield json.loads(line)["text"]


@needs_data
def test_the_published_totals_of_math500() -> None:
    with (DATA / "golden" / "math500_published_first.tsv").open(encoding="utf-8", newline="") as file:
        published = {row["problem_id"]: int(row["n_grams_total"]) for row in csv.DictReader(file, delimiter="\t")}
    problems = read_problems("math500.jsonl")
    assert len(published) == 127
    assert {name: len(naive.ngrams(naive.tokens(problems[name]["text"]), 13)) for name in published} == published


@needs_data
def test_the_golden_audit_of_latex() -> None:
    golden = {
        (row.pop("problem_id"), "text", row.pop("n")): row
        for row in pq.read_table(DATA / "golden" / "latex_combined.parquet").to_pylist()
    }
    audit = naive.audit(read_problems("combined.jsonl"), list(read_documents()), [8, 10, 12, 13, 15])
    assert audit.documents == 2085
    assert {
        owner: {**row, "in_S0": row["docs_total"] == 0, "in_S1": row["docs_total"] <= 2}
        for owner, row in audit.counts.items()
    } == golden

"""The definition, against the oracle that shares no code with it."""

import pytest
from hypothesis import given, settings

from tests import naive, strategies
from wmbxl.text import PROFILES, Normaliser, ngrams, original_positions, replace_surrogates, xxh64


def check(text: str, profile: str) -> None:
    normaliser = Normaliser(profile)  # type: ignore[arg-type]
    assert normaliser.tokens(text) == naive.tokens(text, profile)
    assert [(t.start, t.end, t.text) for t in normaliser.locate(text)] == naive.token_spans(text, profile)
    assert normaliser.normalise(text) == " ".join(naive.tokens(text, profile))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_oddity(profile: str) -> None:
    for text in strategies.ODDITIES:
        check(text, profile)


@settings(deadline=None)
@given(strategies.documents(), strategies.profiles())
def test_any_text(text: str, profile: str) -> None:
    check(text, profile)


@pytest.mark.parametrize("text", ["", "plain", "\ud800", "a\udfffb\ud800", "\U0010ffff\ud83d\ude00"])
def test_surrogates_are_replaced_one_by_one(text: str) -> None:
    clean = replace_surrogates(text)
    assert clean == naive.clean(text)
    assert len(clean) == len(text)
    clean.encode()


def test_positions_of_a_letter_that_grows() -> None:
    assert original_positions("aİb") == [0, 1, 1, 2]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_ngrams(n: int) -> None:
    words = ["a", "b", "a"]
    assert list(ngrams(words, n)) == naive.ngrams(words, n)


@pytest.mark.parametrize("ngram", ["", "a", "let h be given", "é 中 😀"])
def test_keys(ngram: str) -> None:
    assert xxh64(ngram) == naive.key(ngram)


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(ValueError, match="'paper'"):
        Normaliser("paper")  # type: ignore[arg-type]

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

pytest.importorskip("pylatexenc", reason="equations are read with it: pip install '.[construct]'")

from wmbxl.answers import equivalent
from wmbxl.answers.exact import normalise
from wmbxl.construct.distractors import Options, choose
from wmbxl.construct.formula import Unsuited

ANSWERS = (
    r"\mathbf{h}_{u,k}^T \mathbf{f}_q x + n_k",
    r"\left( \mathbf{H}_{i,k}^{H} \mathbf{H}_{i,k} \right)^{-1} \mathbf{H}_{i,k}^{H}",
    r"\frac{R_L r_i}{R_L + r_i}",
    r"\left( \frac{P_{\mathrm{tx}}}{\sigma^2 \theta} \right)^{\frac{1}{\alpha}}",
    r"\frac{3 B}{4 U}\left(2 + \log \frac{3}{4}\right) k T N + Q_{CE}^R",
    r"\beta\boldsymbol{h} + \boldsymbol{n}",
    r"-\frac{v(t)}{c} F_\mathrm{C}",
)


def proved(options: Options) -> bool:
    return all(
        equivalent(one, other).relation == "different" for one, other in combinations(options.options.values(), 2)
    )


@pytest.mark.parametrize("answer", ANSWERS)
def test_options_differ_and_one_is_right(answer: str) -> None:
    options = choose(answer, seed=1)
    assert list(options.options) == list("ABCD")
    assert options.options[options.answer] == answer
    assert set(options.rules) == set("ABCD") - {options.answer}
    assert proved(options)


def test_the_same_seed_gives_the_same_options_in_any_order() -> None:
    forwards = [choose(answer, 5) for answer in ANSWERS[:4]]
    backwards = [choose(answer, 5) for answer in reversed(ANSWERS[:4])]
    assert forwards == backwards[::-1]
    assert choose(ANSWERS[0], 6) != forwards[0]


def test_what_a_model_proposes_is_taken_only_if_it_is_proved_to_be_wrong() -> None:
    answer = "a x + b"
    right, broken, far = "b + x a", r"\frac{a", "a x + b" + " + c" * 20
    for seed in range(8):
        options = choose(answer, seed, [right, broken, far, "a x - 2 b"])
        assert not {right, broken, far} & set(options.options.values())
    chosen = [choose(answer, seed, ["a x - 2 b", "a b x", "a + b x"]) for seed in range(8)]
    assert any("model" in options.rules.values() for options in chosen)


def test_neither_place_nor_length_gives_the_right_option_away() -> None:
    places: Counter[str] = Counter()
    longest = shortest = 0.0
    made = 0
    for answer in ANSWERS[:1] + ANSWERS[2:3] + ANSWERS[5:]:
        for seed in range(15):
            options = choose(answer, seed)
            lengths = {letter: len(normalise(latex)) for letter, latex in options.options.items()}
            made += 1
            places[options.answer] += 1
            # What somebody scores who always takes the longest, or the shortest.
            for extreme in (max, min):
                best = [letter for letter in lengths if lengths[letter] == extreme(lengths.values())]
                score = (options.answer in best) / len(best)
                longest, shortest = (longest + score, shortest) if extreme is max else (longest, shortest + score)
    assert set(places) == set("ABCD")
    assert max(places.values()) < made / 2
    assert longest / made < 0.45
    assert shortest / made < 0.45


def test_an_answer_without_enough_distractors_is_refused() -> None:
    with pytest.raises(Unsuited, match="0 candidates are proved to differ") as caught:
        choose("a", 0)
    assert caught.value.reason == "few_distractors"

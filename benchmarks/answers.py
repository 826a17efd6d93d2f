"""How often each step of the answer chain is right, how long a verdict takes, and whether hostile input ends in time.

    python benchmarks/answers.py [--fuzz N] [--quick] [--json FILE]

The labelled pairs are those of tests/answers/pairs.jsonl: some to develop with, some held out until the rules stood,
and fresh ones, written after that and tried once. An accepted pair counts as a false accept if its label is
"different", and is listed apart if its label is "undecidable": then the formulas are the same only if the problem says
so.
math-verify is compared if it is installed (pip install 'math-verify[antlr4_13_2]').
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from wmbxl.answers import chain
from wmbxl.answers.chain import CANONICAL_SECONDS, SYMBOLIC_SECONDS, verify
from wmbxl.answers.exact import boxed, score
from wmbxl.answers.verdict import Outcome, Verdict

PAIRS = Path(__file__).parents[1] / "tests" / "answers" / "pairs.jsonl"
KIND = "fill_blank_50"
ACCEPTING = {"up to exact": ("exact",), "up to canonical": ("exact", "canonical")}
HOSTILE = (
    r"\newcommand{\a}{\a\a}\a",
    r"\def\x{\x}\x",
    "9" * 1000 + "^{" + "9" * 1000 + "}",
    "2^{3^{4^{5^{6^{7}}}}}",
    "10^{10^{10^{10}}}",
    "{" * 3000,
    "(" * 1500 + "x" + ")" * 1500,
    r"\frac{1}{" * 500 + "x" + "}" * 500,
    r"\sum_{i=1}^{9}" * 12 + "x_i",
    r"\prod_{i=1}^{100}\sum_{j=1}^{100}\sum_{k=1}^{100} x_{ijk}",
    r"\int_0^1" * 8 + " x" + r"\,dx" * 8,
    r"\mathbf{A}^{64}" * 40,
    "|" * 999,
    r"\mathbf{A}\otimes" * 30 + r"\mathbf{B}",
    r"\left" * 500,
    "x_" * 500,
    "$" * 999,
    "(1+x)^{100000}!",
    "\\",
    "\x00\ud800é∑",
)


@dataclass(frozen=True)
class Pair:
    category: str
    response: str
    answer: str
    label: str
    part: str

    def boxed(self) -> tuple[str, str]:
        return _in_box(self.response), _in_box(self.answer)


@dataclass(frozen=True)
class Row:
    method: str
    pairs: int
    false_accepts: int
    accepted_undecidable: int
    not_equivalent: int
    accepted: int
    equivalent: int
    rejected_equivalent: int
    undecided: int

    def text(self) -> str:
        wrong = (self.false_accepts + self.accepted_undecidable) / self.not_equivalent
        return (
            f"{self.method:<22}{self.false_accepts:>8}{self.accepted_undecidable:>14}{wrong:>9.1%}"
            f"{self.accepted:>6}/{self.equivalent:<4}{self.accepted / self.equivalent:>7.1%}"
            f"{self.rejected_equivalent:>10}{self.undecided / self.pairs:>11.1%}"
        )


HEADER = f"{'':<22}{'false':>8}{'undecidable':>14}{'share':>9}{'recall':>18}{'rejected':>10}{'undecided':>11}\n" + (
    f"{'method':<22}{'accepts':>8}{'accepted':>14}{'':>9}{'':>18}{'wrongly':>10}{'':>11}"
)


def _in_box(text: str) -> str:
    return text if r"\boxed" in text else rf"\boxed{{{text}}}"


def read_pairs() -> list[Pair]:
    return [Pair(**json.loads(line)) for line in PAIRS.read_text().splitlines()]


def up_to(steps: Sequence[str], verdict: Verdict) -> Outcome:
    """What the chain would have said if it ended after some steps."""
    return verdict.outcome if verdict.step in (*steps, "extract") else "undecided"


def same_string(pair: Pair) -> Outcome:
    return "correct" if pair.response == pair.answer else "incorrect"


def exact_rule(pair: Pair) -> Outcome:
    return "correct" if score(*pair.boxed(), KIND).correct else "incorrect"


def math_verify(pair: Pair) -> Outcome:
    """math-verify's own comparison of each part; what it can't parse counts as wrong, as it does there."""
    from math_verify import parse
    from math_verify import verify as same

    responses, answers = (boxed(text) for text in pair.boxed())
    if len(responses) != len(answers):
        return "incorrect"
    parsed = [  # its limits are of wall time, which a busy machine would hold against it
        [parse(f"${text}$", parsing_timeout=None) for text in part] for part in zip(answers, responses, strict=True)
    ]
    return "correct" if all(same(*part, timeout_seconds=None) for part in parsed) else "incorrect"


def row(method: str, pairs: Sequence[Pair], outcomes: Sequence[Outcome]) -> Row:
    count = Counter(zip((pair.label for pair in pairs), outcomes, strict=True))
    labels = Counter(pair.label for pair in pairs)
    return Row(
        method=method,
        pairs=len(pairs),
        false_accepts=count["different", "correct"],
        accepted_undecidable=count["undecidable", "correct"],
        not_equivalent=labels["different"] + labels["undecidable"],
        accepted=count["equivalent", "correct"],
        equivalent=labels["equivalent"],
        rejected_equivalent=count["equivalent", "incorrect"],
        undecided=sum(outcome == "undecided" for outcome in outcomes),
    )


def outcomes(pairs: Sequence[Pair]) -> tuple[dict[str, list[Outcome]], np.ndarray]:
    """What each method says of each pair, and how long the chain took."""
    methods: dict[str, Callable[[Pair], Outcome]] = {"string equality": same_string, "exact rule": exact_rule}
    if find_spec("math_verify"):
        methods["math-verify alone"] = math_verify
    found = {name: [method(pair) for pair in pairs] for name, method in methods.items()}
    verdicts, seconds = [], []
    for pair in pairs:
        start = time.perf_counter()
        verdicts.append(verify(*pair.boxed(), KIND))
        seconds.append(time.perf_counter() - start)
    found |= {name: [up_to(steps, verdict) for verdict in verdicts] for name, steps in ACCEPTING.items()}
    found["up to symbolic"] = [verdict.outcome for verdict in verdicts]
    return found, np.array(seconds)


def fuzzed(pairs: Sequence[Pair], count: int) -> list[tuple[str, str]]:
    """Damage answers: pieces lost, doubled, swapped, nested, cut off; and what is hostile on purpose."""
    draw = random.Random(7)
    whole = [text for pair in pairs for text in (pair.response, pair.answer)]
    made = [(text, draw.choice(whole)) for text in HOSTILE] + [(text, text + "+1") for text in HOSTILE]
    while len(made) < count:
        made.append((_damaged(draw.choice(whole), whole, draw), draw.choice(whole)))
    return made[:count]


def _damaged(text: str, whole: Sequence[str], draw: random.Random) -> str:
    for _ in range(draw.randint(1, 4)):
        first, last = sorted(draw.choices(range(len(text) + 1), k=2))
        text = draw.choice(
            (
                text[:first] + text[last:],
                text[:first] + 2 * text[first:last] + text[last:],
                text[:first] + draw.choice(whole) + text[first:],
                r"\frac{" + text + "}{" + draw.choice(whole) + "}",
                text[:first] + draw.choice("{}[]()|^_&%$#~\\0123456789") + text[first:],
                r"\sum_{i=1}^{N}" + text,
                text[first:] + text[:first],
                "(" + text + ")^{" + draw.choice(("2", "-1", "H", "99", text[:20])) + "}",
            )
        )[:3000]
    return text


def endurance(pairs: Sequence[Pair], count: int) -> dict[str, float | str]:
    seconds: list[float] = []
    count_of, reasons = Counter[str](), []
    for first, second in fuzzed(pairs, count):
        start = time.perf_counter()
        verdict = verify(rf"\boxed{{{first}}}", rf"\boxed{{{second}}}", KIND)
        seconds.append(time.perf_counter() - start)
        count_of[verdict.outcome] += 1
        reasons.append(verdict.reason)
    return {
        "inputs": count,
        "p50_ms": 1000 * float(np.percentile(seconds, 50)),
        "p99_ms": 1000 * float(np.percentile(seconds, 99)),
        "max_s": max(seconds),
        "slowest": reasons[int(np.argmax(seconds))],
        "stopped_at_the_limit": reasons.count("no answer in time"),
        "processes_died": reasons.count("the process died"),
        "failed": sum(reason.startswith("failed") for reason in reasons),
        **{outcome: count_of[outcome] for outcome in ("correct", "incorrect", "undecided")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzz", type=int, default=10_000, help="how many damaged answers to try")
    parser.add_argument("--quick", action="store_true", help="few pairs, few damaged answers")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    pairs = read_pairs()[:: 9 if given.quick else 1]
    chain.equivalent("a", "b")  # starts the child, which no verdict waits for later
    said, seconds = outcomes(pairs)
    found: dict[str, object] = {}
    for name in (*dict.fromkeys(pair.part for pair in pairs), "all"):
        chosen = [place for place, pair in enumerate(pairs) if name in (pair.part, "all")]
        rows = [row(method, [pairs[n] for n in chosen], [of[n] for n in chosen]) for method, of in said.items()]
        found[name] = [asdict(one) for one in rows]
        print(f"\nPairs, {name}: {len(chosen)}\n{HEADER}")
        print("\n".join(one.text() for one in rows))
    milliseconds = found["ms"] = {
        name: 1000 * float(np.percentile(seconds, share)) for name, share in (("p50", 50), ("p99", 99))
    }
    print("\nms per verdict: " + ", ".join(f"{name} {ms:.1f}" for name, ms in milliseconds.items()))
    limit = CANONICAL_SECONDS + SYMBOLIC_SECONDS
    endured = found["fuzzed"] = endurance(pairs, 60 if given.quick else given.fuzz)
    print(f"\nDamaged and hostile answers (limit {limit:g} s, apart from starting a child anew)")
    print(
        "\n".join(f"{name:<22}{value if isinstance(value, str) else f'{value:.4g}'}" for name, value in endured.items())
    )
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

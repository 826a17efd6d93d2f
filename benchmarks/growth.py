"""How cost grows with the benchmark and with hits.

The large benchmark is cut from one half of the corpus's documents and sought in the other half, so it reads like the
corpus: most of its short n-grams occur. The small one is a hundredth of it. Problems that occur in both halves are left
out, since hits are measured by themselves; with them, the same benchmark is far hit-heavier than any that is not cut
from its corpus. Benchmarks of made words, none of which occurs, are the other extreme.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import wmbxl
from benchmarks.figures import MB, Figure, at_least, at_most, by_turns
from benchmarks.inputs import Inputs, made_text, scan, write
from wmbxl.text import Normaliser

N = 13
WORDS = 60  # of a problem that is cut from a document
TIMES = 100  # the large benchmark is that many times the small one


def cut_problems(texts: Sequence[str], grams: int) -> list[str]:
    """Cut texts into problems until these have about so many n-grams, going round the texts."""
    cuts: list[str] = []
    words = [text.split() for text in texts]
    for start in range(0, max(map(len, words)), WORDS):
        for text in words:
            if len(cuts) * (WORDS - N + 1) >= grams:
                return cuts
            if len(text) >= start + WORDS:
                cuts.append(" ".join(text[start : start + WORDS]))
    return cuts


def indexed(surfaces: Sequence[str]) -> wmbxl.ProbeIndex:
    return wmbxl.ProbeIndex.build(wmbxl.Benchmark.from_surfaces({f"p{i}": s for i, s in enumerate(surfaces)}), [N])


def without_hits(cuts: Sequence[str], path: Path) -> list[str]:
    """Leave out the problems of which a window occurs in a file."""
    entries = scan(path, indexed(cuts), evidence_cap=0).entries.keys  # one channel and one n: an entry is a problem
    return np.delete(np.array(cuts, dtype=object), entries).tolist()


def benchmark_size(inputs: Inputs) -> list[Figure]:
    grams = 400 if inputs.quick else 420_000
    path = write(inputs.folder / "half.jsonl.zst", inputs.texts[0::2])
    cuts = cut_problems(inputs.texts[1::2], 2 * grams)
    like = without_hits(cuts, path)[: grams // (WORDS - N + 1)]
    chooser = random.Random(1)
    made = [made_text(chooser, WORDS) for _ in like]
    kinds = {"like": like, "hits": cuts[: len(like)], "made": made}
    large = {kind: indexed(surfaces) for kind, surfaces in kinds.items()}
    small = {f"small, {kind}": indexed(surfaces[::TIMES]) for kind, surfaces in kinds.items()}
    pairs = {name: index for both in zip(small.items(), large.items(), strict=True) for name, index in both}
    times = by_turns({name: lambda index=index: scan(path, index) for name, index in pairs.items()}, inputs.rounds)
    lost = {kind: 100 * (1 - times.ratio(f"small, {kind}", kind)) for kind in kinds}
    found = scan(path, large["hits"]).occurrences / sum(map(len, inputs.texts[0::2])) * MB
    return [
        Figure("n-grams of the large benchmark", large["like"].size),
        Figure("index, bytes per n-gram", large["like"].nbytes / large["like"].size, "B", at_most(64, 32)),
        Figure("benchmark 100 × larger, throughput lost", lost["like"], "%", at_most(25, 10)),
        Figure("the same of made words", lost["made"], "%"),
        Figure("the same with problems that occur", lost["hits"], "%"),
        Figure("hits per MB, with problems that occur", found),
    ]


def hits(inputs: Inputs) -> list[Figure]:
    """Compare documents without a hit, and the same with problems put into some or all of them."""
    index = wmbxl.ProbeIndex.build(inputs.benchmark, [N])
    found = scan(inputs.store("jsonl.zst"), index, evidence_cap=1 << 30).evidence
    with_hits = set(found["row"].to_pylist())
    clean = [text for row, text in enumerate(inputs.texts) if row not in with_hits]
    normaliser = Normaliser()
    surfaces = [next(iter(problem.surfaces.values())) for problem in inputs.benchmark.problems]
    surfaces = [surface for surface in surfaces if len(normaliser.tokens(surface)) >= 2 * N]

    def planted(every: int) -> list[str]:
        return [
            text if row % every else f"{surfaces[row % len(surfaces)]}\n{text}\n{surfaces[-1 - row % len(surfaces)]}"
            for row, text in enumerate(clean)
        ]

    kinds = {"no": clean, "one in twenty": planted(20), "every": planted(1)}
    paths = {name: write(inputs.folder / f"hits-{name}.jsonl.zst", texts) for name, texts in kinds.items()}
    times = by_turns({name: lambda path=path: scan(path, index) for name, path in paths.items()}, inputs.rounds)
    size = {name: sum(map(len, texts)) for name, texts in kinds.items()}
    return [
        *(Figure(f"{name} document with problems", size[name] / MB / times.fastest(name), "MB/s") for name in kinds),
        Figure(
            "hits per MB, every document with problems", scan(paths["every"], index).occurrences / size["every"] * MB
        ),
        Figure(
            "every document with problems ÷ clean",
            size["every"] / size["no"] * times.ratio("no", "every"), "", at_least(0.3, 0.6),
        ),
    ]  # fmt: skip


def measure(inputs: Inputs) -> list[Figure]:
    return [*benchmark_size(inputs), *hits(inputs)]

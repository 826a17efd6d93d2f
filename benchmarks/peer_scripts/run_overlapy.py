"""overlapy: Aho-Corasick over tokens. Reading and tokens are the caller's; here lines of JSON and white space."""

from __future__ import annotations

import json

from overlapy import OverlapyNgramMatcher, OverlapyTestSet
from report import arguments, problems, tell, timed
from tokens import tokens

given = arguments()
examples = [tokens(text) for text in problems(given.benchmark).values()]
testset = OverlapyTestSet("benchmark", min_n=given.n, max_n=given.n, examples=examples)
matcher = OverlapyNgramMatcher({tuple(gram) for gram in testset.ngrams()})
found: list[str] = []
read = 0


def scan() -> None:
    global read
    for path in sorted(given.corpus.iterdir()):
        with path.open(encoding="utf-8") as file:
            for record in map(json.loads, file):
                read += 1
                if matcher([tokens(record["text"])]):
                    found.append(record["id"])


tell("overlapy", timed(scan), found, read)

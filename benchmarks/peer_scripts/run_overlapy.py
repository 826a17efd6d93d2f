"""overlapy: Aho-Corasick over tokens. Reading and tokens are the caller's; here lines of JSON and white space."""

from __future__ import annotations

import json
from importlib.metadata import version

from overlapy import OverlapyNgramMatcher, OverlapyTestSet
from report import arguments, problems, tell, timed
from tokens import tokens

given = arguments()
examples = [tokens(text) for text in problems(given.benchmark).values()]
testset = OverlapyTestSet("benchmark", min_n=given.n, max_n=given.n, examples=examples)
matcher = OverlapyNgramMatcher({tuple(gram) for gram in testset.ngrams()})


def scan() -> tuple[list[str], int]:
    found, read = [], 0
    for path in sorted(given.corpus.iterdir()):
        with path.open(encoding="utf-8") as file:
            for record in map(json.loads, file):
                read += 1
                if matcher([tokens(record["text"])]):
                    found.append(record["id"])
    return found, read


(found, read), seconds = timed(scan)
tell(version("overlapy"), seconds, found, read)

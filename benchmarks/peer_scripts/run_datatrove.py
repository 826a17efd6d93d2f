"""datatrove: hashes of n-grams of words, after its own normalisation; a document is dropped at its first hit.

The step that builds the index would import another package for its own list of tasks, so its hashes are written here.
"""

from __future__ import annotations

import numpy as np
from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
from datatrove.pipeline.readers import JsonlReader
from report import arguments, problems, tell, timed

given = arguments()
config = NGramsDecontConfig(n_grams=given.n)
NGramsDecontIndexer._requires_dependencies = []
indexer = NGramsDecontIndexer(str(given.scratch), config=config)
hashes = {value for text in problems(given.benchmark).values() for value in indexer.compute_hashes(text)}
np.array(sorted(hashes), dtype=config.hash_config.np_descr).tofile(given.scratch / "benchmark.index.hashes")

filter_ = NGramsDecontFilter(str(given.scratch), config=config)
reader = JsonlReader(str(given.corpus))
found: list[str] = []
read = 0


def scan() -> None:
    global read
    for document in reader.run():
        read += 1
        if filter_.filter(document) is not True:
            found.append(document.id)


tell("datatrove", timed(scan), found, read)

"""datatrove: hashes of n-grams of words, after its own normalisation; a document is dropped at its first hit.

The step that builds the index would import another package for its own list of tasks, so its hashes are written here.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
from datatrove.pipeline.readers import JsonlReader
from datatrove.utils.logging import logger
from report import arguments, problems, tell, timed

given = arguments()
warnings: list[str] = []
logger.remove()
logger.add(lambda message: warnings.append(message.record["message"]), level="WARNING")
config = NGramsDecontConfig(n_grams=given.n)
NGramsDecontIndexer._requires_dependencies = []
indexer = NGramsDecontIndexer(str(given.scratch), config=config)
hashes = {value for text in problems(given.benchmark).values() for value in indexer.compute_hashes(text)}
np.array(sorted(hashes), dtype=config.hash_config.np_descr).tofile(given.scratch / "benchmark.index.hashes")

step = NGramsDecontFilter(str(given.scratch), config=config)


def scan() -> tuple[list[str], int]:
    found, read = [], 0
    for document in JsonlReader(str(given.corpus)).run():
        read += 1
        if step.filter(document) is not True:
            found.append(document.id)
    return found, read


(found, read), seconds = timed(scan)
tell(version("datatrove"), seconds, found, read, warnings[:1])

"""corpus-assay: hashes of n-grams of words, after Unicode normalisation and without stop words."""

from __future__ import annotations

import json
from pathlib import Path

from corpus_assay import build_index_hf, do_scan
from corpus_assay.config import BuildIndexConfig, ScanConfig, load_decontamination_config
from report import arguments, tell, timed

if __name__ == "__main__":
    given = arguments()
    settings = given.scratch / "config.yaml"
    source = {"name": "benchmark", "dataset": "json", "data_files": {"test": str(given.benchmark)}}
    settings.write_text(
        json.dumps({
            "benchmarks": [{**source, "splits": ["test"], "fields": ["text"]}],
            "ngram": given.n, "min_hits": 1, "min_coverage": 0.0,
        })
    )  # fmt: skip
    config = load_decontamination_config(str(settings))
    index = str(given.scratch / "benchmark.native")
    build_index_hf(BuildIndexConfig(out_path=index, ngram=given.n, benchmarks=config.benchmarks, allow_unpinned=True))
    run = None

    def scan() -> None:
        global run
        run = do_scan(
            ScanConfig(
                inputs=[str(given.corpus)], text_key="text", id_key="id", index_path=index,
                out_dir=str(given.scratch / "out"), ngram=given.n, min_hits=1, min_coverage=0.0, workers=1,
                max_return_records=1_000_000,
            )
        )  # fmt: skip

    seconds = timed(scan)
    print([x for x in dir(run) if x[0] != "_"], Path(given.scratch))

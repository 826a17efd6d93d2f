"""corpus-assay: hashes of n-grams of words, after Unicode normalisation and without stop words."""

from __future__ import annotations

import json
from importlib.metadata import version

from corpus_assay import build_index_hf, do_scan
from corpus_assay.config import BuildIndexConfig, ScanConfig, load_decontamination_config
from report import arguments, problems, tell, timed

if __name__ == "__main__":
    given = arguments()
    rows = given.scratch / "benchmark.jsonl"
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in problems(given.benchmark).values()))
    settings = given.scratch / "config.yaml"
    source = {"name": "benchmark", "dataset": "json", "data_files": {"test": str(rows)}}
    benchmark = {**source, "splits": ["test"], "fields": ["text"]}
    settings.write_text(json.dumps({"benchmarks": [benchmark], "ngram": given.n, "min_hits": 1, "min_coverage": 0.0}))
    config = load_decontamination_config(str(settings))
    index, out = str(given.scratch / "benchmark.native"), given.scratch / "out"
    build_index_hf(BuildIndexConfig(out_path=index, ngram=given.n, benchmarks=config.benchmarks, allow_unpinned=True))
    run, seconds = timed(
        lambda: do_scan(
            ScanConfig(
                inputs=[str(given.corpus)], text_key="text", id_key="id", index_path=index, out_dir=str(out),
                ngram=given.n, min_hits=1, min_coverage=0.0, workers=1, max_return_records=1_000_000,
            )
        )
    )  # fmt: skip
    found = set()
    for path in (out / "contaminated_docs").glob("*.ndjson"):
        with path.open(encoding="utf-8") as file:
            found |= {json.loads(line)["doc_id"].rpartition("-part-")[0] for line in file}
    told = [f"{run.failed_files} of {run.total_files} files failed"] if run.failed_files else []
    tell(version("corpus-assay"), seconds, found, run.total_docs_scanned, told)

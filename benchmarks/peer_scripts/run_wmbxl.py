"""wmbxl itself: every occurrence of every n-gram, confirmed by comparing text. Compiled before the clock starts."""

from __future__ import annotations

import json

from report import arguments, problems, tell, timed

import wmbxl
from wmbxl import tiers
from wmbxl.__about__ import __version__

given = arguments()
surfaces = problems(given.benchmark)
index = wmbxl.ProbeIndex.build(wmbxl.Benchmark.from_surfaces(surfaces), [given.n])
for tier in tiers.ALL:
    tier.bytes_left = 0  # as in a process that has read some 32 MB
warm = given.scratch / "warm.jsonl"
warm.write_text(json.dumps({"text": " ".join(["É", *surfaces.values()])}) + "\n")
wmbxl.scan_shard(wmbxl.Corpus("warm", str(warm)).shards()[0], index)


def scan() -> wmbxl.Tally:
    shards = wmbxl.Corpus("c", str(given.corpus), id_field="id").shards()
    return wmbxl.Tally.sum(wmbxl.scan_shard(shard, index, evidence_cap=1 << 30) for shard in shards)


total, seconds = timed(scan)
told = [f"{reason}: {amount.count}" for reason, amount in (*total.skipped.items(), *total.faults.items())]
tell(__version__, seconds, total.evidence["document_id"].to_pylist(), total.documents, told)

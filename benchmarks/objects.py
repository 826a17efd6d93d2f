"""Very many tiny objects on a real S3 server: listing, planning, scanning, and the memory of driver and scheduler.

python -m benchmarks.objects [--counts 1000,10000,100000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.figures import MB, Figure, at_most, clean_up_when_terminated, json_file
from benchmarks.pieces import COUNTS, cost
from tests.s3 import Server, missing, served

AT_ONCE = 1000  # objects written at a time


def fill(server: Server, place: str, count: int) -> None:
    """Write so many objects of one document."""
    files = server.files
    for first in range(0, count, AT_ONCE):
        files.pipe(
            {
                f"{place}/{i // 1000:04}/{i:07}.jsonl": b'{"text": "document number %d says little"}\n' % i
                for i in range(first, min(count, first + AT_ONCE))
            }
        )


def pages(server: Server, place: str) -> float:
    """Return the seconds that the server and its client take to list a place, without anything of ours."""
    files, began, more = server.files, time.perf_counter(), {}
    bucket, _, prefix = place.partition("/")
    while True:
        page = files.call_s3("list_objects_v2", Bucket=bucket, Prefix=f"{prefix}/", **more)
        if not page.get("NextContinuationToken"):
            return time.perf_counter() - began
        more = {"ContinuationToken": page["NextContinuationToken"]}


def measure(folder: Path, server: Server, count: int) -> list[Figure]:
    place = f"corpora/tiny-{count}"
    fill(server, place, count)
    alone = pages(server, place)
    found = cost(folder, f"s3://{place}/**/*.jsonl", f"s3://runs/tiny-{count}", server.options())
    scanning = found["wall"] - found["listing"] - found["planning"]
    name = f"{count:,} objects"
    return [
        Figure(f"{name}, listing by the client alone", alone, "s"),
        Figure(f"{name}, listing", found["listing"], "s", at_most(60, 20)),
        Figure(f"{name}, planning", found["planning"], "s"),
        Figure(f"{name}, tasks", found["tasks"]),
        Figure(f"{name}, the audit without these", scanning, "s"),
        Figure(f"{name}, driver's CPU", found["cpu"], "s"),
        Figure(f"{name}, scheduler's CPU", found["scheduler_cpu"], "s"),
        Figure(f"{name}, workers' CPU, with their start", found["workers_cpu"], "s"),
        Figure(f"{name}, driver's memory before", found["before"] / MB, "MB"),
        Figure(f"{name}, driver's peak", found["peak"] / MB, "MB"),
        Figure(f"{name}, scheduler's memory before", found["scheduler_before"] / MB, "MB"),
        Figure(f"{name}, scheduler's peak", found["scheduler_peak"] / MB, "MB"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)), help="numbers of objects")
    parser.add_argument("--json", type=json_file, help="write the figures here")
    given = parser.parse_args()
    if reason := missing():
        parser.error(reason)
    clean_up_when_terminated()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        (home := Path(folder) / "s3").mkdir()
        with served(home) as server:
            for count in map(int, given.counts.split(",")):
                found = measure(Path(folder), server, count)
                print(*(figure.row() for figure in found), sep="\n", flush=True)
                figures += found
    if given.json:
        given.json.write_text(json.dumps({"objects": [figure.as_json() for figure in figures]}, indent=1))


if __name__ == "__main__":
    main()

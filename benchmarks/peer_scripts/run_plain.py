"""The oracle of wmbxl's tests: the same counts in plain Python, with owners and places. Reads JSON lines."""

from __future__ import annotations

import json
import platform

from report import arguments, problems, tell, timed

from tests import naive

given = arguments()
surfaces = {name: {"prompt": text} for name, text in problems(given.benchmark).items()}


def scan() -> tuple[set[str], int]:
    records: list[dict[str, str]] = []
    for path in sorted(given.corpus.iterdir()):
        with path.open(encoding="utf-8") as file:
            records.extend(map(json.loads, file))
    audit = naive.audit(surfaces, [record["text"] for record in records], [given.n])
    return {records[match.document]["id"] for match in audit.all_matches}, len(records)


(found, read), seconds = timed(scan)
tell(platform.python_version(), seconds, found, read)

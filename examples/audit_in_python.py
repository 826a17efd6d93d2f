"""A whole audit in Python, on data that it makes itself in a temporary folder.

Three problems. The first stands in the corpus verbatim, the second in LaTeX, the third not at all.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import wmbxl

PROBLEMS = {
    "verbatim": "A base station with four antennas serves one user over a flat fading channel and knows the channel.",
    "in-latex": "The pilot sequence has length tau and the channel vector h is estimated by least squares from it.",
    "absent": "An interleaver spreads burst errors over many code words so that the decoder sees single errors only.",
}
DOCUMENTS = [
    f"Exercise 1. {PROBLEMS['verbatim']} Find the best precoder.",
    r"The \emph{pilot sequence} has length $\tau$ and the channel vector $\mathbf{h}$ is estimated by least squares.",
    r"The pilot sequence has length tau and the channel \textbf{vector} $h$ is estimated by least {squares} from it.",
    "Nothing to see here.",
]


def write_jsonl(path: Path, records: list[dict[str, str]]) -> None:
    """Write records as JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def main() -> None:
    """Make the data, audit it, and look at the result."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        write_jsonl(here / "problems.jsonl", [{"problem_id": id, "text": text} for id, text in PROBLEMS.items()])
        write_jsonl(here / "corpus.jsonl", [{"id": f"doc-{i}", "text": text} for i, text in enumerate(DOCUMENTS)])

        bench = wmbxl.read_benchmark(str(here / "problems.jsonl"))
        corpus = wmbxl.Corpus("mine", str(here / "corpus.jsonl"), id_field="id")
        audit = wmbxl.audit(bench, [corpus], out=str(here / "audit"), ns=(8, 13), workers=1)

        print(f"The audit is {audit.status}.")
        counts = audit.metadata[["problem_id", "n", "n_grams_total", "hits_total", "docs_total", "in_S0"]]
        print(counts.to_string(index=False))
        print("S0 at n = 13:", ", ".join(audit.view("S0", n=13).ids))

        match = audit.evidence.query("problem_id == 'in-latex' and n == 13").iloc[0]
        print(f"{match['problem_id']} is in document {match['document_id']}: {match['snippet']!r}")


if __name__ == "__main__":  # the audit starts processes, which import this file
    main()

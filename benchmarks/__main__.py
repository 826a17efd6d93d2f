"""Measure wmbxl and hold the figures against their targets.

    python -m benchmarks [FAMILY ...] [--corpus GLOB --corpus-text-field F] [--benchmark FILE --id-field F] [--quick]
                         [--json FILE]

Families: throughput, growth, memory, scaling, pieces; all of them without a name. Nothing needs a network. Without
--corpus, text is made, which is easier than real text. Times are CPU time, or wall time where it says so. What is
compared takes turns for several rounds: the fastest counts, and of ratios the median. Compare ratios, not figures of
different runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks import growth, inputs, memory, pieces, scaling, throughput
from benchmarks.figures import clean_up_when_terminated, machine, told_by

FAMILIES = {module.__name__.rpartition(".")[2]: module for module in (throughput, growth, memory, scaling, pieces)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="what to measure")
    inputs.add_options(parser)
    given = parser.parse_args()
    clean_up_when_terminated()
    unknown = set(given.families) - set(FAMILIES)
    if unknown:
        parser.error(f"no such family: {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    about = machine()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        with told_by(parser):
            used = inputs.from_options(given, Path(folder))
        kind = "given" if given.corpus else "made"
        print(", ".join(f"{key} {value}" for key, value in about.items()))
        print(f"{kind} corpus: {used}", flush=True)
        for name in given.families or FAMILIES:
            print(f"\n{name}", flush=True)
            found[name] = FAMILIES[name].measure(used)
            print("\n".join(figure.row(judged=not given.quick) for figure in found[name]), flush=True)
    if given.json:
        content = {name: [figure.as_json() for figure in figures] for name, figures in found.items()}
        corpus = {"kind": kind, "documents": len(used.texts), "bytes": used.size}
        given.json.write_text(json.dumps({"machine": about, "corpus": corpus, **content}, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Look into a corpus before an audit: its files, a few documents, and how long they are.

The documents come from the audit's own readers, as a Dask bag or a Dask dataframe. Here the corpus is the one that
ships with the demo; give a path or pattern to look into another one:

    python examples/explore_corpus.py 'data/*.jsonl.zst'
"""

from __future__ import annotations

import sys

import dask

import wmbxl
from wmbxl.demo import demo_corpus


def main() -> None:
    """Print what the corpus holds."""
    corpus = wmbxl.Corpus("mine", sys.argv[1:]) if len(sys.argv) > 1 else demo_corpus()

    listing = corpus.listing
    print(f"{len(listing.shards)} files, {sum(shard.size for shard in listing.shards):,} bytes")
    for left_out in listing.left_out:
        print(f"left out: {left_out.url} ({left_out.reason})")

    # A bag holds one dict for each document: text, shard, row, document_id.
    bag = corpus.to_bag()
    for document in bag.take(2, npartitions=-1):
        print(f"{document['document_id']}: {document['text'][:60]!r}")
    short = bag.filter(lambda document: len(document["text"].split()) < 13).count()
    print(f"{short.compute():,} documents are too short for a 13-gram")

    # A dataframe has the same columns, one partition for each piece of a file.
    frame = corpus.to_dataframe()
    tokens = frame["text"].str.split().str.len()
    print(tokens.describe().compute().round(1).to_string())
    print(tokens.groupby(frame["shard"]).sum().compute().to_string())


if __name__ == "__main__":
    with dask.config.set(scheduler="threads"):
        main()

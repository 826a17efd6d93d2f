"""What an audit would take, told before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wmbxl.batches import Account
from wmbxl.corpus import Corpus
from wmbxl.folder import FILES, REPORT, RunFolder
from wmbxl.index import ProbeIndex
from wmbxl.plan import Tasks, piece_bytes, plan
from wmbxl.readers import read
from wmbxl.types import Shard

RATE = 150.0  # MB of decompressed records that a core of an older machine scans in a second, for five n
LIBRARIES = 350_000_000  # bytes that Python, the libraries and the compiled kernels take; docs/explanation/memory.md
SCAN = 150_000_000  # bytes that a scan takes beyond that and the index
LONGEST_RECORD = 4  # times the longest record comes on top
_SAMPLED = 3  # shards of a corpus looked into to see how much they grow when decompressed
_SAMPLE_BYTES = 8_000_000  # of records in each


@dataclass(frozen=True)
class CorpusEstimate:
    """What of a corpus has to be read.

    Parameters
    ----------
    name : str
    shards, pieces, tasks : int
        Files; what they are cut into; what pieces are grouped into.
    finished : int
        Tasks with a checkpoint in the run folder.
    file_bytes : int
        Bytes of the files; those of unknown size count as 0.
    unsized : int
        Files of unknown size.
    growth : float
        Bytes of records for each byte of the file, from a look into a few shards.
    bytes_left, largest_task : int
        File bytes of the tasks without a checkpoint, and of the largest one.
    """

    name: str
    shards: int
    pieces: int
    tasks: int
    finished: int
    file_bytes: int
    unsized: int
    growth: float
    bytes_left: int
    largest_task: int

    @classmethod
    def of(cls, corpus: Corpus, tasks: Tasks, finished: set[str]) -> CorpusEstimate:
        """Add up the tasks of a corpus, and look into a few of its shards."""
        shards = corpus.listing.shards
        left = [int(size) for key, size in zip(tasks.keys, tasks.file_bytes, strict=True) if key not in finished]
        return cls(
            name=corpus.name,
            shards=len(shards),
            pieces=len(tasks.pieces),
            tasks=len(tasks),
            finished=len(tasks) - len(left),
            file_bytes=sum(map(piece_bytes, shards)),
            unsized=sum(shard.size < 0 for shard in shards),
            growth=_growth(shards),
            bytes_left=sum(left),
            largest_task=max(left, default=0),
        )


@dataclass(frozen=True)
class Estimate:
    """What an audit would take.

    Parameters
    ----------
    corpora : tuple of CorpusEstimate
    rate : float
        Megabytes of decompressed records that a core scans in a second.
    index_bytes : int
    """

    corpora: tuple[CorpusEstimate, ...]
    rate: float
    index_bytes: int

    @property
    def tasks(self) -> int:
        """Tasks without a checkpoint; more workers than this are of no use."""
        return sum(corpus.tasks - corpus.finished for corpus in self.corpora)

    @property
    def core_seconds(self) -> float:
        """Seconds of one core, without those to start a worker."""
        return sum(corpus.bytes_left * corpus.growth for corpus in self.corpora) / self.rate / 1e6

    @property
    def longest_task(self) -> float:
        """Seconds of the largest task: an audit takes at least as long, whatever the number of workers."""
        return max((c.largest_task * c.growth for c in self.corpora), default=0) / self.rate / 1e6

    def wall_seconds(self, workers: int) -> float:
        """Seconds with so many workers, if reading keeps up and all are there from the start."""
        return max(self.core_seconds / workers, self.longest_task)

    @property
    def memory(self) -> int:
        """Bytes for a worker, beside `LONGEST_RECORD` times the longest record of the corpus."""
        return LIBRARIES + SCAN + self.index_bytes

    @property
    def objects(self) -> int:
        """Files or objects that will be written: a checkpoint for each task, and the tables."""
        return self.tasks + len(FILES) - FILES.count(REPORT)


def estimate(
    index: ProbeIndex, corpora: Sequence[Corpus], folder: RunFolder, block_size: int, evidence_cap: int, rate: float
) -> Estimate:
    """Plan an audit as it would run, and say what it would take; nothing is written.

    Parameters
    ----------
    index : ProbeIndex
    corpora : sequence of Corpus
    folder : RunFolder
        Checkpoints that are there are left out.
    block_size : int
        Bytes of a piece.
    evidence_cap : int
    rate : float
        Megabytes of decompressed records that a core scans in a second.
    """
    finished = folder.checkpoints()
    return Estimate(
        tuple(
            CorpusEstimate.of(corpus, plan(corpus, block_size, index.fingerprint, evidence_cap), finished)
            for corpus in corpora
        ),
        rate,
        len(index.to_bytes()),
    )


def _growth(shards: Sequence[Shard]) -> float:
    """Return the bytes of records for each byte of the file, as the first batches of a few shards tell."""
    decoded, consumed = 0, 0
    step = max(1, (len(shards) - 1) // (_SAMPLED - 1))
    for shard in shards[::step][:_SAMPLED]:
        account = Account()
        for _ in read(shard, account):
            if account.decoded >= _SAMPLE_BYTES:
                break
        decoded += account.decoded
        consumed += account.consumed()
    return decoded / consumed if consumed else 1.0

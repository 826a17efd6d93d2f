"""wmbxl: has this benchmark leaked into that corpus, and does it matter?"""

from wmbxl.__about__ import __version__
from wmbxl.audit import Audit, audit
from wmbxl.benchmark import Benchmark, Problem, read_benchmark
from wmbxl.corpus import Corpus
from wmbxl.errors import WmbxlError
from wmbxl.index import ProbeIndex
from wmbxl.scan import scan_shard
from wmbxl.tally import Tally
from wmbxl.text import Normaliser
from wmbxl.types import Shard
from wmbxl.views import View

__all__ = [
    "Audit",
    "Benchmark",
    "Corpus",
    "Normaliser",
    "ProbeIndex",
    "Problem",
    "Shard",
    "Tally",
    "View",
    "WmbxlError",
    "__version__",
    "audit",
    "read_benchmark",
    "scan_shard",
]

"""Build a release: its data, its documents, its checksums."""

from __future__ import annotations

from dataclasses import dataclass

from wmbxl.__about__ import __version__
from wmbxl.errors import UsageError
from wmbxl.filesystems import filesystem_of
from wmbxl.folder import RunFolder
from wmbxl.release import layout
from wmbxl.release.croissant import mlcroissant
from wmbxl.release.data import data_files
from wmbxl.release.documents import documents, sums, unanswered
from wmbxl.release.facts import Facts, gather
from wmbxl.release.settings import AuditedCorpus, ReleaseConfig, Released, Run
from wmbxl.release.sources import Sources, read_sources


@dataclass(frozen=True)
class Built:
    """A release that was built.

    Attributes
    ----------
    facts : Facts
        Its counts.
    unanswered : list of str
        Questions of the datasheet and of Croissant's RAI vocabulary without an answer.
    remarks : list of str
        What the author has to know about the inputs.
    """

    facts: Facts
    unanswered: list[str]
    remarks: list[str]


def build(config: ReleaseConfig) -> Built:
    """Build a release into a new folder; the same inputs give the same bytes.

    Parameters
    ----------
    config : ReleaseConfig

    Raises
    ------
    UsageError
        The folder holds something already, or an input can't be used.
    BenchmarkError
        Some records can't be released; with all of them.
    """
    mlcroissant()  # say that it is missing before the work, not after it
    filesystem, root = filesystem_of(config.out)
    if filesystem.exists(root) and filesystem.find(root):
        raise UsageError(f"{config.out}: there is something in this folder: give another --out, or delete it")
    sources = read_sources(config)
    released = Released(built_by=__version__, about=config.about, run=_run(config, sources))
    files, remarks = data_files(config, sources)
    files |= documents(files, released)
    out = RunFolder(config.out)
    for path, content in {**files, layout.SUMS: sums(files)}.items():  # the checksums last: a folder with them is whole
        out.write(path, content)
    facts = gather(files, released)
    return Built(facts, unanswered(released), [*sources.remarks, *remarks])


def _run(config: ReleaseConfig, sources: Sources) -> Run:
    info = sources.audit.info
    corpora = [
        AuditedCorpus(
            windows=corpus["windows"][str(config.n)],
            **{name: corpus[name] for name in ("name", "role", "documents", "tokens", "unread_share")},
        )
        for corpus in info["corpora"]
    ]
    return Run(
        **{name: info[name] for name in ("wmbxl", "status", "profile", "ns", "index")},
        n=config.n,
        channel=config.channel,
        benchmark_sha256=info["benchmark"]["sha256"],
        corpora=corpora,
        bootstrap=config.bootstrap,
        paper_split=config.paper_split,
        verdict_groups=list(config.verdicts),
    )

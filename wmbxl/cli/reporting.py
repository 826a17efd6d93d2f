"""The verb that writes the page."""

from __future__ import annotations

import click

from wmbxl.audit import Audit
from wmbxl.cli.opening import about_a_run
from wmbxl.config import read_stores
from wmbxl.errors import UsageError
from wmbxl.report.frames import reference
from wmbxl.report.page import write_report
from wmbxl.stats.resample import Bootstrap
from wmbxl.stats.study import Analysis, Study, analyse
from wmbxl.stats.verdicts import read_verdicts


@click.command()
@about_a_run
@click.option("-n", type=int, help="The n whose flagged problems are shown.  [default: 13, or the largest]")
@click.option("--channel", help="The channel that the figures are about.  [default: prompt]")
@click.option("--verdicts", metavar="FILE", help="model, problem_id, is_correct (.jsonl, .csv, .parquet).")
@click.option("-B", "replicates", type=int, metavar="N", help="Number of resamples, with --verdicts.  [default: 10000]")
@click.option("--seed", type=int, help="Seed of the resamples, with --verdicts.  [default: 0]")
def report(
    directory: str, config: str | None, n: int | None, channel: str | None, verdicts: str | None,
    replicates: int | None, seed: int | None,
) -> None:  # fmt: skip
    """Write DIR/report.html: what was found, beside the problems, on one page to read and to send.

    With --verdicts it also shows whether the overlap changes models' scores. The page needs no network.
    """
    if verdicts is None and (replicates is not None or seed is not None):
        raise UsageError("-B and --seed are about resamples of verdicts: give --verdicts FILE too")
    audit = Audit.open(directory, read_stores(config).storage_options)
    analysis = None
    if verdicts is not None:
        protocol = Bootstrap(replicates=10_000 if replicates is None else replicates, seed=seed or 0)
        analysis = _analysis(audit, verdicts, reference(audit, n, channel), protocol)
    click.echo(write_report(audit, n, channel, analysis))


def _analysis(audit: Audit, path: str, about: tuple[int, str], protocol: Bootstrap) -> Analysis:
    """Analyse verdicts; of problems that the audit could not decide the page says that they are left out."""
    source = read_verdicts(path)
    n, channel = about
    study = Study(source.verdicts, metadata=audit.metadata, n=n, channel=channel, undecided="exclude")
    analysis = analyse(study, protocol)
    return Analysis(analysis.tables, [*source.remarks(), *analysis.remarks])

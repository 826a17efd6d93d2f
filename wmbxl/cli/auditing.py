"""The verbs around an audit: audit, status, export, recheck, demo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from distributed import Client
from fsspec.utils import get_protocol

from wmbxl import clusters
from wmbxl import demo as demo_module
from wmbxl import export as exports
from wmbxl.audit import REFERENCE_N, Audit
from wmbxl.audit import audit as run_audit
from wmbxl.cli.display import console, following, say, show_audit, show_plan, show_unfinished
from wmbxl.cli.opening import about_a_run
from wmbxl.config import AuditConfig, read_stores, validate
from wmbxl.corpus import BLOCK_SIZE, Corpus
from wmbxl.errors import UsageError
from wmbxl.estimate import RATE, estimate
from wmbxl.folder import RunFolder
from wmbxl.index import ProbeIndex
from wmbxl.plan import check_fields
from wmbxl.recheck import recheck as run_recheck
from wmbxl.settings import read_yaml
from wmbxl.text import PROFILES
from wmbxl.watch import Watch

INCOMPLETE = 3  # exit status


_SETTINGS = (
    click.argument("config", required=False, type=click.Path(exists=True, dir_okay=False)),
    click.option("--benchmark", metavar="PATH", help="Benchmark: JSONL, Parquet, CSV or a dataset folder."),
    click.option("--id-field", metavar="F", help="Field with a problem's id.  [default: problem_id]"),
    click.option(
        "--text-field",
        "text_fields",
        metavar="F",
        multiple=True,
        help="Field with a problem's text; repeat to join several.  [default: text]",
    ),
    click.option("--answer-field", metavar="F", help="Field with the answer, audited as a channel of its own."),
    click.option(
        "--corpus",
        "corpora",
        metavar="NAME=URL",
        multiple=True,
        help="A corpus: file, folder or pattern; repeat for more.",
    ),
    click.option("--corpus-text-field", metavar="F", help="Field with a document's text.  [default: text]"),
    click.option("--corpus-id-field", metavar="F", help="Field with a document's id."),
    click.option("--join-lists", is_flag=True, help="Join texts that are lists of strings by newlines."),
    click.option(
        "--max-zstd-window", type=int, metavar="LOG2", help="Accept zstd windows up to 2^LOG2 bytes.  [default: 27]"
    ),
    click.option("--out", metavar="DIR", help="Run folder, local or anywhere fsspec reaches."),
    click.option("-n", "ns", metavar="N[,N…]", help="Lengths of n-grams in tokens.  [default: 13]"),
    click.option("--profile", type=click.Choice(PROFILES), help="How text is normalised.  [default: release]"),
    click.option(
        "--workers", type=int, metavar="N", help="Processes of a local cluster.  [default: one for each core]"
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Use a running Dask scheduler instead."),
    click.option("--cluster", metavar="RECIPE", help="Start the cluster of this recipe instead, and shut it down."),
    click.option("--block-size", type=int, metavar="BYTES", help=f"Size of a piece.  [default: {BLOCK_SIZE}]"),
    click.option(
        "--evidence", type=int, metavar="N", help="Most evidence rows for each problem, n and corpus.  [default: 20]"
    ),
    click.option(
        "--accept-unread",
        type=float,
        metavar="FRACTION",
        help="Share of a corpus's bytes that may be unread.  [default: 0]",
    ),
)


def _with_settings(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of an audit."""
    for option in reversed(_SETTINGS):
        verb = option(verb)
    return verb


@click.command()
@_with_settings
@click.option("--restart", is_flag=True, help="Delete the audit that DIR holds first.")
def audit(config: str | None, restart: bool, **options: Any) -> None:
    """Audit a benchmark against corpora.

    The settings come from options, from a YAML file CONFIG, or from both (options win). Exit status: 0 complete,
    2 wrong usage, 3 incomplete.
    """
    settings = _settings(config, options, "wmbxl audit")
    benchmark, corpora = settings.read_benchmark(), settings.make_corpora()
    watch = Watch()
    with _connected(settings, corpora) as client, following(watch):
        done = run_audit(
            benchmark, corpora, settings.out, settings.ns, settings.profile, client, settings.workers,
            settings.block_size, settings.evidence, settings.accept_unread, restart, settings.storage_options, watch,
        )  # fmt: skip
    show_audit(done, config if config and read_stores(config).given else None)
    sys.exit(0 if done.status == "complete" else INCOMPLETE)


@click.command()
@_with_settings
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=RATE,
    metavar="MB/S",
    show_default=True,
    help="What one core scans in a second, in MB of decompressed records.",
)
def plan(config: str | None, rate: float, **options: Any) -> None:
    """Tell what an audit would take, without running it; takes the same settings.

    With --workers or --cluster also the wall time; nothing is started.
    """
    settings = _settings(config, options, "wmbxl plan")
    benchmark, corpora = settings.read_benchmark(), settings.make_corpora()
    for corpus in corpora:
        check_fields(corpus)
    index = ProbeIndex.build(benchmark, settings.ns, settings.profile)
    folder = RunFolder(settings.out, settings.storage_options)
    workers = clusters.read_recipe(settings.cluster).most if settings.cluster else settings.workers
    show_plan(estimate(index, corpora, folder, settings.block_size, settings.evidence, rate), workers)


def _settings(config: str | None, options: dict[str, Any], where: str) -> AuditConfig:
    """Read the file of settings, if there is one, and lay the options over it."""
    content = read_yaml(config) if config else {}
    return validate(_merge(content, options), config or where)


def _merge(content: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Lay the options that were given over the settings of the file."""
    given = {name: value for name, value in options.items() if value is not None and value != () and value is not False}
    merged = dict(content)
    found = merged.get("benchmark", {})
    benchmark = found if isinstance(found, dict) else {"path": found}
    changed = {
        name: list(value) if name == "text_fields" else value
        for option, name in (
            ("benchmark", "path"), ("id_field", "id_field"), ("answer_field", "answer_field"),
            ("text_fields", "text_fields"),
        )
        if (value := given.pop(option, None)) is not None
    }  # fmt: skip
    if benchmark or changed:
        merged["benchmark"] = {**benchmark, **changed}
    if "corpora" in given:
        merged["corpora"] = _corpora(given.pop("corpora"))
    reading = {
        name: given.pop(option)
        for option, name in (
            ("corpus_text_field", "text_field"), ("corpus_id_field", "id_field"), ("join_lists", "join_lists"),
            ("max_zstd_window", "max_zstd_window"),
        )
        if option in given
    }  # fmt: skip
    if reading:
        merged["corpora"] = [{**corpus, **reading} for corpus in merged.get("corpora", [])]
    if "ns" in given:
        merged["ns"] = _lengths(given.pop("ns"))
    return {**merged, **given}


def _corpora(named: tuple[str, ...]) -> list[dict[str, Any]]:
    urls: dict[str, list[str]] = {}
    for item in named:
        name, sign, url = item.partition("=")
        if not sign or not name or not url:
            raise UsageError(f"--corpus {item}: expected NAME=URL, such as  --corpus arxiv=data/*.jsonl.zst")
        urls.setdefault(name, []).append(url)
    return [{"name": name, "urls": places} for name, places in urls.items()]


def _lengths(value: str) -> list[int]:
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        raise UsageError(f"-n {value}: expected whole numbers, such as  -n 13  or  -n 8,13") from None


@contextmanager
def _connected(settings: AuditConfig, corpora: Sequence[Corpus]) -> Iterator[Client | None]:
    """Give a client of the cluster that the settings name; None for processes here."""
    places = {"--workers": settings.workers, "--scheduler": settings.scheduler, "--cluster": settings.cluster}
    given = [option for option, value in places.items() if value]
    if len(given) > 1:
        raise UsageError(
            "--workers starts processes here, --scheduler uses a running cluster, --cluster starts one: give one of "
            f"them, not {' and '.join(given)}"
        )
    if settings.cluster:
        recipe = clusters.read_recipe(settings.cluster)
        for corpus in corpora:  # a wrong path or field should cost no job
            check_fields(corpus)
        with clusters.started(recipe, say) as client:
            yield client
    elif settings.scheduler:
        with _client(settings.scheduler) as client:
            clusters.check_versions(client)
            yield client
    else:
        yield None


def _client(address: str) -> Client:
    try:
        return Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {address}: no scheduler answers there: {error}") from error


@click.command()
@about_a_run
def status(directory: str, config: str | None) -> None:
    """Explain what a run folder holds. Exit status as for audit: 3 for one that is incomplete or not finished."""
    found = Audit(RunFolder(directory, read_stores(config).storage_options))
    if found.status == "running":
        show_unfinished(found.folder, found.info)
        sys.exit(INCOMPLETE)
    show_audit(found, config)
    sys.exit(0 if found.status == "complete" else INCOMPLETE)


@click.command()
@about_a_run
@click.option(
    "--format",
    "kind",
    type=click.Choice(["release", "csv"]),
    default="release",
    show_default=True,
    help="release: the layout of the paper's release. csv: every table as CSV.",
)
@click.option("-n", type=int, help="The n to export, for the release layout.  [default: 13, or the only one]")
@click.option("--channel", help="The channel to export, for the release layout.")
@click.option("--out", metavar="DIR", help="Where to write.  [default: a folder in DIR named by the format and n]")
def export(directory: str, config: str | None, kind: str, n: int | None, channel: str | None, out: str | None) -> None:
    """Write an audit in another format."""
    audit = Audit.open(directory, options := read_stores(config).storage_options)
    lengths = audit.info["ns"]
    chosen = n if n is not None else (lengths[0] if len(lengths) == 1 else REFERENCE_N)
    beside = f"{directory.rstrip('/')}/{kind if kind == 'csv' else f'{kind}-n{chosen}'}"
    place = out or beside
    target = RunFolder(place, options if get_protocol(place) == get_protocol(directory) else {})
    if kind == "csv":
        if n is not None or channel is not None:
            raise UsageError("-n and --channel choose for --format release; --format csv writes all")
        names = exports.export_csv(audit, target)
    else:
        default = "prompt" if channel is None and "prompt" in audit.info["channels"] else channel
        names = exports.export_release(audit, target, chosen, default)
    for name in names:
        console.print(f"{target.url}/{name}", highlight=False, soft_wrap=True)


@click.command()
@about_a_run
def recheck(directory: str, config: str | None) -> None:
    """Open the corpus again at every evidence row and recompute it.

    Exit status: 0 all rows confirmed, 1 a row differs, 3 part of the corpus can't be read now.
    """
    stores = read_stores(config)
    audit = Audit.open(directory, stores.storage_options)
    outcome = run_recheck(
        audit, stores.by_corpus, lambda url, rows: console.print(f"{rows:>8,} rows  {url}", soft_wrap=True)
    )
    for line in (*outcome.failures, *outcome.unread):
        click.echo(line, err=True)
    if not len(audit.evidence):
        console.print("There is no evidence to recheck: no match, or an audit with --evidence 0")
    console.print(f"{outcome.confirmed:,} rows confirmed, {len(outcome.failures):,} differ", soft_wrap=True)
    if outcome.unplaced:
        console.print(
            f"{outcome.unplaced:,} rows can't be placed: they follow a part of their shard that could not be read",
            soft_wrap=True,
        )
    sys.exit(1 if outcome.failures else INCOMPLETE if outcome.unread else 0)


@click.command()
@click.option("--out", metavar="DIR", default="wmbxl-demo", show_default=True, help="Run folder.")
def demo(out: str) -> None:
    """Audit a small benchmark that ships with wmbxl, on this machine."""
    watch = Watch()
    with following(watch):
        done = demo_module.run_demo(out, watch)
    show_audit(done)

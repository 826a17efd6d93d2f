"""The golden audit with corpus and run folder on an S3 server, on clusters; needs the shared data, skips without it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.clusters import hosts
from tests.clusters.conftest import INTERPRETED, SLURM, Place
from tests.golden import NS, assert_golden
from tests.s3 import Proxy, Server
from wmbxl.audit import Audit

COMPILED = {"NUMBA_DISABLE_JIT": "0"}


@pytest.fixture(scope="module")
def corpus(s3: Server, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The real corpus on the server."""
    folder = tmp_path_factory.mktemp("latex")
    for path in shared.glob("latex/*.jsonl.zst"):
        (folder / path.name).symlink_to(path)
    return s3.put(folder, "corpora/golden")


def command(settings: Path, shared: Path, corpus: str, out: str, storage_options: Mapping[str, str]) -> list[str]:
    """Write the settings of the golden audit, return the command that runs it."""
    content = {
        "benchmark": str(shared / "bench/combined.jsonl"), "ns": list(NS), "out": out,
        "corpora": [
            {"name": "latex", "urls": corpus, "id_field": "meta.arxiv_id", "storage_options": dict(storage_options)}
        ],
        "storage_options": dict(storage_options),
    }  # fmt: skip
    settings.write_text(yaml.safe_dump(content))
    return [sys.executable, "-m", "wmbxl", "audit", str(settings)]


def assert_audited(s3: Server, shared: Path, out: str) -> None:
    """Hold a run folder against the golden table."""
    found = Audit.open(out, s3.options())
    assert found.status == "complete"
    assert found.info["corpora"][0]["documents"] == found.ledger["documents"].sum() == 2085
    assert_golden(found.metadata, shared)


def test_on_slurm(s3: Server, shared: Path, corpus: str, place: Place, environment: dict[str, str]) -> None:
    settings = {**SLURM, "memory": "2GB", "workers": 3, "directives": ["--job-name=golden"], "prologue": []}
    recipe = place.recipe("golden-slurm", **settings)
    run = command(place.folder / "slurm.yaml", shared, corpus, "s3://runs/slurm", s3.options())
    where = {**environment, **COMPILED}
    done = subprocess.run(
        [*run, "--cluster", recipe], cwd=place.folder, env=where, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert_audited(s3, shared, "s3://runs/slurm")
    nodes = ["squeue", "-h", "--states=all", "--name=golden", "-o", "%N"]
    assert set(subprocess.check_output(nodes, env=where, text=True).split()) == {"n1", "n2", "n3"}


def test_on_hosts_of_their_own(s3: Server, shared: Path, corpus: str, place: Place) -> None:
    """A scheduler and workers in network namespaces, which reach the server over their cables only."""
    if reason := hosts.missing():
        pytest.skip(reason)
    network = hosts.Network(3, {**INTERPRETED, **COMPILED})
    with network.running(), Proxy(s3.port, network.listen()) as proxy:
        options = s3.options() | {"endpoint_url": f"http://{network.hub(0)}:{proxy.port}"}
        run = command(place.folder / "hosts.yaml", shared, corpus, "s3://runs/hosts", options)
        done = subprocess.run(
            network.command(0, *run, "--scheduler", network.scheduler(0)),
            cwd=place.folder, env=network.environment, capture_output=True, text=True, timeout=500,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert sum(head.startswith(b"PUT /runs/hosts/checkpoints/") for head in proxy.heads) == 5
    assert_audited(s3, shared, "s3://runs/hosts")

"""A release of the demo benchmark, and of the paper's sample where it is there, under mixed licences."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from distributed import Client, LocalCluster

from tests.conftest import shared_folder
from wmbxl import audit, read_benchmark
from wmbxl.demo import demo_benchmark, demo_corpus
from wmbxl.release import layout
from wmbxl.release.build import build
from wmbxl.release.check import Report, check
from wmbxl.release.settings import validate
from wmbxl.settings import read_yaml

BY, BY_SA, BY_NC_SA, BY_NC_ND, ARXIV = (
    "http://creativecommons.org/licenses/by/4.0/",
    "http://creativecommons.org/licenses/by-sa/4.0/",
    "http://creativecommons.org/licenses/by-nc-sa/4.0/",
    "http://creativecommons.org/licenses/by-nc-nd/4.0/",
    "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
)
ZERO = "http://creativecommons.org/publicdomain/zero/1.0/"
MIXED = (BY, BY_SA, BY_NC_SA, ARXIV, BY_NC_ND, ZERO, "")
ABOUT = {
    "name": "demo-xl",
    "title": "Demo XL",
    "version": "1.1.0",
    "date": "2026-01-02",
    "description": "Problems of wireless mathematics, with audit metadata.",
    "authors": [{"name": "The Authors", "kind": "organisation"}],
    "url": "https://example.org/demo-xl",
    "citation": "@misc{demo, title = {Demo XL}}",
    "rai": {"collection": "From papers.", "biases": "Only wireless.", "has_synthetic_data": True},
    "datasheet": {"purpose": "To test a release."},
}


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that ``release.yaml`` names, audited."""
    folder = tmp_path_factory.mktemp("release")
    records = [json.loads(line) for line in Path(demo_benchmark().source).read_text(encoding="utf-8").splitlines()]
    if (sample := shared_folder() / "bench" / "wmbxl_sample.jsonl").exists():
        records += [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    papers: dict[str, str] = {}
    for number, record in enumerate(records):
        record.setdefault("split", "test" if number % 3 == 0 else "train")
        own = BY if "record_license" in record else MIXED[len(papers) % len(MIXED)]
        papers.setdefault(record["paper_id"], own)
    write_lines(folder / "problems.jsonl", records)
    with (folder / "licences.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("paper_id", "source_license"), *papers.items()])
    tests = [record["problem_id"] for record in records if record["split"] == "test"]
    models = (("strong", 3), ("weak", 2))
    verdicts = [
        {"model": model, "problem_id": name, "is_correct": number % every > 0}
        for model, every in models
        for number, name in enumerate(tests)
    ]
    write_lines(folder / "verdicts.jsonl", verdicts)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster) as client:
        bench = read_benchmark(str(folder / "problems.jsonl"))
        audit(bench, [demo_corpus()], str(folder / "audit"), ns=(8, 13), client=client)
    settings = {
        "about": ABOUT,
        **{name: str(folder / path) for name, path in
           (("benchmark", "problems.jsonl"), ("licences", "licences.csv"), ("audit", "audit"), ("out", "out"))},
        "verdicts": {"frontier": str(folder / "verdicts.jsonl")},
        "bootstrap": {"replicates": 200},
        "external_audits": {"demo": str(folder / "audit")} if all(uri == BY for uri in papers.values()) else {},
    }  # fmt: skip
    (folder / "release.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def built(inputs: Path) -> Path:
    """The release, built once; tests that change it take a copy."""
    build(validate(read_yaml(str(inputs / "release.yaml")), "release.yaml"))
    return inputs / "out"


@dataclass(frozen=True)
class Copy:
    """A copy of the release, to be changed."""

    folder: Path
    benchmark: Path

    def path(self, name: str) -> Path:
        return self.folder / name

    def text(self, name: str, change: Callable[[str], str]) -> None:
        """Change a file's text; it has to change."""
        before = self.path(name).read_text(encoding="utf-8")
        after = change(before)
        assert before != after, f"the fault was not planted in {name}"
        self.path(name).write_text(after, encoding="utf-8")

    def records(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path(name).read_text(encoding="utf-8").splitlines()]

    def write(self, name: str, records: list[dict[str, Any]]) -> None:
        write_lines(self.path(name), records)

    def table(self, name: str, change: Callable[[list[dict[str, str]]], Any]) -> None:
        """Change the rows of a CSV file."""
        with self.path(name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = list(rows[0])
        change(rows)
        with self.path(name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def seal(self) -> None:
        """Bring checksums and sizes up to date, so that only what a file says can give a fault away."""
        description = json.loads(self.path(layout.CROISSANT).read_text(encoding="utf-8"))
        for file in description["distribution"]:
            if self.path(file["@id"]).exists():
                content = self.path(file["@id"]).read_bytes()
                file |= {"sha256": hashlib.sha256(content).hexdigest(), "contentSize": f"{len(content)} B"}
        self.path(layout.CROISSANT).write_text(json.dumps(description), encoding="utf-8")
        names = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())
        digests = {name: hashlib.sha256(self.path(name).read_bytes()).hexdigest() for name in names}
        lines = [f"{digest}  {name}\n" for name, digest in digests.items() if name != layout.SUMS]
        self.path(layout.SUMS).write_text("".join(lines), encoding="utf-8")

    def check(self) -> Report:
        return check(str(self.folder), str(self.benchmark))


@pytest.fixture
def copy(built: Path, inputs: Path, tmp_path: Path) -> Iterator[Copy]:
    """A copy of the release that a test may spoil."""
    shutil.copytree(built, tmp_path / "copy")
    yield Copy(tmp_path / "copy", inputs / "problems.jsonl")


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

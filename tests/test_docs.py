"""README, docs and examples: they run, their links lead somewhere, and they name what exists.

The conventions for blocks of code are described in docs/contributing.md.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import click
import pyarrow as pa
import pytest

from wmbxl import config, formats, metadata, records
from wmbxl.cli import main
from wmbxl.demo import demo_benchmark, demo_corpus

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "cluster").rglob("*.md")],
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Options of other programs that pages mention.
FOREIGN = {"--group", "--upgrade", "--strict", "--nworkers", "--nthreads", "--help"}

pytestmark = pytest.mark.skipif(not PAGES, reason="needs the source tree")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# ---------------------------------------------------------------- blocks


@dataclass(frozen=True)
class Block:
    """A fenced block with a comment on the line before it."""

    line: int
    mark: str
    language: str
    code: str


_BLOCK = re.compile(
    r"^(?P<indent> *)<!-- (?P<mark>run|output[^\n]*?) -->\n"
    r"(?P=indent)```(?P<language>\w+)\n(?P<code>.*?)^(?P=indent)```$",
    re.M | re.S,
)


def blocks(text: str) -> Iterator[Block]:
    """Yield the marked blocks of a page, in order."""
    for match in _BLOCK.finditer(text):
        code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.M)
        yield Block(text.count("\n", 0, match.start()) + 1, match["mark"], match["language"], code)


MARKED = [page for page in PAGES if list(blocks(page.read_text(encoding="utf-8")))]


@dataclass(frozen=True)
class Shell:
    """Runs commands in a folder, with ``wmbxl`` on the path."""

    folder: Path
    environment: dict[str, str]

    def __call__(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
        )
        assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "wmbxl"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m wmbxl "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    # A person's shell measures no coverage, and compiles.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("COV_") and k != "NUMBA_DISABLE_JIT"}
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    modules = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**inherited, "PATH": path, "PYTHONPATH": modules, "COLUMNS": "200", "PYTHONUTF8": "1"}


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """A folder as the pages expect it: the demo's audit, its problems, its corpus."""
    folder = tmp_path_factory.mktemp("docs")
    Shell(folder, environment)("wmbxl", "demo", "--out", "demo-audit")
    shutil.copy(demo_benchmark().source, folder / "problems.jsonl")
    (folder / "corpus").mkdir()
    for shard in demo_corpus().listing.shards:
        shutil.copy(shard.url, folder / "corpus")
    return folder


def missing_lines(expected: str, output: str) -> list[str]:
    """Return the lines of `expected` that are not in `output`; ``…`` stands for anything."""
    got = [line.strip() for line in output.splitlines()]
    wanted = [line.strip() for line in expected.splitlines() if line.strip() not in ("", "…")]
    patterns = [re.compile(".*".join(map(re.escape, line.split("…")))) for line in wanted]
    return [line for line, pattern in zip(wanted, patterns, strict=True) if not any(map(pattern.fullmatch, got))]


@pytest.mark.parametrize("page", MARKED, ids=_name)
def test_blocks_run_and_print_what_the_page_says(
    page: Path, demo: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "page"
    shutil.copytree(demo, folder)
    shell = Shell(folder, environment)
    output = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.mark == "run":
            assert block.language in ("python", "bash"), f"line {block.line}: can't run {block.language}"
            script = folder / f"block_{block.line}.{block.language}"
            script.write_text(block.code, encoding="utf-8")
            output = shell(sys.executable if block.language == "python" else "bash", str(script))
        else:
            command = block.mark.removeprefix("output").lstrip(": ")
            if command != "of the block above":
                output = shell("bash", "-c", command)
            missing = missing_lines(block.code, output)
            assert not missing, f"line {block.line}: not in the output: {missing}\n{output}"


def test_every_marked_block_is_understood() -> None:
    for page in PAGES:
        text = re.sub(r"`<!--.*?-->`", "", page.read_text(encoding="utf-8"))
        assert len(re.findall(r"<!-- (?:run|output)", text)) == len(list(blocks(text))), page


def test_missing_lines() -> None:
    assert missing_lines("a … c\n…\nb\n", "a b c\n  b  \n") == []
    assert missing_lines("a\nb\n", "b\n") == ["a"]


# ---------------------------------------------------------------- examples


@pytest.mark.parametrize("script", EXAMPLES, ids=_name)
def test_python_examples_run(script: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    assert Shell(tmp_path, environment)(sys.executable, str(script))


def test_yaml_example_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    out = tmp_path / "audit"
    printed = Shell(ROOT, environment)("wmbxl", "audit", "examples/audit.yaml", "--out", str(out))
    assert "Complete" in printed
    assert (out / "metadata.parquet").exists()


def test_yaml_recipes_are_valid_settings() -> None:
    for path in (ROOT / "cluster").rglob("audit.yaml"):
        config.validate(config.read_yaml(str(path)), str(path))


# ---------------------------------------------------------------- what pages name


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_relative_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"^ *```.*?^ *```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    broken = [
        target
        for target in targets
        if not re.match(r"[a-z]+:", target)
        and (path := unquote(target.partition("#")[0]))
        and not (page.parent / path).exists()
    ]
    assert not broken


def options_of(command: click.Command) -> set[str]:
    """Return all options of a command and its subcommands."""
    found = {option for parameter in command.params for option in parameter.opts if isinstance(parameter, click.Option)}
    if isinstance(command, click.Group):
        for verb in command.commands.values():
            found |= options_of(verb)
    return found | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_named_options_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))
    assert named <= options_of(main) | FOREIGN
    for verb, rest in re.findall(r"(?<![\w./-])wmbxl ([a-z]+)\b((?:[^`\n]|\\\n)*)", text):
        if verb in main.commands:
            unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", rest.split("&&")[0]))
            assert unknown <= options_of(main.commands[verb]), f"wmbxl {verb}"


def reasons() -> set[str]:
    """Return every reason that the code can write into a ledger."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "wmbxl").glob("*.py"))
    named = set(re.findall(r'Unreadable\(\s*"(\w+)"', source))
    skipped = {name for call in re.findall(r"[Ss]kip\((.*)\)", source) for name in re.findall(r'"(\w+)"', call)}
    refused = {f"refused_{reason}" for reason, *_ in formats._REFUSED}
    return named | skipped | refused | {records.REPAIRED}


def test_every_reason_of_the_ledger_is_explained() -> None:
    page = (ROOT / "docs/how-to/unread.md").read_text(encoding="utf-8")
    assert {"truncated", "io_error", "refused_csv", "not_json", "text_number", "text_empty"} <= reasons()
    assert sorted(reason for reason in reasons() if f"`{reason}`" not in page) == []


@pytest.mark.parametrize(
    ("table", "schema"),
    [
        ("metadata", metadata.METADATA),
        ("metadata_by_corpus", metadata.BY_CORPUS),
        ("ngrams", metadata.NGRAMS),
        ("evidence", metadata.EVIDENCE),
        ("ledger", metadata.LEDGER),
    ],
)
def test_every_column_is_described_with_its_type(table: str, schema: pa.Schema) -> None:
    page = (ROOT / "docs/reference/run-folder.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {table}.parquet\n")[1].split("\n## ")[0]
    described = re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, flags=re.M)
    assert described == [(column.name, str(column.type)) for column in schema]


@pytest.mark.parametrize("model", [config.AuditConfig, config.BenchmarkConfig, config.CorpusConfig])
def test_every_setting_is_described(model: type[config.AuditConfig]) -> None:
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    described = {frozenset(re.findall(r"^\| `(\w+)` \|", part, flags=re.M)) for part in page.split("\n## ")}
    assert frozenset(model.model_fields) in described


# ---------------------------------------------------------------- the site


def test_the_site_builds(tmp_path: Path, environment: dict[str, str]) -> None:
    absent = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"the site was not built: {', '.join(absent)} not installed (pip install --group docs)")
    Shell(ROOT, environment)(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site"))
    page = (tmp_path / "site/reference/cli/index.html").read_text(encoding="utf-8")
    assert all(option in page for option in options_of(main))

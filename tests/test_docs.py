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
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import click
import pyarrow as pa
import pytest

from wmbxl import config, formats, metadata, records, settings
from wmbxl.cli import main
from wmbxl.demo import demo_benchmark, demo_corpus
from wmbxl.evaluate import traces
from wmbxl.folder import FILES
from wmbxl.release import settings as release
from wmbxl.release.datasheet import SECTIONS
from wmbxl.train import settings as training

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "cluster").rglob("*.md")],
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
# Options of other programs that pages mention.
FOREIGN = {
    "--quick",
    "--python",
    "--counts",
    "--group",
    "--upgrade",
    "--strict",
    "--nworkers",
    "--nthreads",
    "--help",
    "--me",
    "--repo",
    "--create-namespace",
    "--generate-name",
    "--from-env-file",
    "--exclude-editable",
    "--libraries",
}

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
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("COV_")}
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    modules = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**inherited, "PATH": path, "PYTHONPATH": modules, "COLUMNS": "200", "PYTHONUTF8": "1"}


@pytest.fixture(scope="session")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Runs two commands at a time; a machine with one core loses nothing."""
    with ThreadPoolExecutor(2) as executor:
        yield executor
        executor.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str], pool: ThreadPoolExecutor) -> Path:
    """A folder as the pages expect it: two audits, the demo's problems, and its corpus."""
    folder = tmp_path_factory.mktemp("docs")
    example = pool.submit(
        Shell(ROOT, environment), "wmbxl", "audit", "examples/audit.yaml", "--out", str(folder / "example-audit")
    )
    Shell(folder, environment)("wmbxl", "demo", "--out", "demo-audit")
    shutil.copy(demo_benchmark().source, folder / "problems.jsonl")
    (folder / "corpus").mkdir()
    for shard in demo_corpus().listing.shards:
        shutil.copy(shard.url, folder / "corpus")
    (folder / "example.txt").write_text(example.result(), encoding="utf-8")
    return folder


def missing_lines(expected: str, output: str) -> list[str]:
    """Return the lines of `expected` that are not in `output`; ``…`` stands for anything."""
    got = [line.strip() for line in output.splitlines()]
    wanted = [line.strip() for line in expected.splitlines() if line.strip() not in ("", "…")]
    patterns = [re.compile(".*".join(map(re.escape, line.split("…")))) for line in wanted]
    return [line for line, pattern in zip(wanted, patterns, strict=True) if not any(map(pattern.fullmatch, got))]


def run_page(page: Path, demo: Path, folder: Path, environment: dict[str, str]) -> None:
    """Run the blocks of a page in order, and compare what they print with what the page says."""
    shutil.copytree(demo, folder)
    if (example := ROOT / "examples" / page.stem).is_dir():
        shutil.copytree(example, folder, dirs_exist_ok=True)
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


@pytest.fixture(scope="session")
def runs(
    request: pytest.FixtureRequest, demo: Path, tmp_path_factory: pytest.TempPathFactory,
    environment: dict[str, str], pool: ThreadPoolExecutor,
) -> Mapping[Path, Future[object]]:  # fmt: skip
    """The pages and examples that tests of this session ask for, under way."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = {path for item in items if "runs" in item.fixturenames for path in item.callspec.params.values()}
    folder = tmp_path_factory.mktemp("runs")
    started: dict[Path, Future[object]] = {}
    for number, page in enumerate(MARKED):
        if page in asked:
            started[page] = pool.submit(run_page, page, demo, folder / f"page-{number}", environment)
    for script in EXAMPLES:
        if script in asked:
            started[script] = pool.submit(Shell(folder, environment), sys.executable, str(script))
    return started


@pytest.mark.parametrize("page", MARKED, ids=_name)
def test_blocks_run_and_print_what_the_page_says(page: Path, runs: Mapping[Path, Future[object]]) -> None:
    runs[page].result()


def test_every_marked_block_is_understood() -> None:
    for page in PAGES:
        text = re.sub(r"`<!--.*?-->`", "", page.read_text(encoding="utf-8"))
        assert len(re.findall(r"<!-- (?:run|output)", text)) == len(list(blocks(text))), page


def test_missing_lines() -> None:
    assert missing_lines("a … c\n…\nb\n", "a b c\n  b  \n") == []
    assert missing_lines("a\nb\n", "b\n") == ["a"]


# ---------------------------------------------------------------- examples


@pytest.mark.parametrize("script", EXAMPLES, ids=_name)
def test_python_examples_run(script: Path, runs: Mapping[Path, Future[object]]) -> None:
    assert runs[script].result()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=_name)
def test_notebooks_run(notebook: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    nbclient = pytest.importorskip("nbclient", reason="notebooks are not run: pip install nbclient ipykernel")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    written = nbformat.read(notebook, as_version=4)
    assert not any(cell.get("outputs") for cell in written.cells), "clear the outputs before you commit"
    client = nbclient.NotebookClient(written, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    done = client.execute(env=environment)
    shown = [output for cell in done.cells for output in cell.get("outputs", ())]
    assert any("<strong>Audit</strong>" in output.get("data", {}).get("text/html", "") for output in shown)
    assert any("demo-001" in output.get("text", "") for output in shown)


def test_yaml_example_runs(demo: Path) -> None:
    assert "Complete" in (demo / "example.txt").read_text(encoding="utf-8")
    assert (demo / "example-audit/metadata.parquet").exists()


def test_yaml_recipes_are_valid_settings() -> None:
    for path in (ROOT / "cluster").rglob("audit.yaml"):
        config.validate(settings.read_yaml(str(path)), str(path))


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


def verbs_of(command: click.Command) -> dict[str, click.Command]:
    """Return a command's subcommands, which it may import only now."""
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: verb for name, verb in found.items() if verb is not None}


def options_of(command: click.Command) -> set[str]:
    """Return all options of a command and its subcommands."""
    found = {option for parameter in command.params for option in parameter.opts if isinstance(parameter, click.Option)}
    return found.union({"--help"}, *map(options_of, verbs_of(command).values()))


def test_verbs_are_found() -> None:
    assert {"audit", "status", "demo", "views", "bootstrap", "corpora"} <= set(verbs_of(main))
    assert {"--restart", "--verdicts", "--paper-split"} <= options_of(main)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_named_options_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))
    assert named <= options_of(main) | FOREIGN
    verbs = verbs_of(main)
    for verb, rest in re.findall(r"(?<![\w./-])wmbxl ([a-z]+)\b((?:[^`\n]|\\\n)*)", text):
        if verb in verbs:
            unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", rest.split("&&")[0]))
            assert unknown <= options_of(verbs[verb]), f"wmbxl {verb}"


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
        ("spans", metadata.SPANS),
        ("problems", metadata.PROBLEMS),
        ("sketches", metadata.SKETCHES),
        ("ledger", metadata.LEDGER),
        ("traces", traces.SCHEMA),
    ],
)
def test_every_column_is_described_with_its_type(table: str, schema: pa.Schema) -> None:
    name = "evaluation-folder" if table == "traces" else "run-folder"
    page = (ROOT / f"docs/reference/{name}.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {table}.parquet\n")[1].split("\n## ")[0]
    described = re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, flags=re.M)
    assert described == [(column.name, str(column.type)) for column in schema]


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        *(
            ("settings", model.model_fields)
            for model in (config.AuditConfig, config.BenchmarkConfig, config.CorpusConfig)
        ),
        *(("release", model.model_fields) for model in (release.ReleaseConfig, release.About, release.Author)),
        *(("release", model.model_fields) for model in (release.ResponsibleAI, release.Protocol, release.PaperSplit)),
        ("train-settings", training.TrainConfig.model_fields),
        *(
            ("train-settings", set(model.model_fields) - set(training.TrainConfig.model_fields))
            for model in (training.GrpoConfig, training.SftConfig)
        ),
        *(("train-settings", section.model_fields) for section in training.SECTIONS),
    ],
)
def test_every_setting_is_described(page: str, fields: Iterable[str]) -> None:
    text = (ROOT / f"docs/reference/{page}.md").read_text(encoding="utf-8")
    described = {frozenset(re.findall(r"^\| `(\w+)` \|", part, flags=re.M)) for part in text.split("\n## ")}
    assert frozenset(fields) in described


def test_every_question_of_the_datasheet_is_listed() -> None:
    page = (ROOT / "docs/reference/release.md").read_text(encoding="utf-8")
    listed = page.split("\n## `about.datasheet`\n")[1].split("\n## ")[0]
    named = [(name, bool(star)) for name, star in re.findall(r"`(\w+)`(\*?)", listed)]
    assert named == [(q.id, bool(q.fact)) for section in SECTIONS for q in section.questions]


def test_every_file_of_the_run_folder_is_listed() -> None:
    page = (ROOT / "docs/reference/run-folder.md").read_text(encoding="utf-8")
    assert [name for name in FILES if f"`{name}`" not in page] == []


def test_every_verb_is_in_the_readme() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [verb for verb in verbs_of(main) if f"wmbxl {verb}" not in page] == []


def test_the_layers_are_those_that_are_checked() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    page = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    listed = page.split("\n## Layers\n")[1].split("```text\n")[1].split("```")[0]
    assert listed.splitlines() == contract["contracts"][0]["layers"]


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs/explanation/dependencies.md").read_text(encoding="utf-8")
    names = [re.match(r"[\w-]+", line)[0] for line in project["dependencies"]]  # type: ignore[index]
    assert [name for name in names if f"`{name.replace('backports-', 'backports.')}" not in page] == []


# ---------------------------------------------------------------- the site


def test_the_site_builds(tmp_path: Path, environment: dict[str, str]) -> None:
    absent = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"the site was not built: {', '.join(absent)} not installed (pip install --group docs)")
    Shell(ROOT, environment)(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site"))
    page = (tmp_path / "site/reference/cli/index.html").read_text(encoding="utf-8")
    assert all(option in page for option in options_of(main))

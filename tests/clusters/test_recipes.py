"""Recipes: what they refuse, and the jobs that they make, as text."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from wmbxl.clusters import read_recipe
from wmbxl.errors import UsageError

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(
    path for path in (ROOT / "cluster").rglob("*.yaml") if " --cluster " in path.read_text(encoding="utf-8")
)
JOB: dict[str, Any] = {"workers": 8, "cores": 4, "memory": "16GB", "walltime": "01:30:00", "dashboard_address": ":0"}

needs_jobqueue = pytest.mark.skipif(
    importlib.util.find_spec("dask_jobqueue") is None, reason="no batch systems: pip install '.[jobqueue]'"
)
Written = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Write a recipe, return its path."""

    def write(**content: Any) -> str:
        path = tmp_path / "recipe.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return str(path)

    return write


def refusal(path: str) -> str:
    with pytest.raises(UsageError) as caught:
        read_recipe(path)
    return str(caught.value)


def job_script(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # where the folder of logs is made
    with read_recipe(path).start() as cluster:
        return cluster.job_script()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_shipped_recipes_are_valid(path: Path) -> None:
    assert read_recipe(str(path)).kind in path.read_text(encoding="utf-8")


def test_every_setting_is_in_the_recipes() -> None:
    """Also those that are commented out, so that a reader finds them."""
    for path in SHIPPED:
        recipe = read_recipe(str(path))
        text = path.read_text(encoding="utf-8")
        assert [name for name in type(recipe).model_fields if f"{name}:" not in text and name != "workers"] == [], path


def test_unknown_keys_are_named_with_the_nearest_known_one(written: Written) -> None:
    said = refusal(written(kind="slurm", **JOB, wall_time="1", quue="x", adapt=None))
    assert "2 problem(s)" in said
    assert "wall_time: unknown; did you mean walltime?" in said
    assert "quue: unknown; did you mean queue?" in said
    said = refusal(written(kind="local", adapt={"minimun": 1, "maximum": 2}))
    assert "adapt.minimun: unknown; did you mean minimum?" in said


def test_unknown_kinds_are_named_with_the_nearest_known_one(written: Written) -> None:
    assert "found 'slrum'; did you mean slurm?" in refusal(written(kind="slrum"))
    assert "expected one of local, slurm" in refusal(written(workers=3))


@pytest.mark.parametrize("size", [{}, {"workers": 2, "adapt": {"maximum": 2}}])
def test_either_workers_or_adapt(written: Written, size: dict[str, Any]) -> None:
    assert "give either workers" in refusal(written(kind="local", **size))


def test_bounds_are_in_order(written: Written) -> None:
    assert "minimum 3 is larger than maximum 2" in refusal(written(kind="local", adapt={"minimum": 3, "maximum": 2}))


def test_times_without_quotes_are_refused(tmp_path: Path) -> None:
    """YAML reads 12:30:00 as the number 45000."""
    path = tmp_path / "recipe.yaml"
    path.write_text("kind: slurm\nworkers: 1\ncores: 1\nmemory: 1GB\nwalltime: 12:30:00\n", encoding="utf-8")
    assert 'walltime: expected hours, minutes and seconds in quotes, such as "04:00:00"' in refusal(str(path))


def test_memory_needs_a_unit_that_exists(written: Written) -> None:
    assert "memory: expected bytes with a unit" in refusal(written(kind="slurm", **{**JOB, "memory": "16 gigs"}))


def test_without_the_library_the_pip_command_is_told(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(UsageError, match=r"kind: slurm needs dask-jobqueue .*: pip install 'wmbxl\[jobqueue\]'"):
        read_recipe(written(kind="slurm", **JOB)).start()


@needs_jobqueue
@pytest.mark.parametrize(
    ("kind", "more", "directives"),
    [
        (
            "slurm",
            {"account": "math", "directives": ["--exclusive"]},
            ["#SBATCH -p long", "#SBATCH -A math", "#SBATCH -n 1", "#SBATCH --cpus-per-task=4", "#SBATCH --mem=15G",
             "#SBATCH -t 01:30:00", "#SBATCH --exclusive"],
        ),
        ("slurm", {"walltime": "2-00:00:00", "skip_directives": ["--mem"]}, ["#SBATCH -t 48:00:00"]),
        (
            "pbs",
            {"account": "math", "directives": ["-l place=excl"]},
            ["#PBS -q long", "#PBS -A math", "#PBS -l select=1:ncpus=4:mem=15GB", "#PBS -l walltime=01:30:00",
             "#PBS -l place=excl"],
        ),
        ("pbs", {"resource_spec": "nodes=1:ppn=4"}, ["#PBS -l nodes=1:ppn=4"]),
        (
            "sge",
            {"account": "math", "resource_spec": "h_vmem=4G"},
            ["#$ -q long", "#$ -P math", "#$ -pe smp 4", "#$ -l h_vmem=4G", "#$ -l h_rt=01:30:00"],
        ),
        (
            "lsf",
            {"account": "math", "lsf_units": "mb"},
            ["#BSUB -q long", '#BSUB -P "math"', "#BSUB -n 4", '#BSUB -R "span[hosts=1]"', "#BSUB -M 16000",
             "#BSUB -W 01:30"],
        ),
    ],
)  # fmt: skip
def test_jobs_as_text(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, more: dict[str, Any],
    directives: list[str],
) -> None:  # fmt: skip
    recipe = written(
        kind=kind, **{**JOB, "queue": "long", "python": "/env/python", "prologue": ["module load x"], **more}
    )
    script = job_script(recipe, tmp_path, monkeypatch)
    assert [line for line in directives if line not in script.splitlines()] == []
    assert ("--mem=" in script) == (kind == "slurm" and "skip_directives" not in more)
    *_, before, command = script.strip().splitlines()
    assert before == "module load x"
    assert command.startswith("/env/python -m distributed.cli.dask_worker tcp://")
    assert "--nthreads 1 --memory-limit 3.73GiB --nworkers 4 --nanny" in command
    assert f"--lifetime {172500 if '2-' in str(more) else 5100}s" in command


@needs_jobqueue
def test_workers_of_short_jobs_leave_after_nine_tenths(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = job_script(written(kind="slurm", **{**JOB, "walltime": "00:10:00"}), tmp_path, monkeypatch)
    assert "--lifetime 540s" in script

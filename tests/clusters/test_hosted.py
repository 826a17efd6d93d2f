"""Recipes for Kubernetes and Coiled, held against what their clients ship; neither is run here."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

from wmbxl.clusters import read_recipe
from wmbxl.clusters.coiled import Coiled
from wmbxl.errors import UsageError

CLUSTER = Path(__file__).parents[2] / "cluster"
CRD = "operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"


def closed(schema: Any) -> Any:
    """Return a schema that forbids fields which it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and "additionalProperties" not in made:
        made["additionalProperties"] = made.get("x-kubernetes-preserve-unknown-fields", False)
    return made


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema of a DaskCluster, with the fields that every object has."""
    package = pytest.importorskip("dask_kubernetes", reason="no Kubernetes: pip install '.[kubernetes]'")
    crd = yaml.safe_load((Path(package.__file__).parent / CRD).read_text(encoding="utf-8"))
    (version,) = crd["spec"]["versions"]
    found = closed(version["schema"]["openAPIV3Schema"])
    found["properties"] |= {"apiVersion": {"const": "kubernetes.dask.org/v1"}, "kind": {"const": "DaskCluster"}}
    found["properties"]["metadata"] = {
        "type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False,
    }  # fmt: skip
    return found


def faults(spec: Any, schema: dict[str, Any]) -> Iterator[str]:
    jsonschema = pytest.importorskip("jsonschema")
    for error in jsonschema.Draft202012Validator(schema).iter_errors(spec):
        yield f"{'.'.join(map(str, error.absolute_path))}: {error.message:.200}"


@pytest.fixture
def spec() -> Any:
    recipe = yaml.safe_load((CLUSTER / "kubernetes/recipe.yaml").read_text(encoding="utf-8"))
    return yaml.safe_load((CLUSTER / "kubernetes" / recipe["spec"]).read_text(encoding="utf-8"))


def test_the_dask_cluster_is_one_that_the_operator_takes(spec: Any, schema: dict[str, Any]) -> None:
    assert list(faults(spec, schema)) == []


def test_an_unknown_field_would_be_noticed(spec: Any, schema: dict[str, Any]) -> None:
    spec["spec"]["worker"]["spec"]["containers"][0]["resource"] = {}
    spec["spec"]["scheduler"]["spec"]["toleration"] = []
    said = " ".join(faults(spec, schema))
    assert "'resource' was unexpected" in said
    assert "'toleration' was unexpected" in said


@pytest.mark.parametrize("role", ["worker", "scheduler"])
def test_pods_run_a_command_that_this_dask_has(spec: Any, role: str) -> None:
    (container,) = spec["spec"][role]["spec"]["containers"]
    program, verb, *options = container["args"]
    assert program == "dask"
    (command,) = entry_points(group="dask_cli", name=verb)
    command.load().make_context(verb, options)


def test_names_in_the_dask_cluster_agree(spec: Any) -> None:
    """The service finds the scheduler, pods use the account that is made, and workers have one thread for one core."""
    account = list(yaml.safe_load_all((CLUSTER / "kubernetes/account.yaml").read_text(encoding="utf-8")))
    accounts = {item["metadata"]["name"] for item in account if item["kind"] == "ServiceAccount"}
    namespace = yaml.safe_load((CLUSTER / "kubernetes/recipe.yaml").read_text(encoding="utf-8"))["namespace"]
    assert {item["metadata"].get("namespace", namespace) for item in account} == {namespace}
    selector = spec["spec"]["scheduler"]["service"]["selector"]
    assert selector == {"dask.org/cluster-name": spec["metadata"]["name"], "dask.org/component": "scheduler"}
    (worker,), (scheduler,) = (spec["spec"][role]["spec"]["containers"] for role in ("worker", "scheduler"))
    assert {spec["spec"][role]["spec"]["serviceAccountName"] for role in ("worker", "scheduler")} < accounts
    assert worker["image"] == scheduler["image"]
    assert worker["args"][worker["args"].index("--nthreads") + 1] == worker["resources"]["requests"]["cpu"] == "1"
    assert worker["envFrom"] == scheduler["envFrom"]
    assert {mount["name"] for mount in worker["volumeMounts"]} == {
        volume["name"] for volume in spec["spec"]["worker"]["spec"]["volumes"]
    }


def test_kube_cluster_takes_these_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = pytest.importorskip("dask_kubernetes.operator", reason="no Kubernetes: pip install '.[kubernetes]'")
    accepted = inspect.signature(operator.KubeCluster)
    asked: dict[str, Any] = {}
    monkeypatch.setattr(operator, "KubeCluster", lambda **given: asked.update(given))
    read_recipe(str(CLUSTER / "kubernetes/recipe.yaml")).start()
    assert set(asked) <= set(accepted.parameters)
    assert Path(asked["custom_cluster_spec"]) == CLUSTER / "kubernetes/daskcluster.yaml"


@pytest.mark.parametrize("pinning", [{}, {"container": "wmbxl:1"}, {"software": "audit"}], ids=str)
def test_coiled_takes_these_arguments(pinning: dict[str, str]) -> None:
    coiled = pytest.importorskip("coiled", reason="no Coiled: pip install '.[coiled]'")
    content = yaml.safe_load((CLUSTER / "coiled/recipe.yaml").read_text(encoding="utf-8"))
    arguments = Coiled.model_validate({**content, "name": "a", "workspace": "b", "arm": False, **pinning}).arguments()
    unknown = set(arguments) - set(inspect.signature(coiled.Cluster.__init__).parameters)
    assert not unknown
    assert arguments["worker_options"] == {"nthreads": 1}


def test_coiled_installs_the_versions_that_are_here_unless_an_image_is_named() -> None:
    content = yaml.safe_load((CLUSTER / "coiled/recipe.yaml").read_text(encoding="utf-8"))
    assert Coiled.model_validate(content).arguments()["package_sync_strict"] is True
    assert "package_sync_strict" not in Coiled.model_validate({**content, "container": "wmbxl:1"}).arguments()


@pytest.mark.parametrize("kind", ["kubernetes", "coiled"])
def test_without_the_library_the_pip_command_is_told(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask_kubernetes", "dask_kubernetes.operator", "coiled"):
        monkeypatch.setitem(sys.modules, name, None)
    recipe = read_recipe(str(CLUSTER / kind / "recipe.yaml"))
    with pytest.raises(UsageError, match=rf"kind: {kind} needs .*pip install 'wmbxl\[{kind}\]'"):
        recipe.start()

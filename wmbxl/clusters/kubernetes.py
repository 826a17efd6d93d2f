"""A cluster on Kubernetes, by the operator of dask-kubernetes."""

from __future__ import annotations

from typing import ClassVar, Literal

from distributed.deploy.cluster import Cluster

from wmbxl.clusters.recipe import Recipe


class Kubernetes(Recipe):
    """Pods of a DaskCluster.

    Parameters
    ----------
    spec : str
        File with the DaskCluster; a relative path starts from the recipe's folder.
    namespace : str, optional
        By default that of the current context.
    dashboard_port : int, optional
        Port on this machine to which the dashboard is forwarded; by default a free one.
    """

    help_where: ClassVar[str] = "kubectl get pods, kubectl describe pod, and the logs of the operator"

    kind: Literal["kubernetes"]
    spec: str
    namespace: str | None = None
    dashboard_port: int | None = None

    def start(self) -> Cluster:
        """Create the DaskCluster and wait for its scheduler; its pods are deleted when the ``with`` block is left."""
        operator = self.library("dask_kubernetes.operator", "kubernetes")
        return operator.KubeCluster(
            custom_cluster_spec=str(self._folder / self.spec), namespace=self.namespace,
            scheduler_forward_port=self.dashboard_port, resource_timeout=round(self.start_timeout),
            shutdown_on_close=True,
        )  # fmt: skip

    def settle(self, cluster: Cluster) -> None:
        """Let the operator keep the cluster at its size."""
        if self.adapt:
            cluster.adapt(minimum=self.least, maximum=self.most)

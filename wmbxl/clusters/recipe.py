"""What all recipes have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from distributed.deploy.cluster import Cluster
from pydantic import Field, PrivateAttr, model_validator

from wmbxl.extras import needs
from wmbxl.settings import Section

LOOK_EVERY = "5s"  # between looks at how many workers an adaptive cluster should have
IDLE_LOOKS = 12  # looks that find a worker idle before it is let go: to get one back may mean to queue again


class Adapt(Section):
    """Bounds of a cluster that follows the work."""

    minimum: int = Field(default=0, ge=0)
    maximum: int = Field(ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> Adapt:
        if self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum} is larger than maximum {self.maximum}")
        return self


class Recipe(Section, ABC):
    """How to start a cluster of a kind.

    A worker is a process with one thread, which keeps one core busy.

    Parameters
    ----------
    kind : str
    workers : int, optional
        As many, all the time.
    adapt : Adapt, optional
        As many as there is work for; this or `workers`.
    start_timeout : float
        Seconds to wait for the first worker.
    """

    help_where: ClassVar[str]  # where to look if no worker comes

    kind: str
    workers: int | None = Field(default=None, ge=1)
    adapt: Adapt | None = None
    start_timeout: float = Field(default=3600, gt=0)

    _folder: Path = PrivateAttr(default=Path())  # paths in the recipe start from here

    @model_validator(mode="after")
    def _one_size(self) -> Recipe:
        if (self.workers is None) == (self.adapt is None):
            raise ValueError("give either workers, such as  workers: 8, or adapt, such as  adapt: {maximum: 64}")
        return self

    @property
    def least(self) -> int:
        """Fewest workers."""
        return self.adapt.minimum if self.adapt else self.workers or 0

    @property
    def most(self) -> int:
        """Most workers."""
        return self.adapt.maximum if self.adapt else self.workers or 0

    @abstractmethod
    def start(self) -> Cluster:
        """Start the cluster, its scheduler at least; leaving its ``with`` block shuts it down."""

    def settle(self, cluster: Cluster) -> None:
        """Keep the cluster at its size, from the time when its first worker is there."""
        if self.adapt:
            cluster.adapt(minimum=self.least, maximum=self.most, interval=LOOK_EVERY, wait_count=IDLE_LOOKS)

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the settings that are set, so that others keep the defaults of the site."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def library(self, name: str, extra: str) -> ModuleType:
        """Import the library that starts this kind of cluster.

        Raises
        ------
        UsageError
            If it is not installed.
        """
        return needs(name, extra=extra, what=f"kind: {self.kind}")

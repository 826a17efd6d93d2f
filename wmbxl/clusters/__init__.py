"""Clusters that an audit starts for itself, each described by a recipe in YAML."""

from wmbxl.clusters.running import read_recipe, started
from wmbxl.clusters.versions import check_versions

__all__ = ["check_versions", "read_recipe", "started"]

"""The page on the scheduler's dashboard where a running audit can be watched."""

from wmbxl.dashboard.plugin import shown
from wmbxl.dashboard.run import CorpusPlan, Outcome, Plan

__all__ = ["CorpusPlan", "Outcome", "Plan", "shown"]

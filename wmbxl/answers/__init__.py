"""Answers: find them in a response, and say whether they are right."""

from wmbxl.answers.chain import equivalent, verify
from wmbxl.answers.verdict import Equivalence, Judge, Verdict

__all__ = ["Equivalence", "Judge", "Verdict", "equivalent", "verify"]

"""Evaluation: ask a model every problem of a benchmark, keep what it says, and score it."""

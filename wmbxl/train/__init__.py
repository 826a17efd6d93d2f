"""Training: teach a model by verdicts or by keys, and keep the test out of it."""

"""Training: teach a model with the verifier's verdicts or with the keys, and show that it learned nothing it may not."""

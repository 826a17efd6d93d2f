"""Speed and memory of wmbxl, as ratios measured in one run: ``python -m benchmarks``."""

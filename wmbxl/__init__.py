"""wmbxl: exact n-gram audits of benchmarks against corpora."""

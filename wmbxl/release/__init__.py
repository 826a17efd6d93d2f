"""A release of a benchmark: built from its records and its audit, described, and checked."""

"""Benchmarks: side by side in one run, medians of interleaved rounds, written to docs/benchmarks.md."""

"""Benchmarks: each prints ratios taken in one run on the same files. `make bench` runs them all."""

"""Twins of `kernels.compaction`."""

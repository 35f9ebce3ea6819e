"""Twins of `kernels.reading`."""

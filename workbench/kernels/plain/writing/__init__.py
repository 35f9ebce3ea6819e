"""Twins of `kernels.writing`."""

"""Imported by the process that the writers are forked from: they need not load the kernels."""

from tests.engine import killed_writer
from workbench.kernels.warm_up import compile_kernels

__all__ = ["killed_writer"]

compile_kernels()

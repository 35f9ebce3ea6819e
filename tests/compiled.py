"""Tests wait for compiled kernels, so that they test these: the conftest imports this first."""

import os

os.environ.setdefault("KAFKA_WORKBENCH_KERNELS", "compiled")

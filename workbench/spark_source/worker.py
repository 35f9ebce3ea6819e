"""Prepare a Python worker of Spark once, whatever it reads or writes."""

import gc
from functools import cache

from pyspark import TaskContext


@cache
def spare_collections() -> None:
    """Exempt the loaded modules from the garbage collection that follows every task.

    Spark's daemon collects all of a worker's objects then. Those of numba, pandas and pyarrow are
    120,000, never become garbage, and take as long as half a million records. Only in a worker.

    Spark: pyspark.daemon.manager (4.2)
    """
    if TaskContext.get() is not None:
        gc.freeze()

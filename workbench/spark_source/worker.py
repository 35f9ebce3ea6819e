"""Prepare a Python worker of Spark once, whatever it reads or writes."""

import gc
from collections.abc import Iterable
from functools import cache
from typing import Final

from pyspark import TaskContext

from workbench.file_system.kept import Kept
from workbench.file_system.source import Files, MountedFiles

_OPEN: Final[Kept[MountedFiles, None]] = Kept(4)


@cache
def spare_collections() -> None:
    """Exempt the loaded modules from the garbage collection that follows every task.

    Spark's daemon collects all of a worker's objects then. Those of numpy, pandas and pyarrow are
    120,000, never become garbage, and take as long as half a million records. Only in a worker.

    Spark: pyspark.daemon.manager (4.2)
    """
    if TaskContext.get() is not None:
        gc.freeze()


def keep_open(files: Iterable[Files]) -> None:
    """Keep what a task reads through, so that the next tasks of this worker find it opened.

    It comes with each task. Kept are the four of which something was read last.
    """
    for each in dict.fromkeys(files):
        if isinstance(each, MountedFiles):
            _OPEN.put(each, None)

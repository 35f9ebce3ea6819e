"""Ask the executors of a session what they have: Python, packages, compiled code, the jar, a path.

The function that asks is sent as a value, because an executor may have no workbench to import it
from. It imports one by one what it looks for.
"""

import importlib
import json
import os
import platform
import socket
import sys
import time
from typing import Any, Final, NamedTuple

PACKAGES: Final = ("workbench", "numpy", "pyarrow")
"""The packages that tasks import."""

_STAYS_S: Final = 1.0  # that a task takes, so that others are run by other executors


class Executor(NamedTuple):
    """What an executor has.

    Attributes:
        host: the name of its machine.
        folder: the folder in which it runs.
        python: the version of Python.
        executable: the path of Python.
        versions: of `PACKAGES` that can be imported.
        problems: why the others cannot.
        kernels: the level of the processor whose compiled code runs; empty: none.
        no_kernels: why none runs.
        has_jar: whether the reader in Java is there.
        partitions: how many the path that was asked for has.
        problem: why it cannot be listed.
    """

    host: str
    folder: str
    python: str
    executable: str
    versions: dict[str, str]
    problems: dict[str, str]
    kernels: str
    no_kernels: str
    has_jar: bool
    partitions: int
    problem: str


def executors(spark: Any, path: str | None = None) -> list[Executor]:
    """Run tasks on all executors until no other one answers.

    Spark's own errors pass through: tasks cannot run, for example because Pythons differ.

    Args:
        spark: a session, classic or Connect.
        path: a log directory that each of them should be able to list; None: not asked.

    Returns:
        The executors, sorted by host and folder.
    """
    from pyspark import cloudpickle
    from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

    tasks = spark.range(0, 1000).select(F.spark_partition_id().alias("task"))
    count = tasks.agg(F.max("task")).first()[0] + 2  # one more than there are cores
    found: dict[tuple[str, str], Executor] = {}
    own = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(own)  # type: ignore[no-untyped-call]
    try:
        ask = F.udf(lambda _: _answer(path), "string", useArrow=False)
        is_done = False
        while not is_done:
            rows = spark.range(0, count, 1, count).select(ask("id")).collect()
            answers = [Executor(**json.loads(text)) for (text,) in rows]
            told = {(each.host, each.folder): each for each in answers}
            is_done = told.keys() <= found.keys()
            found |= told
    finally:
        cloudpickle.unregister_pickle_by_value(own)  # type: ignore[no-untyped-call]
    return [found[name] for name in sorted(found)]


def _answer(path: str | None) -> str:
    """Return the fields of `Executor` as JSON."""
    versions, problems = {}, {}
    for name in PACKAGES:
        try:
            versions[name] = str(importlib.import_module(name).__version__)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what is asked
            problems[name] = str(error)
    found: dict[str, Any] = {
        "host": socket.gethostname(),
        "folder": os.getcwd(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "versions": versions,
        "problems": problems,
        "kernels": "",
        "no_kernels": "",
        "partitions": 0,
        "problem": "",
    }
    if "workbench" in versions:
        found |= _kernels()
        if path is not None:
            try:
                found["partitions"] = _partitions(path)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what is asked
                found["problem"] = str(error)
    elif path is not None:
        found["problem"] = "not looked for without the workbench"
    from pyspark import SparkFiles

    root = SparkFiles.getRootDirectory()
    found["has_jar"] = os.path.isfile(os.path.join(root, "kafka-log.jar"))
    time.sleep(_STAYS_S)
    return json.dumps(found)


def _kernels() -> dict[str, str]:
    """Return which compiled code runs, or why none does."""
    from workbench.kernels.library.opening import opened

    try:
        library = opened()
    except ImportError as error:
        return {"no_kernels": str(error)}
    return {"no_kernels": library} if isinstance(library, str) else {"kernels": library.name}


def _partitions(path: str) -> int:
    """Return how many partitions a log directory has.

    Raises:
        LogDirectoryError: it cannot be listed, or nothing there looks like Kafka's.
    """
    from workbench.inspection.listing import list_log_directories, require_logs
    from workbench.loaders.remote import all_opened

    paths, fs = all_opened([path])
    listing = list_log_directories(paths, fs=fs)
    require_logs(listing)
    return len(listing.partitions)

"""The checks of `doctor --spark`: what each executor of a cluster lacks, and what mends it."""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from workbench.cli.checks.installation import DoctorCheck, Status
from workbench.runtime.extras import missing
from workbench.runtime.words import plural

if TYPE_CHECKING:
    from workbench.spark_source.executors import Executor

_PACK: Final = (
    "kafka-workbench spark pack executors.tar.gz, then --conf spark.archives="
    "executors.tar.gz#executors --conf spark.executorEnv.PYTHONPATH=executors"
)
_SHARE: Final = "give executors the directory by the path of the driver: a shared disk, or a URI"


@dataclass(frozen=True, slots=True)
class ExecutorCheck(DoctorCheck):
    """What one check found on an executor.

    Attributes:
        executor: the host, and the folder in which it runs; empty if no task ran.
    """

    executor: str = ""


def executor_checks(
    master: str, conf: Mapping[str, str], path: str | None = None
) -> list[ExecutorCheck]:
    """Start a session, let its executors answer, and return the checks of each.

    Args:
        master: as in spark-submit, or ``sc://host:port``: a server of Spark Connect.
        conf: settings of Spark.
        path: a log directory that executors should be able to list; None: not asked.

    Raises:
        MissingDependencyError: pyspark or a Java is missing.
    """
    try:
        from pyspark.errors import PySparkException

        from workbench.spark_source.executors import executors
    except ImportError as error:
        raise missing("pyspark") from error
    spark = _session(master, conf)
    try:
        found = executors(spark, path)
    except PySparkException as error:
        return [_no_task(str(error))]
    return [each for executor in found for each in _checks(executor, path)]


def _session(master: str, conf: Mapping[str, str]) -> Any:
    """Return a session whose tasks wait until the executors that were asked for are there."""
    if master.startswith("sc://"):
        from pyspark.sql import SparkSession

        return SparkSession.builder.remote(master).config(map=dict(conf)).getOrCreate()
    from workbench.spark import session

    waits: dict[str, Any] = {"spark.scheduler.minRegisteredResourcesRatio": "1.0"}
    spark = session(**{**waits, **conf, "spark.master": master})
    spark.sparkContext.setLogLevel("OFF")  # a task that fails is an answer
    return spark


def _no_task(problem: str) -> ExecutorCheck:
    """Return the check of executors that cannot run a task of Python."""
    lines = [line.strip() for line in problem.splitlines()]
    telling = [line for line in lines if "PYTHON_VERSION_MISMATCH" in line or "Cannot run" in line]
    version = ".".join(platform.python_version_tuple()[:2])
    if telling:
        advice = (
            f"install Python {version} on the executors, by the name that it has here: python3, or "
            "what PYSPARK_PYTHON says"
        )
        return ExecutorCheck("Python", "error", telling[0], advice)
    advice = "see the logs of the executors, and docs/spark-cluster.md"
    return ExecutorCheck("tasks", "error", lines[0], advice)


def _checks(found: "Executor", path: str | None) -> Iterator[ExecutorCheck]:
    """Yield the checks of one executor."""
    where = f"{found.host}:{found.folder}"

    def check(name: str, status: Status, what: str, advice: str = "") -> ExecutorCheck:
        return ExecutorCheck(name, status, what, advice, where)

    yield check("Python", "ok", f"{found.python}, {found.executable}")
    own = _own_version()
    for name, problem in found.problems.items():
        yield check(name, "error", problem, _PACK)
    for name, version in found.versions.items():
        if name == "workbench" and version != own:
            yield check(name, "error", f"{version}, and {own} on the driver", _PACK)
        else:
            yield check(name, "ok", version)
    if found.kernels:
        yield check("compiled code", "ok", f"for {found.kernels}")
    elif found.no_kernels:
        what = f"about 100 times slower: {found.no_kernels}"
        yield check("compiled code", "warning", what, _PACK)
    if found.has_jar:
        yield check("reader in Java", "ok", "kafka-log.jar")
    else:
        yield check("reader in Java", "absent", "no kafka-log.jar", f"--conf spark.jars={_jar()}")
    if path is not None and found.problem:
        yield check("directory", "error", found.problem, _SHARE)
    elif path is not None:
        yield check("directory", "ok", f"{plural(found.partitions, 'partition')} in {path}")


def _own_version() -> str:
    import workbench

    return workbench.__version__


def _jar() -> str:
    """Return the path of the jar of this installation, or what makes it."""
    from workbench.spark import reader_jar

    return str(reader_jar() or "kafka-log.jar (of the wheel, or of make jar)")

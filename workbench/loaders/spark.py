"""Spark reads log directories: ``wb.spark.register(spark)``, then ``format("kafka-log")``.

pyspark is imported only when one of these functions is called, so this module costs nothing.
"""

import os
import sys
from typing import Any

from workbench.errors import MissingDependencyError
from workbench.loaders.java_home import ensure_java

FORMAT = "kafka-log"


def register(spark: Any) -> None:
    """Make ``spark.read.format("kafka-log")`` known to a session, classic or Connect.

    Args:
        spark: a `pyspark.sql.SparkSession`.

    Raises:
        MissingDependencyError: pyspark is not installed.
    """
    try:
        from workbench.loaders.spark_source import KafkaLogSource
    except ImportError as error:
        raise MissingDependencyError(
            "pyspark", "pip install 'kafka-log-workbench[spark]'"
        ) from error
    spark.dataSource.register(KafkaLogSource)


def local_session(cores: int = 2, **conf: str) -> Any:
    """Return a session on this machine with the source registered; finds a Java when none is set.

    Args:
        cores: tasks that run side by side.
        conf: Spark settings, dots written as double underscores: ``spark__ui__enabled="false"``.

    Raises:
        MissingDependencyError: pyspark or a Java is missing.
    """
    prepare_environment()
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingDependencyError(
            "pyspark", "pip install 'kafka-log-workbench[spark]'"
        ) from error
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        **{name.replace("__", "."): value for name, value in conf.items()},
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("kafka-log-workbench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    register(session)
    return session


def prepare_environment() -> None:
    """Point Spark at a usable Java and its workers at this Python; call before a session starts.

    Workers would otherwise take the first ``python3`` on the path, which may not have this package.

    Raises:
        MissingDependencyError: there is no usable Java.
    """
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

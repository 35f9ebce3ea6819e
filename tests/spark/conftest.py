"""The one Spark session of a test process, with Spark's own Kafka source where it is to be had.

`test_reader_in_java` runs tests once more, in a process whose session has the reader in Java.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.spark import connector

IN_JAVA = "KAFKA_LOG_WORKBENCH_TEST_IN_JAVA"
"""A variable of the environment: the session has the reader in Java."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    jars = ",".join(connector.jars()) if connector.is_to_be_had() else ""
    session = wb.spark.session(
        reader_in_java=IN_JAVA in os.environ,
        spark__master="local[2,4]",  # a task may fail three times
        spark__jars=jars,
        spark__sql__shuffle__partitions="2",
        # a client of another test that looks for a server which is gone may meet a port of Spark's
        spark__python__unix__domain__socket__enabled="true",
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()

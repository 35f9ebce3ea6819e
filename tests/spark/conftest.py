"""The one Spark session of a test process, with Spark's own Kafka source where it is to be had."""

from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.spark import connector


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    jars = ",".join(connector.jars()) if connector.is_to_be_had() else ""
    session = wb.spark.session(
        spark__master="local[2,4]",  # a task may fail three times
        spark__jars=jars,
        spark__sql__shuffle__partitions="2",
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()

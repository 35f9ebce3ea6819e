"""Spark's own Kafka source, to hold ours against: its jars, for the version of Spark that has them.

Resolved by Maven once, as the brokers of `tests.kafka_broker` are.
"""

import os
from typing import Final

import pyspark

from tests.kafka_broker import CACHE, Artifact, resolve

VERSION: Final = "4.2.0"
BROKER: Final = "4.2.0"
_ARTIFACTS: Final = (
    Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),
    # Its newest; nothing but the names of its classes is used without Kerberos.
    Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    Artifact("org.apache.kafka", "kafka-clients", "3.9.1"),
    Artifact("org.apache.commons", "commons-pool2", "2.12.0"),
)


def is_to_be_had() -> bool:
    """Return whether the connector is there for the Spark that is installed."""
    return pyspark.__version__.rpartition(".")[0] == VERSION.rpartition(".")[0]


def jars() -> list[str]:
    """Return the paths of the connector's jars.

    Raises:
        RuntimeError: see `resolve`.
    """
    stored = CACHE / f"spark-{VERSION}" / "classpath"
    return resolve(stored, _ARTIFACTS, excluded=["*"]).split(os.pathsep)

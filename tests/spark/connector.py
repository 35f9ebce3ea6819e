"""Spark's own Kafka source, to hold ours against: its jars, for the version of Spark that has them.

Resolved by Maven once, as the brokers of `tests.kafka_broker` are.
"""

import os
import subprocess
from pathlib import Path
from typing import Final

import pyspark

from tests.kafka_broker import CACHE, CLASS_PATH_GOAL, POM

VERSION: Final = "4.2.0"
BROKER: Final = "4.2.0"
_ARTIFACTS: Final = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),
    # Its newest; nothing but the names of its classes is used without Kerberos.
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.0"),
)


def is_to_be_had() -> bool:
    """Return whether the connector is there for the Spark that is installed."""
    return pyspark.__version__.rpartition(".")[0] == VERSION.rpartition(".")[0]


def jars() -> list[str]:
    """Return the paths of the connector's jars.

    Raises:
        RuntimeError: Maven could not resolve them; its words are in the error.
    """
    stored = CACHE / f"spark-{VERSION}" / "classpath"
    if not stored.exists():
        stored.parent.mkdir(parents=True, exist_ok=True)
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version><exclusions><exclusion><groupId>*</groupId>"
            "<artifactId>*</artifactId></exclusion></exclusions></dependency>"
            for group, artifact, version in _ARTIFACTS
        )
        pom = stored.with_name("pom.xml")
        pom.write_text(POM.format(dependencies=dependencies))
        command = ["mvn", "-q", "-B", "-f", str(pom), CLASS_PATH_GOAL]
        done = subprocess.run(
            [*command, f"-Dmdep.outputFile={stored}"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"Maven did not resolve the connector:\n{done.stdout}{done.stderr}")
    return [path for path in stored.read_text().split(os.pathsep) if Path(path).exists()]

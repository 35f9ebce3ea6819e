"""Rounds that read mutated directories with Spark, and hold it against a scan.

One local session serves all of them: the campaign runs them, its minute does not.
"""

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import workbench as wb
from tests.campaign.bases import choose_base
from tests.campaign.mutations import choose

DIRECTORIES: Final = 2  # of a round
MAY_SAY: Final = ("CorruptRecordError", "LogDirectoryError", "is twice in", "OSError", "LinkError")
"""What an error of a job may name: what the source documents."""

Read = set[tuple[str, int, int]]
"""Topic, partition and offset of records."""


class UnlikeScanError(AssertionError):
    """Spark gives other records than a scan, or ends with an error that nothing documents."""


@cache
def session() -> SparkSession:
    """Return the session of all rounds."""
    made: SparkSession = wb.spark.session(1, spark__ui__enabled="false")
    made.sparkContext.setLogLevel("OFF")
    return made


def read_with_spark(folder: Path, seed: int) -> None:
    """Mutate directories, and read each with every onCorrupt and sizes of tasks by chance.

    Raises:
        UnlikeScanError: see there.
    """
    rng = Random(seed)
    for number in range(DIRECTORIES):
        base = choose_base(folder, rng)
        directory = folder / f"logs-{number}"
        base.copy(folder, directory)
        done = choose(directory, rng)
        options = {
            "maxPartitionBytes": str(rng.choice((20_000, 128 << 20))),
            "includeControl": rng.choice(("true", "false")),
            "includeInternal": "true",  # as a scan
            "kafka.isolation.level": rng.choice(("read_committed", "read_uncommitted")),
        }
        wanted = scanned(directory, options)
        for on_corrupt in ("fail", "skip", "rows"):
            given = given_by_spark(directory, {**options, "onCorrupt": on_corrupt})
            if given is not None and given != wanted:
                kinds = [mutation.kind for mutation in done]
                raise UnlikeScanError(
                    f"{base.name} {base.folders} {kinds} {options} {on_corrupt}: Spark gives "
                    f"{sorted(given - wanted)[:3]} more, {sorted(wanted - given)[:3]} less"
                )


def scanned(directory: Path, options: dict[str, str]) -> Read:
    """Return what a scan gives."""
    isolation: Any = options["kafka.isolation.level"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.CorruptDataWarning)
        table = (
            wb.open_log_directory(directory)
            .scan(
                columns=["topic", "partition", "offset"],
                isolation_level=isolation,
                include_control=options["includeControl"] == "true",
            )
            .to_arrow()
        )
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def given_by_spark(directory: Path, options: dict[str, str]) -> Read | None:
    """Return what Spark gives; None if it ends with an error that the source documents."""
    try:
        frame = session().read.format("kafka-log").options(**options).load(str(directory))
        rows = frame.collect()
    except PySparkException as error:
        said = str(error)
        if options["onCorrupt"] == "fail" and any(word in said for word in MAY_SAY):
            return None
        raise UnlikeScanError(f"{options}: {said[-600:]}") from error
    is_damage = "damage" in frame.columns
    return {
        (row["topic"], row["partition"], row["offset"])
        for row in rows
        if not (is_damage and row["damage"] is not None)
    }


SPARK_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {"read with Spark": read_with_spark}
"""By name."""

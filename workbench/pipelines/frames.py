"""Share what the jobs need: DataFrames of the formats, and sizes of records in them."""

import os
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]

LOG: Final = ("topic", "partition")
"""The columns that identify a log."""


def joined(paths: Paths) -> str:
    """Return paths as the option ``path`` takes them."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return ",".join(os.fspath(each) for each in several)


def source_options(paths: Paths, topics: Sequence[str], **options: str) -> dict[str, str]:
    """Return the options of a ``load``.

    Args:
        paths: log directories of one broker, or partition directories.
        topics: names; none: all.
        options: others of the format.
    """
    chosen = {"subscribe": ",".join(topics)} if topics else {}
    return {"path": joined(paths), **chosen, **options}


def load(
    spark: SparkSession, paths: Paths, topics: Sequence[str] = (), table: str = "", **options: str
) -> DataFrame:
    """Return the records, or a table, of log directories.

    Args:
        spark: a session that knows the formats (`workbench.spark.register`).
        paths: see `source_options`.
        topics: see `source_options`.
        table: batches, segments, indexes or findings; empty: records.
        options: others of the format.
    """
    name = f"kafka-log-{table}" if table else "kafka-log"
    return spark.read.format(name).options(**source_options(paths, topics, **options)).load()


def size_of(column: str | Column) -> Column:
    """Return bytes of a binary or string; 0 of a null."""
    return F.coalesce(F.octet_length(column), F.lit(0)).cast("long")


def record_size() -> Column:
    """Return bytes of a record's key, value and headers before compression."""
    headers = F.aggregate(
        F.col("headers"),
        F.lit(0).cast("long"),
        lambda total, each: total + size_of(each["key"]) + size_of(each["value"]),
    )
    no_headers = F.col("headers").isNull()  # most have none
    return size_of("key") + size_of("value") + F.when(no_headers, 0).otherwise(headers)

"""Share what the jobs need: options and DataFrames of the formats."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from workbench.runtime.several import several
from workbench.spark_source.option_values import Paths, joined

LOG: Final = ("topic", "partition")
"""The columns that identify a log."""


def source_options(paths: Paths, topics: Sequence[str], **options: str) -> dict[str, str]:
    """Return the options of a ``load``.

    Args:
        paths: log directories of one broker or of several, or partition directories.
        topics: names; none: all, Kafka's own too.
        options: others of the format.
    """
    chosen = {"subscribe": ",".join(several(topics))} if topics else {}
    return {"path": joined(paths), "includeInternal": "true", **chosen, **options}


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

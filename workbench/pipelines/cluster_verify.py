"""Cluster verify: what is damaged on the disks of many brokers, checked in as many tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from workbench.pipelines.source_options import load
from workbench.runtime.several import several
from workbench.spark_source.option_values import Paths


@dataclass(frozen=True)
class ClusterVerification:
    """The findings of all brokers, and their summary.

    Attributes:
        findings: one row per finding, as format "kafka-log-findings" gives them; kept by Spark
            until its ``unpersist``.
        summary: (severity, kind, number of findings), errors first.
    """

    findings: DataFrame
    summary: tuple[tuple[str, str, int], ...]

    @property
    def worst(self) -> str:
        """Return error, warning, or info where nothing is wrong."""
        return self.summary[0][0] if self.summary else "info"


def cluster_verify(
    spark: SparkSession, brokers: Sequence[Paths], topics: Sequence[str] = (), *, deep: bool = True
) -> ClusterVerification:
    """Check log directories as `LogDirectory.verify` does; a task takes some partitions.

    Args:
        spark: a session that knows the formats.
        brokers: the log directories, or partition directories, of each broker.
        topics: names that every broker has; none: all, and the files outside partition directories.
        deep: decode every record; otherwise check headers, indexes and checkpoints.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic does not exist.
    """
    told = [
        load(spark, each, topics, "findings", deep=str(deep).lower()) for each in several(brokers)
    ]
    findings = reduce(DataFrame.union, told).persist()
    counts = findings.groupBy("severity", "kind").count().orderBy("severity", "kind")
    rows = [(row[0], row[1], row[2]) for row in counts.collect()]
    return ClusterVerification(findings, tuple(rows))

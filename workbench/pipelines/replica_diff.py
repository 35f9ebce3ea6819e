"""Replica diff: which records two copies of the same logs do not share.

It compares what a consumer gets at an offset, so batches may be split and compressed differently:
by a leader that converts, a mirror, or a cleaned follower.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.pipelines.frames import LOG, Paths, load, size_of, source_options
from workbench.spark_source.options import parse_options
from workbench.spark_source.planning import Plan

MISSING: Final = "missing"
EXTRA: Final = "extra"
DIFFERENT: Final = "different"

_COLUMNS: Final = "topic,partition,offset,timestamp,timestampType,key,value,headers,isControl"
_RANGES: Final = "topic string, partition int, low bigint, high bigint"


def replica_diff(
    spark: SparkSession,
    left: Paths,
    right: Paths,
    topics: Sequence[str] = (),
    *,
    everywhere: bool = False,
) -> DataFrame:
    """Return one row per offset at which two copies of a log differ.

    Columns: topic, partition, offset, difference: "missing" (only left has it), "extra" (only right
    has it), "different" (both, with another key, value, headers, timestamp or kind). Transaction
    markers are compared; unreadable records are left out. Contents are compared by a hash of 64
    bits.

    A follower may lag, and a log may have been truncated at its start: offsets that only one of two
    copies reaches are left out unless ``everywhere`` is set. A log that one side lacks entirely is
    a difference.

    Args:
        spark: a session that knows the formats.
        left: log directories of one broker.
        right: those of the other.
        topics: names, that both have; none: all that left or right has.
        everywhere: whether to compare even where only one copy begins or ends.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic is not in both.
    """
    sides = [
        load(
            spark, paths, topics, includeControl="true", onCorrupt="skip", columns=_COLUMNS
        ).select(*LOG, "offset", F.lit(side).alias("side"), _content().alias("content"))
        for side, paths in enumerate((left, right))
    ]
    contents = (F.max(F.when(F.col("side") == side, F.col("content"))) for side in (0, 1))
    both = (
        sides[0]
        .union(sides[1])
        .groupBy(*LOG, "offset")
        .agg(*(each.alias(name) for each, name in zip(contents, ("left", "right"), strict=True)))
    )
    if not everywhere:
        ranges = spark.createDataFrame(_common_ranges(left, right, topics), _RANGES)
        both = both.join(F.broadcast(ranges), [*LOG], "left").where(
            F.col("low").isNull() | F.col("offset").between(F.col("low"), F.col("high") - 1)
        )
    difference = (
        F.when(F.col("right").isNull(), MISSING)
        .when(F.col("left").isNull(), EXTRA)
        .when(F.col("left") != F.col("right"), DIFFERENT)
    )
    return (
        both.select(*LOG, "offset", difference.alias("difference"))
        .where(F.col("difference").isNotNull())
        .orderBy(*LOG, "offset")
    )


def summarize(differences: DataFrame) -> DataFrame:
    """Return one row per partition and difference: records, first_offset, last_offset."""
    return (
        differences.groupBy(*LOG, "difference")
        .agg(
            F.count("*").alias("records"),
            F.min("offset").alias("first_offset"),
            F.max("offset").alias("last_offset"),
        )
        .orderBy(*LOG, "difference")
    )


def _content() -> Column:
    """Return a hash of a record's contents; lengths keep null from empty, and fields apart."""
    headers = F.transform(
        F.col("headers"), lambda each: F.struct(each["key"], *_told(each["value"]))
    )
    return F.xxhash64(
        "timestamp",
        "timestampType",
        "isControl",
        *_told(F.col("key")),
        *_told(F.col("value")),
        F.coalesce(F.size("headers"), F.lit(-1)),
        headers,
    )


def _told(column: Column) -> tuple[Column, Column]:
    length = F.when(column.isNull(), -1).otherwise(size_of(column))
    return length, column


def _common_ranges(
    left: Paths, right: Paths, topics: Sequence[str]
) -> list[tuple[str, int, int, int]]:
    """Return the offsets that both copies of a log reach, for those that both have."""
    ranges: list[dict[tuple[str, int], tuple[int, int]]] = []
    for paths in (left, right):
        found = Plan(parse_options(source_options(paths, topics))).partitions
        ranges.append(
            {(p.topic, p.partition): (p.log_start_offset, p.log_end_offset) for p in found}
        )
    return [
        (*log, max(low, ranges[1][log][0]), min(high, ranges[1][log][1]))
        for log, (low, high) in ranges[0].items()
        if log in ranges[1]
    ]

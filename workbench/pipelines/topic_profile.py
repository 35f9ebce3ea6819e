"""Topic profile: a topic hour by hour: rates, sizes, keys, gaps and late records."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.pipelines.frames import LOG, Paths, load, record_size

_OPTIONS: Final = {"includeControl": "true", "onCorrupt": "skip"}
_NARROW: Final = "topic,partition,offset,timestamp,segment,isControl"


def topic_profile(
    spark: SparkSession, paths: Paths, topics: Sequence[str] = (), *, late_ms: int = 60_000
) -> DataFrame:
    """Return one row per partition and hour (UTC) of the records' timestamps.

    Columns: topic, partition, hour (null: records without a timestamp), records, bytes (keys,
    values and headers before compression), key_bytes, largest_key, value_bytes, largest_value,
    keys (distinct ones, by a hash of 64 bits), null_keys, tombstones, gaps (places
    where offsets are missing before a record of this hour), missing_offsets (how many), late
    (records more than ``late_ms`` earlier than the largest timestamp before them), latest_by_ms
    (the most that a record is late; null: none is).

    Damage is left out (`cluster_verify` reports it) and leaves a gap.
    Every segment is sorted in a task of its own; the records before it are known from a narrow scan
    that runs first. Transaction markers are neither records nor gaps.

    Args:
        spark: a session that knows the formats.
        paths: log directories of one broker, or partition directories.
        topics: names; none: all.
        late_ms: the lateness that is still in time, ms.
    """
    inside = Window.partitionBy(*LOG, "segment").orderBy("offset")
    earlier = inside.rowsBetween(Window.unboundedPreceding, -1)
    time = F.when(~F.col("isControl"), F.unix_millis("timestamp"))
    found = (
        load(spark, paths, topics, **_OPTIONS, columns=f"{_NARROW},key,value,headers")
        .select(
            *LOG,
            "segment",
            "offset",
            "isControl",
            time.alias("time"),
            record_size().alias("bytes"),
            F.octet_length("key").alias("key_size"),
            F.octet_length("value").alias("value_size"),
            F.when(F.col("key").isNotNull(), F.xxhash64("key")).alias("key_hash"),
        )
        .select(
            "*",
            F.lag("offset").over(inside).alias("last_here"),
            F.max("time").over(earlier).alias("newest_here"),
        )
        .join(F.broadcast(_before_segments(spark, paths, topics)), [*LOG, "segment"])
    )
    skipped = F.col("offset") - F.coalesce("last_here", "last_before") - 1
    behind = F.greatest("newest_here", "newest_before") - F.col("time")
    hour = F.timestamp_millis(F.col("time") - F.pmod("time", F.lit(3_600_000)))
    records = found.select(
        "*", skipped.alias("skipped"), behind.alias("behind"), hour.alias("hour")
    ).where(~F.col("isControl"))
    return (
        records.groupBy(*LOG, "hour")
        .agg(
            F.count("*").alias("records"),
            F.sum("bytes").alias("bytes"),
            F.sum(F.coalesce("key_size", F.lit(0))).alias("key_bytes"),
            F.max("key_size").alias("largest_key"),
            F.sum(F.coalesce("value_size", F.lit(0))).alias("value_bytes"),
            F.max("value_size").alias("largest_value"),
            F.count_distinct("key_hash").alias("keys"),
            F.count_if(F.col("key_size").isNull()).alias("null_keys"),
            F.count_if(F.col("value_size").isNull()).alias("tombstones"),
            F.count_if(F.col("skipped") > 0).alias("gaps"),
            F.sum(F.coalesce("skipped", F.lit(0))).alias("missing_offsets"),
            F.count_if(F.col("behind") > late_ms).alias("late"),
            F.max(F.when(F.col("behind") > 0, F.col("behind"))).alias("latest_by_ms"),
        )
        .orderBy(*LOG, "hour")
    )


def _before_segments(spark: SparkSession, paths: Paths, topics: Sequence[str]) -> DataFrame:
    """Return for each segment the last offset and the largest time of the segments before it."""
    earlier = Window.partitionBy(*LOG).orderBy("segment").rowsBetween(Window.unboundedPreceding, -1)
    time = F.when(~F.col("isControl"), F.unix_millis("timestamp"))
    return (
        load(spark, paths, topics, **_OPTIONS, columns=_NARROW)
        .groupBy(*LOG, "segment")
        .agg(F.max("offset").alias("last"), F.max(time).alias("newest"))
        .select(
            *LOG,
            "segment",
            F.max("last").over(earlier).alias("last_before"),
            F.max("newest").over(earlier).alias("newest_before"),
        )
    )

"""Compaction savings: what one cleaning of entire logs drops, from the last offset of each key.

Kafka: Cleaner.shouldRetainRecord (4.2)
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.inspection.partition import Partition
from workbench.inspection.transactions import Transactions, read_transactions
from workbench.pipelines.frames import LOG, Paths, load, record_size, source_options
from workbench.spark_source.options import parse_options
from workbench.spark_source.planning import Plan

NEWEST: Final = "newest of its key"
TOMBSTONE: Final = "tombstone, delete horizon not passed"
SUPERSEDED: Final = "superseded"
NO_KEY: Final = "no key"
ABORTED: Final = "aborted"
EXPIRED: Final = "tombstone, delete horizon passed"

KEPT: Final = (NEWEST, TOMBSTONE)
"""The fates of records that are kept."""

_NEWEST_FATES: Final = (NEWEST, TOMBSTONE, EXPIRED)
"""The fates of the newest record of a key, by number because Spark sorts to aggregate texts."""

_COLUMNS: Final = (
    "topic,partition,offset,key,value,headers,producerId,isTransactional,segment,batchPosition"
)
_ENDS: Final = "topic string, partition int, end bigint"
_ABORTS: Final = "topic string, partition int, producerId bigint, after bigint, marker bigint"


def compaction_savings(
    spark: SparkSession, paths: Paths, topics: Sequence[str] = (), *, now: int | None = None
) -> DataFrame:
    """Return one row per partition and fate: what cleaning the log does to its records.

    Columns: topic, partition, fate (one of the texts above), is_kept, records, bytes (keys, values
    and headers before compression). The logs are cleaned once from their start, with an offset map
    that holds every key, as if every topic were compacted without `min.compaction.lag.ms`.
    Segments that would not be cleaned are left out: the active one, and those at or after the first
    open transaction. Control records and records below the log start offset are left out too.

    Args:
        spark: a session that knows the formats.
        paths: log directories of one broker, or partition directories.
        topics: names; none: all.
        now: ms, that delete horizons are measured by; None: this machine's time.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic does not exist.
    """
    moment = int(time.time() * 1000) if now is None else now
    partitions = Plan(parse_options(source_options(paths, topics))).partitions
    known = [(each, read_transactions(each)) for each in partitions if each.segments]
    ends = spark.createDataFrame([(*_log(p), _end(p, t)) for p, t in known], _ENDS)
    aborts = spark.createDataFrame([row for p, t in known for row in _aborts(p, t)], _ABORTS)
    passed = (
        load(spark, paths, topics, "batches")
        .where(F.unix_millis("delete_horizon") <= moment)
        .select(*LOG, "segment", F.col("position").alias("batchPosition"))
        .withColumn("has_passed", F.lit(True))  # noqa: FBT003 - a column of it
    )
    records = (
        load(spark, paths, topics, columns=_COLUMNS)
        .withColumn("bytes", record_size())
        .join(F.broadcast(ends), [*LOG])
        .where(F.col("segment") < F.col("end"))
        .join(F.broadcast(passed), [*LOG, "segment", "batchPosition"], "left")
    )
    told = _with_aborts(records, aborts).select(
        *LOG,
        "key",
        "offset",
        "bytes",
        F.when(F.col("marker").isNotNull(), ABORTED)
        .when(F.col("key").isNull(), NO_KEY)
        .alias("rule"),
        _fate_of_newest().alias("newest_fate"),
    )
    return _by_fate(told).orderBy(*LOG, "fate")


def _log(partition: Partition) -> tuple[str, int]:
    return partition.topic, partition.partition


def _end(partition: Partition, transactions: Transactions) -> int:
    """Return the base of the first segment not cleaned: active, or with an open transaction.

    Kafka: LogCleanerManager.cleanableOffsets, calculateCleanableBytes (4.2)
    """
    bases = [segment.base_offset for segment in partition.segments]
    return max([base for base in bases if base <= transactions.last_stable_offset] or bases[:1])


def _aborts(
    partition: Partition, transactions: Transactions
) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield, for each abort, the offsets between which its producer's records are aborted."""
    for producer, after, offset in zip(*transactions.aborts, strict=True):
        yield *_log(partition), int(producer), int(after), int(offset)


def _with_aborts(records: DataFrame, aborts: DataFrame) -> DataFrame:
    """Return records with the transaction marker that aborts each; null if none does."""
    mine, theirs = records.alias("mine"), F.broadcast(aborts).alias("theirs")
    same = [F.col(f"mine.{name}") == F.col(f"theirs.{name}") for name in (*LOG, "producerId")]
    is_between = (F.col("offset") > F.col("after")) & (F.col("offset") < F.col("marker"))
    condition = same[0] & same[1] & same[2] & F.col("isTransactional") & is_between
    return mine.join(theirs, condition, "left").select("mine.*", "theirs.marker")


def _fate_of_newest() -> Column:
    """Return the fate of a record if it is the newest of its key, as an index into the fates."""
    fate = F.when(F.col("value").isNotNull(), NEWEST).when(F.col("has_passed"), EXPIRED)
    return F.array_position(_newest_fates(), fate.otherwise(TOMBSTONE))


def _newest_fates() -> Column:
    return F.array(*map(F.lit, _NEWEST_FATES))


def _by_fate(told: DataFrame) -> DataFrame:
    """Return records and bytes by fate; of each key the last offset is looked for.

    Two shuffles: of what is known of each key, after every task has put its own together, and of a
    few sums.
    """
    by_key = told.groupBy(*LOG, "key", "rule").agg(
        F.count("*").alias("records"),
        F.sum("bytes").alias("bytes"),
        F.max_by("bytes", "offset").alias("last_bytes"),
        F.max_by("newest_fate", "offset").alias("last_fate"),
    )
    last_fate = F.element_at(_newest_fates(), F.col("last_fate").cast("int"))
    ruled = F.col("rule").isNotNull()
    parts = F.array(
        F.struct(
            F.coalesce("rule", last_fate).alias("fate"),
            F.when(ruled, F.col("records")).otherwise(1).alias("records"),
            F.when(ruled, F.col("bytes")).otherwise(F.col("last_bytes")).alias("bytes"),
        ),
        F.struct(
            F.lit(SUPERSEDED).alias("fate"),
            F.when(ruled, 0).otherwise(F.col("records") - 1).alias("records"),
            F.when(ruled, 0).otherwise(F.col("bytes") - F.col("last_bytes")).alias("bytes"),
        ),
    )
    sums = (
        by_key.select(*LOG, F.inline(parts))
        .groupBy(*LOG, "fate")
        .agg(F.sum("records").alias("records"), F.sum("bytes").alias("bytes"))
        .where(F.col("records") > 0)
    )
    is_kept = F.col("fate").isin(*KEPT).alias("is_kept")
    return sums.select(*LOG, "fate", is_kept, "records", "bytes")

"""Rescue to Parquet: every record that can still be read, with a receipt for each partition.

A partition is written next to the result, counted, and only then moved into it: a directory that
exists is complete. So a stopped job continues with the partitions that are missing.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from workbench.errors import LogDirectoryError, OutputError
from workbench.file_system.outputs import new_file, refuse_inputs
from workbench.inspection.partition import Partition
from workbench.loaders.scan.plan import input_paths
from workbench.pipelines.frames import LOG, Path, Paths, load, source_options
from workbench.spark_source.option_values import plain_path
from workbench.spark_source.options import parse_options
from workbench.spark_source.planning import Plan

RECEIPT: Final = "_rescued.json"
"""In the directory of each partition; Spark skips names that begin so."""

_UNFINISHED: Final = "_unfinished"
"""Where partitions are written, in the result; Spark skips it too."""


@dataclass(frozen=True)
class Rescued:
    """The outcome of rescuing one partition.

    Attributes:
        topic, partition: the topic's name and the partition's number.
        records: the number of records written.
        missing: records that headers of batches promise and that could not be read.
        damage: one dict for each damaged place, as column ``damage`` has it.
        was_done: an earlier run wrote it.
    """

    topic: str
    partition: int
    records: int
    missing: int
    damage: tuple[dict[str, Any], ...]
    was_done: bool = False


def rescue_to_parquet(
    spark: SparkSession, paths: Paths, out: Path, topics: Sequence[str] = ()
) -> Iterator[Rescued]:
    """Write the records of each partition to ``out/topic=T/partition=N``; yield it when it is done.

    The columns are those of format "kafka-log" with headers and metadata, in the order of offsets
    within a file. Damage is left out and reported. The records of every batch are counted and
    compared
    with its header: where nothing was damaged they are as many. What is done is not done again.

    Args:
        spark: a session that knows the formats.
        paths: log directories of one broker, or partition directories.
        out: a directory that driver and executors share; created if it is missing.
        topics: names; none: all.

    Raises:
        LogDirectoryError: a path does not exist; or a batch returned more records, or without
            damage fewer, than its header counts: then the partition is not written.
        LookupError: a topic does not exist.
        OutputError: ``out`` is in one of the paths, or leads there by a link.
        ValueError: ``out`` is a URI.
    """
    base = plain_path(os.fspath(out))
    if "://" in base:
        raise ValueError(f"{base}: complete directories are renamed, and a bucket has none")
    base = os.path.realpath(base)
    partitions = Plan(parse_options(source_options(paths, topics))).partitions
    refuse_inputs(base, input_paths(partitions))
    for partition in partitions:
        folder = os.path.join(f"topic={partition.topic}", f"partition={partition.partition}")
        final = os.path.join(base, folder)
        if os.path.exists(final):
            yield _done_before(final)
            continue
        unfinished = os.path.join(base, _UNFINISHED, folder)
        for each in (unfinished, final):
            _refuse_links(base, each)
        done = _rescue(spark, paths, partition, unfinished)
        with new_file(os.path.join(unfinished, RECEIPT)) as file:
            file.write(json.dumps(asdict(done), indent=2).encode())
        os.makedirs(os.path.dirname(final), exist_ok=True)
        os.rename(unfinished, final)
        yield done
    shutil.rmtree(os.path.join(base, _UNFINISHED), ignore_errors=True)


def _refuse_links(base: str, path: str) -> None:
    """Refuse links on the way from the result's directory: their targets must not be replaced.

    Raises:
        OutputError: one of the directories is a link.
    """
    while path != base:
        if os.path.islink(path):
            raise OutputError(path, "is a link")
        path = os.path.dirname(path)


def _done_before(final: str) -> Rescued:
    with open(os.path.join(final, RECEIPT), encoding="utf-8") as file:
        told = json.load(file)
    return replace(Rescued(**{**told, "damage": tuple(told["damage"])}), was_done=True)


def _rescue(spark: SparkSession, paths: Paths, partition: Partition, folder: str) -> Rescued:
    """Write one partition to a directory and count its records."""
    only = {"assign": json.dumps({partition.topic: [partition.partition]})}
    seen = Observation()
    found = load(
        spark, paths, onCorrupt="rows", includeHeaders="true", includeMetadata="true", **only
    ).observe(seen, F.count("damage").alias("places"))
    whole = found.where(F.col("damage").isNull()).drop(*LOG, "isControl", "damage")
    whole.write.mode("overwrite").parquet(folder)
    damage: tuple[dict[str, Any], ...] = ()
    if seen.get["places"]:
        places = load(spark, paths, onCorrupt="rows", columns="damage", **only)
        places = places.where(F.col("damage").isNotNull())
        rows = places.orderBy("damage.path", "damage.position").collect()
        damage = tuple(row["damage"].asDict() for row in rows)
    written = spark.read.schema(whole.schema).parquet(folder)
    promised = load(spark, paths, table="batches", **only)
    records, missing, surplus = count_against_batches(written, promised, partition.log_start_offset)
    if surplus or (missing and not damage):
        what = f"{surplus} records too many" if surplus else f"{missing} records too few"
        raise LogDirectoryError(partition.path, f"{what} were read, by the batch headers")
    return Rescued(partition.topic, partition.partition, records, missing, damage)


def count_against_batches(
    written: DataFrame, promised: DataFrame, start: int
) -> tuple[int, int, int]:
    """Return the records that were written, are missing, and are too many by the batch headers.

    Batches without a count are not compared: wrappers of magic 0 and 1, and a batch that begins
    below the log start offset.

    Args:
        written: the records of one partition.
        promised: its batches, as format "kafka-log-batches" gives them.
        start: log start offset.
    """
    counts = written.groupBy("segment", F.col("batchPosition").alias("position")).count()
    tells = F.col("problem").isNull() & ~F.col("is_control") & (F.col("base_offset") >= start)
    headers = promised.where(tells).select("segment", "position", "record_count")
    lost = F.col("record_count") - F.coalesce("count", F.lit(0))
    row = (
        headers.join(counts, ["segment", "position"], "full")
        .agg(F.sum("count"), F.sum(F.greatest(lost, F.lit(0))), F.sum(-F.least(lost, F.lit(0))))
        .first()
    )
    assert row is not None
    return row[0] or 0, row[1] or 0, row[2] or 0

"""DataFrames written as logs: what comes back, its layout, and what a failure leaves."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it
from pyspark.sql.types import BinaryType, StructField, StructType

import workbench as wb
from workbench.kernels.plain.murmur2 import murmur2
from workbench.log_directory import LogDirectory
from workbench.spark_source.writing import KafkaLogWriter, parse_write_options

pytestmark = pytest.mark.spark


def numbers(spark: Any, count: int, tasks: int = 3) -> Any:
    """Return a DataFrame of `count` records with keys and times."""
    return spark.range(0, count, numPartitions=tasks).select(
        F.col("id").cast("string").alias("key"),
        F.concat(F.lit("value "), F.col("id").cast("string")).alias("value"),
        F.timestamp_millis(F.col("id") + 1_700_000_000_000).alias("timestamp"),
    )


def save(frame: Any, path: Path, mode: str = "append", **options: object) -> LogDirectory:
    """Write records of a topic, and open what was written."""
    texts = {name.replace("__", "."): str(value) for name, value in options.items()}
    frame.write.format("kafka-log").mode(mode).options(**texts).save(str(path))
    return wb.open_log_directory(path)


def rows(logs: LogDirectory, *columns: str) -> list[tuple[Any, ...]]:
    """Return what a scan gives, in the order of the logs."""
    found = logs.scan(columns=columns).to_arrow()
    return list(zip(*(found[name].to_pylist() for name in columns), strict=True))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_each_row_is_written_once_to_the_partition_of_its_key(
    spark: Any, tmp_path: Path, codec: str
) -> None:
    frame = numbers(spark, 5000)
    logs = save(
        frame, tmp_path / "new", topic="numbers", numPartitions=3, kafka__compression__type=codec,
        segmentBytes="20k", kafka__batch__size=2000,
    )  # fmt: skip
    assert logs.verify() == []
    assert min(len(partition.segments) for partition in logs.values()) > 1
    assert set(logs.inspect.batches()["codec"].to_pylist()) == {codec}
    found = rows(logs, "partition", "offset", "key", "value", "timestamp")
    assert sorted(int(row[2]) for row in found) == list(range(5000))
    for partition, _, key, value, timestamp in found:
        assert partition == (murmur2(key) & 0x7FFFFFFF) % 3
        assert value == b"value " + key
        assert timestamp.timestamp() * 1000 == 1_700_000_000_000 + int(key)
    for partition in logs.values():
        offsets = [row[1] for row in found if row[0] == partition.partition]
        assert offsets == list(range(partition.log_end_offset))


def test_what_was_read_can_be_written_again_with_its_offsets(spark: Any, tmp_path: Path) -> None:
    table = spark.createDataFrame(
        [
            ("a", 0, 5, None, b"", [("h", b"1"), ("h", None)]),
            ("a", 0, 9, b"", None, None),
            ("b", 7, 2**40, b"k", b"v", []),
        ],
        "topic string, partition int, offset bigint, key binary, value binary,"
        " headers array<struct<key: string, value: binary>>",
    ).withColumn("timestamp", F.timestamp_millis(F.lit(12)))
    logs = save(table.coalesce(1), tmp_path / "new", keepOffsets="true")
    again = (
        spark.read.format("kafka-log").option("includeHeaders", "true").load(str(tmp_path / "new"))
    )
    copy = save(again, tmp_path / "copy", keepOffsets="true")
    columns = ("topic", "partition", "offset", "key", "value", "headers", "timestamp")
    assert rows(copy, *columns) == rows(logs, *columns)
    plain = [row[:5] for row in rows(logs, *columns)]
    assert plain == [
        ("a", 0, 5, None, b""),
        ("a", 0, 9, b"", None),
        ("b", 7, 2**40, b"k", b"v"),
    ]
    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert [row[5] for row in rows(logs, *columns)] == [headers, [], []]
    assert logs["a-0"].log_start_offset == 5


def test_appending_goes_on_where_the_log_ends(spark: Any, tmp_path: Path) -> None:
    save(numbers(spark, 100), tmp_path, topic="numbers")
    logs = save(numbers(spark, 50), tmp_path, topic="numbers")
    assert [row[0] for row in rows(logs, "offset")] == list(range(150))


def test_overwriting_replaces_the_topic_and_no_other(spark: Any, tmp_path: Path) -> None:
    save(numbers(spark, 100), tmp_path, topic="other")
    save(numbers(spark, 100), tmp_path, topic="numbers", numPartitions=4)
    logs = save(numbers(spark, 10), tmp_path, "overwrite", topic="numbers", numPartitions=2)
    assert sorted(logs) == ["numbers-0", "numbers-1", "other-0"]
    assert sum(p.log_end_offset for p in logs.values()) == 110
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(logs)


def test_a_task_that_fails_once_writes_nothing_twice(spark: Any, tmp_path: Path) -> None:
    once = tmp_path / "failed"

    def fails_once(key: str) -> str:
        if key == "70" and not once.exists():
            once.touch()
            raise OSError("a disk that comes back")
        return key

    frame = numbers(spark, 100).withColumn(
        "key", F.udf(fails_once, "string", useArrow=False)("key")
    )
    logs = save(frame, tmp_path / "new", topic="numbers")
    assert once.exists()
    assert sorted(int(row[0]) for row in rows(logs, "key")) == list(range(100))


def test_a_job_that_fails_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    frame = numbers(spark, 100).withColumn("partition", F.lit(-3))
    with pytest.raises(Exception, match="-3 is not a partition"):
        save(frame, tmp_path / "new", topic="numbers")
    assert list((tmp_path / "new").iterdir()) == []


def test_a_task_that_runs_on_when_its_job_has_failed_leaves_nothing(
    spark: Any, tmp_path: Path
) -> None:
    """Spark does not wait for it before it lets the driver remove what was written."""
    options = {"path": str(tmp_path / "new"), "topic": "numbers"}
    schema = StructType([StructField("value", BinaryType())])
    writer = KafkaLogWriter(parse_write_options(options, schema), overwrite=False)
    writer.abort([])
    with pytest.raises(Exception, match="FileNotFoundError"):
        spark.sparkContext.parallelize([0], 1).map(lambda _: writer.write(iter([]))).collect()
    assert list((tmp_path / "new").iterdir()) == []


def test_offsets_that_would_come_twice_are_refused(spark: Any, tmp_path: Path) -> None:
    frame = numbers(spark, 10, tasks=1).withColumn("offset", F.lit(3).cast("long") + F.col("key"))
    save(frame, tmp_path, topic="numbers", keepOffsets="true")
    with pytest.raises(Exception, match="offset 3 of numbers-0 is written twice, or exists"):
        save(frame, tmp_path, topic="numbers", keepOffsets="true")
    assert wb.open_log_directory(tmp_path).scan().count() == 10


def test_what_cannot_be_a_record_is_told_before_anything_runs(spark: Any, tmp_path: Path) -> None:
    for options, words in (
        ({}, "no column topic to write"),
        ({"topic": "a b"}, "topic 'a b'"),
        (
            {"topic": "t", "kafka__compression__type": "brotli"},
            "kafka.compression.type is 'brotli'",
        ),
        ({"topic": "t", "partitions": "3"}, "unknown option 'partitions'"),
        ({"topic": "t", "keepOffsets": "true"}, "no column offset"),
    ):
        with pytest.raises(Exception, match=words):
            save(numbers(spark, 1), tmp_path, **options)
    with pytest.raises(Exception, match="column value is bigint, not binary or string"):
        save(spark.range(1).withColumnRenamed("id", "value"), tmp_path, topic="t")

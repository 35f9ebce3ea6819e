"""Streams: micro-batches without loss or repeat, over logs that grow, are cut, or lose segments."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import DataSourceStreamReader

import workbench as wb
from tests.spark.tasks import rows
from tests.values.avro_values import written
from tests.waiting import wait_until
from workbench.errors import OffsetOutOfRangeError
from workbench.loaders.scan.scan import Scan
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import DataLossWarning
from workbench.spark_source.streaming import KafkaLogStreamReader, limited

pytestmark = pytest.mark.spark


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "email", "type": ["null", "string"]}],
}


def append(logs: Path, count: int, topic: str = "orders", partition: int = 0) -> None:
    with wb.LogManager([logs]) as manager:
        log = manager.get_or_create_log(topic, partition)
        for _ in range(0, count, 10):
            log.append([(b"key", b"value")] * min(count, 10))


def reader_of(logs: Path, **options: object) -> KafkaLogStreamReader:
    given = {"path": str(logs), **{name: str(value) for name, value in options.items()}}
    parsed = parse_options(given, streaming=True)
    return KafkaLogStreamReader(parsed, parsed.columns)


def read(reader: KafkaLogStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
    """Return topic, partition and offset of what a micro-batch reads."""
    found = [
        tuple(row.values())
        for task in reader.partitions(start, end)
        for batch in reader.read(task)
        for row in batch.select(["topic", "partition", "offset"]).to_pylist()
    ]
    return sorted(found)


def test_a_stream_starts_at_the_latest_offset_unless_it_is_told_where(tmp_path: Path) -> None:
    append(tmp_path, 30)
    assert reader_of(tmp_path).initialOffset() == {"orders": {"0": 30}}
    assert reader_of(tmp_path, startingOffsets="earliest").initialOffset() == {"orders": {"0": 0}}
    told = reader_of(tmp_path, startingOffsets='{"orders":{"0":12}}')
    assert told.initialOffset() == {"orders": {"0": 12}}


def test_a_micro_batch_takes_what_is_new_and_new_partitions_from_their_start(
    tmp_path: Path,
) -> None:
    append(tmp_path, 20)
    reader = reader_of(tmp_path)
    start = reader.initialOffset()
    append(tmp_path, 10)
    append(tmp_path, 20, partition=1)
    end = reader.latestOffset(start)
    assert end == {"orders": {"0": 30, "1": 20}}
    expected = [("orders", 0, at) for at in range(20, 30)] + [("orders", 1, at) for at in range(20)]
    assert read(reader, start, end) == expected
    assert reader.latestOffset(end) == end
    assert read(reader, end, end) == []


def test_a_batch_that_is_not_finished_is_not_read_yet(tmp_path: Path) -> None:
    append(tmp_path, 20)
    (segment,) = (tmp_path / "orders-0").glob("*.log")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-7])
    reader = reader_of(tmp_path, startingOffsets="earliest")
    start = reader.initialOffset()
    end = reader.latestOffset(start)
    assert end == {"orders": {"0": 10}}
    assert len(read(reader, start, end)) == 10
    segment.write_bytes(whole)
    assert len(read(reader, end, reader.latestOffset(end))) == 10


def test_what_available_now_means_is_fixed_at_the_start(tmp_path: Path) -> None:
    append(tmp_path, 20)
    reader = reader_of(tmp_path, startingOffsets="earliest")
    reader.prepareForTriggerAvailableNow()
    append(tmp_path, 20)
    assert reader.latestOffset(reader.initialOffset()) == {"orders": {"0": 20}}
    assert reader.reportLatestOffset() == {"orders": {"0": 40}}


def test_a_micro_batch_waits_until_there_is_enough_or_it_waited_long(tmp_path: Path) -> None:
    append(tmp_path, 20)
    limits = {"startingOffsets": "earliest", "minOffsetsPerTrigger": 20}
    reader = reader_of(tmp_path, **limits)
    end = reader.latestOffset(reader.initialOffset())
    assert end == {"orders": {"0": 20}}
    append(tmp_path, 10)
    assert reader.latestOffset(end) == end
    append(tmp_path, 10, partition=1)
    assert reader.latestOffset(end) == {"orders": {"0": 30, "1": 10}}

    hurried = reader_of(tmp_path, **limits, maxTriggerDelay="1ms")
    assert hurried.latestOffset(end) == {"orders": {"0": 30, "1": 10}}  # the first never waits
    append(tmp_path, 10)
    wait_until(lambda: hurried.latestOffset(end) == {"orders": {"0": 40, "1": 10}})

    available = reader_of(tmp_path, **limits)
    available.prepareForTriggerAvailableNow()
    start = available.latestOffset({"orders": {"0": 0}})
    assert start == {"orders": {"0": 40, "1": 10}}
    assert available.latestOffset({"orders": {"0": 35, "1": 10}}) == start


def test_segments_that_went_away_end_the_query_or_are_left_out(tmp_path: Path) -> None:
    with wb.LogManager([tmp_path]) as manager:
        log = manager.get_or_create_log("orders", 0)
        for at in range(4):
            if at == 2:
                log.roll()
            log.append([(b"key", b"value")] * 10)
    for file in (tmp_path / "orders-0").glob(f"{0:020d}.*"):
        file.unlink()
    start, end = {"orders": {"0": 5}}, {"orders": {"0": 40}}
    with pytest.raises(OffsetOutOfRangeError, match="offset 5"):
        reader_of(tmp_path).partitions(start, end)
    with pytest.warns(DataLossWarning):
        found = read(reader_of(tmp_path, failOnDataLoss="false"), start, end)
    assert found == [("orders", 0, at) for at in range(20, 40)]


def test_a_log_that_was_cut_ends_the_query_or_keeps_its_place(tmp_path: Path) -> None:
    append(tmp_path, 20)
    start = {"orders": {"0": 30}}
    with pytest.raises(OffsetOutOfRangeError, match="offset 30"):
        reader_of(tmp_path).latestOffset(start)
    with pytest.warns(DataLossWarning):
        assert reader_of(tmp_path, failOnDataLoss="false").latestOffset(start) == start


def test_a_limit_is_shared_by_what_each_partition_has_left() -> None:
    starts, ends = {"a-0": 0, "b-0": 100, "c-0": 7}, {"a-0": 900, "b-0": 200, "c-0": 7}
    assert limited(starts, ends, 1000) == ends
    assert limited(starts, ends, 100) == {"a-0": 90, "b-0": 110, "c-0": 7}
    assert sum(limited(starts, ends, 1).values()) == sum(starts.values()) + 1


def test_a_stream_goes_on_where_its_checkpoint_ends(spark: Any, tmp_path: Path) -> None:
    logs, target = tmp_path / "logs", str(tmp_path / "out")
    logs.mkdir()
    append(logs, 250)
    append(logs, 30, partition=1)

    def run() -> int:
        """Read all there is; return the number of micro-batches that had records."""
        query = (
            spark.readStream.format("kafka-log")
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", "100")
            .load(str(logs))
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{target}-checkpoint")
            .trigger(availableNow=True)
            .start(target)
        )
        assert query.awaitTermination(200)
        return sum(1 for progress in query.recentProgress if progress["numInputRows"])

    knows_limits = hasattr(DataSourceStreamReader, "getDefaultReadLimit")  # since Spark 4.2
    assert run() == (3 if knows_limits else 1)
    append(logs, 20)
    assert run() == 1
    expected = Scan(wb.open_log_directory(logs).listing).to_arrow()
    assert rows(spark.read.parquet(target).toArrow()) == rows(expected)


def append_orders(logs: Path, numbers: range) -> None:
    """Append records in Avro; before the first, the schema to the topic of its registry."""
    with wb.LogManager([logs]) as manager:
        if not numbers.start:
            key = b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}'
            schema = {"subject": "orders-value", "version": 1, "id": 4, "schema": json.dumps(ORDER)}
            manager.get_or_create_log("_schemas", 0).append([(key, json.dumps(schema).encode())])
        log = manager.get_or_create_log("orders", 0)
        for number in numbers:
            value = {"id": number, "email": f"u{number}@example.org"}
            data = b"bad" if number % 5 == 4 else b"\0\0\0\0\x04" + written(ORDER, value)
            log.append([(b"k%d" % number, data)])


def test_a_stream_decodes_and_masks_what_a_batch_query_does(spark: Any, tmp_path: Path) -> None:
    logs, target = tmp_path / "logs", str(tmp_path / "out")
    logs.mkdir()
    append_orders(logs, range(7))
    options = {
        "subscribe": "orders",
        "decode": '{"key": "utf8", "value": "avro"}',
        "mask": "orders value.email hash; orders key first 1",
        "maskSecret": "k",
    }

    def run() -> None:
        query = (
            spark.readStream.format("kafka-log")
            .options(**options, startingOffsets="earliest", maxOffsetsPerTrigger="4")
            .load(str(logs))
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{target}-checkpoint")
            .trigger(availableNow=True)
            .start(target)
        )
        assert query.awaitTermination(200)

    run()
    append_orders(logs, range(7, 12))
    run()
    streamed = spark.read.parquet(target)
    batch = spark.read.format("kafka-log").options(**options).load(str(logs))
    assert streamed.schema["value"].dataType == batch.schema["value"].dataType
    found = rows(streamed.toArrow(), "key", "value")
    assert found == rows(batch.toArrow(), "key", "value")
    assert [row["value"] and row["value"]["id"] for row in found] == [
        None if at % 5 == 4 else at for at in range(12)
    ]
    assert {row["key"] for row in found} == {"k"}

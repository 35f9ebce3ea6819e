"""Streams: micro-batches without loss or repeat, over logs that grow, are cut, or lose segments."""

import json
import pickle
import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.datasource import DataSourceStreamReader

import workbench as wb
from tests.at_open import AT_OPEN
from tests.spark.tasks import rows
from tests.values.avro_values import written
from tests.waiting import wait_until
from workbench.errors import InconsistentTopicIdError, LogDirectoryError, OffsetOutOfRangeError
from workbench.loaders.scan.scan import Scan
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.offsets import TOPIC_IDS, StreamPosition
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


def offsets(position: dict[str, Any]) -> dict[str, Any]:
    """Return what an offset of the stream has besides topic ids."""
    return {name: each for name, each in position.items() if name != TOPIC_IDS}


def made_again(logs: Path, count: int) -> tuple[str, str]:
    """Delete topic "orders" and make it again; return its id before and after."""
    metadata = logs / "orders-0" / "partition.metadata"
    before = metadata.read_text().split()[-1]
    shutil.rmtree(metadata.parent)
    append(logs, count)
    return before, metadata.read_text().split()[-1]


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
    assert offsets(reader_of(tmp_path).initialOffset()) == {"orders": {"0": 30}}
    earliest = reader_of(tmp_path, startingOffsets="earliest")
    assert offsets(earliest.initialOffset()) == {"orders": {"0": 0}}
    told = reader_of(tmp_path, startingOffsets='{"orders":{"0":12}}')
    assert offsets(told.initialOffset()) == {"orders": {"0": 12}}


def test_a_micro_batch_takes_what_is_new_and_new_partitions_from_their_start(
    tmp_path: Path,
) -> None:
    append(tmp_path, 20)
    reader = reader_of(tmp_path)
    start = reader.initialOffset()
    append(tmp_path, 10)
    append(tmp_path, 20, partition=1)
    end = reader.latestOffset(start)
    assert offsets(end) == {"orders": {"0": 30, "1": 20}}
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
    assert offsets(end) == {"orders": {"0": 10}}
    assert len(read(reader, start, end)) == 10
    segment.write_bytes(whole)
    assert len(read(reader, end, reader.latestOffset(end))) == 10


def test_what_available_now_means_is_fixed_at_the_start(tmp_path: Path) -> None:
    append(tmp_path, 20)
    reader = reader_of(tmp_path, startingOffsets="earliest")
    reader.prepareForTriggerAvailableNow()
    append(tmp_path, 20)
    assert offsets(reader.latestOffset(reader.initialOffset())) == {"orders": {"0": 20}}
    assert offsets(reader.reportLatestOffset()) == {"orders": {"0": 40}}


def test_a_micro_batch_waits_until_there_is_enough_or_it_waited_long(tmp_path: Path) -> None:
    append(tmp_path, 20)
    limits = {"startingOffsets": "earliest", "minOffsetsPerTrigger": 20}
    reader = reader_of(tmp_path, **limits)
    end = reader.latestOffset(reader.initialOffset())
    assert offsets(end) == {"orders": {"0": 20}}
    append(tmp_path, 10)
    assert reader.latestOffset(end) == end
    append(tmp_path, 10, partition=1)
    assert offsets(reader.latestOffset(end)) == {"orders": {"0": 30, "1": 10}}

    hurried = reader_of(tmp_path, **limits, maxTriggerDelay="1ms")
    first = hurried.latestOffset(end)  # which never waits
    assert offsets(first) == {"orders": {"0": 30, "1": 10}}
    append(tmp_path, 10)
    wait_until(lambda: offsets(hurried.latestOffset(end)) == {"orders": {"0": 40, "1": 10}})

    available = reader_of(tmp_path, **limits)
    available.prepareForTriggerAvailableNow()
    start = available.latestOffset({"orders": {"0": 0}})
    assert offsets(start) == {"orders": {"0": 40, "1": 10}}
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
        later = reader_of(tmp_path, failOnDataLoss="false").latestOffset(start)
    assert offsets(later) == start


def test_a_topic_that_was_made_again_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    append(tmp_path, 30)
    strict, lenient = reader_of(tmp_path), reader_of(tmp_path, failOnDataLoss="false")
    end = strict.initialOffset()
    before, now = made_again(tmp_path, 40)
    words = f"orders-0: the topic was deleted .* its id is {now}, and {before} of what"
    for ask in (lambda: strict.latestOffset(end), lambda: strict.partitions(end, end)):
        with pytest.raises(InconsistentTopicIdError, match=words):
            ask()
    with pytest.warns(DataLossWarning, match=words):
        later = lenient.latestOffset(end)
    assert offsets(later) == {"orders": {"0": 40}}
    with warnings.catch_warnings(action="ignore", category=DataLossWarning):
        some = lenient.latestOffset(end, SimpleNamespace(max_rows=15))
        assert read(lenient, end, some) == [("orders", 0, at) for at in range(15)]
        assert read(lenient, end, later) == [("orders", 0, at) for at in range(40)]
    assert strict.latestOffset(later) == later
    assert read(strict, some, later) == [("orders", 0, at) for at in range(15, 40)]
    without_ids = {"orders": {"0": 30}}  # as checkpoints of before have it
    assert read(strict, without_ids, later) == [("orders", 0, at) for at in range(30, 40)]


def test_a_topic_that_is_made_again_after_a_micro_batch_was_planned_is_read_by_the_next(
    tmp_path: Path,
) -> None:
    append(tmp_path, 30)
    reader = reader_of(tmp_path, startingOffsets="earliest", failOnDataLoss="false")
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    end = reader.latestOffset(start)
    made_again(tmp_path, 20)
    with warnings.catch_warnings(action="ignore", category=DataLossWarning):
        assert read(reader, start, end) == []
        later = reader.latestOffset(end)
        assert read(reader, end, later) == [("orders", 0, at) for at in range(20)]
    assert reader.latestOffset(later) == later


@pytest.mark.parametrize("count", [20, 40])
def test_an_offset_never_has_the_id_of_a_topic_that_is_made_again_meanwhile(
    tmp_path: Path, count: int
) -> None:
    append(tmp_path, 10)
    ids: list[str] = []
    found: list[dict[str, Any]] = []

    def is_made_again_at(opening: int, ask: Callable[[], dict[str, Any]]) -> bool:
        """Make the topic again at the opening of a file, and check the answer."""
        found.clear()
        is_done = AT_OPEN.run(
            tmp_path,
            opening,
            lambda: ids.append(made_again(tmp_path, count)[1]),
            lambda: found.append(ask()),
        )
        if is_done:
            assert StreamPosition.parse(found[0]) == ({"orders-0": count}, {"orders-0": ids[-1]})
        return is_done

    opening = 0
    while True:
        made_again(tmp_path, 30)  # nobody has looked at these files
        reader = reader_of(tmp_path)
        if not is_made_again_at(opening, reader.initialOffset):
            break
        opening += 1
    assert opening >= 2  # the records and the id

    strict, lenient = reader_of(tmp_path), reader_of(tmp_path, failOnDataLoss="false")
    opening = 0
    while True:
        end = strict.reportLatestOffset()
        with warnings.catch_warnings(action="ignore", category=DataLossWarning):
            if not is_made_again_at(opening, lambda: lenient.latestOffset(end)):  # noqa: B023
                break
            assert read(lenient, end, found[0]) == [("orders", 0, at) for at in range(count)]
        with pytest.raises(InconsistentTopicIdError, match="was deleted and made again"):
            strict.latestOffset(end)
        opening += 1
    assert opening >= 1


def test_a_task_does_not_go_on_in_a_topic_that_was_made_again(tmp_path: Path) -> None:
    append(tmp_path, 30)
    readers = reader_of(tmp_path), reader_of(tmp_path, failOnDataLoss="false")
    start = {"orders": {"0": 0}}
    planned = [each.partitions(start, each.latestOffset(start)) for each in readers]
    tasks = pickle.loads(pickle.dumps(planned))  # as they come to an executor  # noqa: S301
    made_again(tmp_path, 40)
    words = "was deleted with its topic, which was made again"
    with pytest.raises(LogDirectoryError, match=words):
        list(readers[0].read(tasks[0][0]))
    with pytest.warns(DataLossWarning, match=words):
        assert list(readers[1].read(tasks[1][0])) == []


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


def test_a_query_ends_where_its_topic_was_made_again_unless_it_is_told_to_go_on(
    spark: Any, tmp_path: Path
) -> None:
    logs, target = tmp_path / "logs", str(tmp_path / "out")
    logs.mkdir()

    def run(**options: str) -> None:
        stream = spark.readStream.format("kafka-log").option("startingOffsets", "earliest")
        query = (
            stream.options(**options).load(str(logs)).writeStream.format("parquet")
            .option("checkpointLocation", f"{target}-checkpoint")
            .trigger(availableNow=True).start(target)
        )  # fmt: skip
        assert query.awaitTermination(200)

    append(logs, 30)
    run()
    before, now = made_again(logs, 40)
    with pytest.raises(Exception, match=f"its id is {now}, and {before} of what"):
        run()
    run(failOnDataLoss="false")
    append(logs, 10)
    run()
    found = Counter(row["offset"] for row in spark.read.parquet(target).collect())
    assert found == Counter([*range(30), *range(50)])


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

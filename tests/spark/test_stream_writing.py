"""A stream written as logs: each micro-batch once, also when one is repeated or was cut short."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import datasource
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

import workbench as wb
from tests.kafka_broker import dump_log_segments
from workbench.log_directory import LogDirectory
from workbench.spark_source.source import KafkaLogSource
from workbench.spark_source.stream_writing import Epoch

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        not hasattr(datasource, "DataSourceStreamArrowWriter"), reason="Spark 4.0 gives rows alone"
    ),
]


class Copy:
    """A query that copies a topic to a directory of its own, with a checkpoint."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.logs = folder / "logs"
        self.path = folder / "copy"
        self.checkpoint = folder / "checkpoint"
        self.appended = 0
        self.value = b"v%d"
        self.logs.mkdir()

    def append(self, count: int) -> None:
        """Append records to what is copied; each has another value."""
        numbers = range(self.appended, self.appended + count)
        with wb.LogManager([self.logs]) as manager:
            for number in numbers:
                log = manager.get_or_create_log("orders", number % 2)
                value = self.value % number
                log.append([(1_700_000_000_000 + number, b"k%d" % number, value)])
        self.appended += count

    def run(self, **options: object) -> None:
        """Copy all there is, as one epoch."""
        reader = self.spark.readStream.format("kafka-log").option("startingOffsets", "earliest")
        given = {"topic": "copied", "numPartitions": 3, "kafka.compression.type": "lz4", **options}
        writer = (
            reader.load(str(self.logs)).select("key", "value", "timestamp").writeStream
            .format("kafka-log").options(**given).option("path", str(self.path))
            .option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        )  # fmt: skip
        assert writer.start().awaitTermination(300)

    def forget(self) -> int:
        """Let Spark not know that the last epoch was committed, and return its number."""
        last = max(int(path.name) for path in (self.checkpoint / "commits").glob("[0-9]*"))
        for path in (self.checkpoint / "commits").glob(f"*{last}*"):
            path.unlink()
        return last

    def opened(self) -> LogDirectory:
        """Open the copy, which must have each record once and nothing else."""
        logs = wb.open_log_directory(self.path)
        found = logs.scan(columns=["key", "value", "timestamp"]).to_arrow().to_pylist()
        wanted = Counter((b"k%d" % at, self.value % at) for at in range(self.appended))
        assert Counter((row["key"], row["value"]) for row in found) == wanted
        for row in found:
            assert row["timestamp"].timestamp() * 1000 == 1_700_000_000_000 + int(row["key"][1:])
        assert logs.verify() == []
        assert {path.name for path in self.path.iterdir() if path.is_dir()} == set(logs)
        return logs

    @property
    def epoch_file(self) -> Path:
        (file,) = self.path.glob("spark-*.epoch")
        return file


@pytest.fixture
def copy(spark: Any, tmp_path: Path) -> Copy:
    made = Copy(spark, tmp_path)
    made.append(300)
    made.run()
    made.append(40)
    made.run()
    return made


def test_epochs_are_appended_to_the_segments_that_are_there(copy: Copy) -> None:
    logs = copy.opened()
    assert sorted(logs) == ["copied-0", "copied-1", "copied-2"]
    for partition in logs.values():
        assert len(partition.segments) == 1
        assert partition.log_end_offset == partition.scan().count() > 0
    assert set(logs.inspect.batches()["codec"].to_pylist()) == {"lz4"}
    assert Epoch.read(str(copy.epoch_file)) is not None


@pytest.mark.parametrize(("size", "batches"), [(256, 250), (5_000_000, 5)])
def test_a_micro_batch_has_many_batches_of_a_partition_or_large_ones(
    spark: Any, tmp_path: Path, size: int, batches: int
) -> None:
    made = Copy(spark, tmp_path)
    made.value = b"%020000d"
    options = {"kafka.batch.size": size, "kafka.compression.type": "none", "numPartitions": 1}
    for count in 200, 50:
        made.append(count)
        made.run(**options)
    logs = made.opened()
    assert logs["copied-0"].log_end_offset == 250
    found = logs.inspect.batches().num_rows
    assert found == batches if size == 256 else found < batches


@pytest.mark.broker
def test_kafkas_tool_reads_what_was_written(copy: Copy) -> None:
    files = sorted(copy.path.glob("copied-*/*.log"))
    said = dump_log_segments("4.2.0", files)
    assert said.count("baseOffset:") == copy.opened().inspect.batches().num_rows
    assert said.count("isvalid: true") == said.count("baseOffset:")
    indexes = sorted(copy.path.glob("copied-*/*.*index"))
    assert "xception" not in dump_log_segments("4.2.0", indexes)


def test_an_epoch_that_is_repeated_is_not_written_twice(copy: Copy) -> None:
    copy.forget()
    before = copy.epoch_file.read_bytes()
    copy.run()
    copy.opened()
    assert copy.epoch_file.read_bytes() == before
    copy.append(20)
    copy.run()
    copy.opened()


def cut_short(copy: Copy) -> None:
    """Leave what a driver leaves that dies within the last commit."""
    number = copy.forget()
    epoch = json.loads(copy.epoch_file.read_text())
    assert epoch["number"] == number
    copy.epoch_file.write_text(json.dumps({**epoch, "is_complete": False}))
    (copy.path / ".kafka_cleanshutdown").unlink()
    for torn in copy.path.glob("copied-[01]/*.log"):
        os.truncate(torn, torn.stat().st_size - 7)
    staging = copy.path / f"kafka-log-0.{copy.epoch_file.stem.removeprefix('spark-')}-1-delete"
    (staging / "task-9" / "copied-0").mkdir(parents=True)


def test_what_there_is_of_an_epoch_that_was_cut_short_is_replaced(copy: Copy) -> None:
    cut_short(copy)
    copy.run()
    copy.opened()


def test_what_somebody_else_wrote_since_is_not_truncated(copy: Copy) -> None:
    cut_short(copy)
    with wb.LogManager([copy.path]) as manager:
        for number in range(3):
            manager.get_or_create_log("copied", number).append([(b"key", b"another")] * 50)
    with pytest.raises(Exception, match="somebody else has written since"):
        copy.run()
    found = wb.open_log_directory(copy.path).scan().to_arrow()["value"].to_pylist()
    assert found.count(b"another") == 150


def test_what_no_log_can_be_is_refused_before_anything_runs(tmp_path: Path) -> None:
    schema = StructType([StructField("value", BinaryType())])
    options = {"path": str(tmp_path / "copy"), "topic": "copied"}
    with pytest.raises(ValueError, match="a log only grows"):
        KafkaLogSource(options).streamWriter(schema, overwrite=True)
    schema = StructType([*schema, StructField("offset", LongType())])
    with pytest.raises(ValueError, match="keepOffsets is for a batch"):
        KafkaLogSource({**options, "keepOffsets": "true"}).streamWriter(schema, overwrite=False)
    assert not (tmp_path / "copy").exists()

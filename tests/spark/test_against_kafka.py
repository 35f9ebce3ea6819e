"""Spark's own Kafka source and ours give the same rows of the same topics.

A real broker serves what other brokers left in the golden cases: codecs, headers, transactions, one
of them open, compacted logs with gaps, times out of order.
"""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.golden.cases import open_case
from tests.kafka_broker import Broker
from tests.spark import connector

pytestmark = [
    pytest.mark.spark,
    pytest.mark.broker,
    pytest.mark.slow,
    pytest.mark.timeout(900),  # the first test waits for the broker and for Spark
]

CASES: Final = (
    ("4.2.0-plain-java", "data", {"java-none": 2, "java-gzip": 2, "java-lz4": 2, "java-snappy": 2,
                                  "java-zstd": 2, "java-mixed": 1}),
    ("4.2.0-txn", "data", {"txn-a": 3, "txn-b": 2, "txn-many": 1}),
    ("4.2.0-compact-basic", "after3", {"basic": 1, "basic-append-time": 1,
                                       "basic-within-batch": 1}),
    ("4.2.0-compact-txn", "after3", {"txn-open": 1}),
    ("4.2.0-plain-timestamps", "data", {"out-of-order": 1}),
)  # fmt: skip
SEGMENT_FILES: Final = ("*.log", "*.index", "*.timeindex", "*.txnindex", "*.snapshot")
TIMED: Final = "java-none,java-gzip,out-of-order,txn-a"

SAME_ROWS: Final[dict[str, dict[str, Any]]] = {
    "everything": {"subscribePattern": ".*", "includeHeaders": "true"},
    "committed": {
        "subscribePattern": ".*",
        "kafka.isolation.level": "read_committed",
        "includeHeaders": "true",
    },
    "a pattern is found anywhere": {"subscribePattern": "a-n|^asic|y$|txn-[m]"},
    "offsets of partitions": {
        "assign": {"txn-a": [0, 2], "java-none": [1], "basic": [0]},
        "startingOffsets": {"txn-a": {"0": 10, "2": -2}, "java-none": {"1": 82}, "basic": {"0": 7}},
        "endingOffsets": {"txn-a": {"0": 50, "2": -1}, "java-none": {"1": 83}, "basic": {"0": 333}},
    },
    "committed offsets of partitions": {
        "subscribe": "txn-b, txn-many",
        "kafka.isolation.level": "read_committed",
        "startingOffsets": {"txn-b": {"0": 20, "1": 3}, "txn-many": {"0": -2}},
        "endingOffsets": {"txn-b": {"0": 60, "1": -1}, "txn-many": {"0": 61}},
    },
    "one time for all": {
        "subscribe": TIMED,
        "startingTimestamp": 1700000001040,
        "endingTimestamp": 1700000001200,
        "startingOffsets": "earliest",
    },
    "times of partitions": {
        "subscribe": "java-none,txn-many",
        "startingOffsetsByTimestamp": {
            "java-none": {"0": 1700000001100, "1": 1700000001017},
            "txn-many": {"0": 1700000001150},
        },
        "endingOffsetsByTimestamp": {
            "java-none": {"0": 1700000002100, "1": 1999999999999},
            "txn-many": {"0": 1700000001300},
        },
    },
    "a time that no record reaches": {
        "subscribe": TIMED,
        "startingTimestamp": 1700000001321,
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "small tasks": {"subscribePattern": "java-.*", "minPartitions": 30},
    "few records a task": {"subscribe": "txn-a,basic,java-lz4", "maxRecordsPerPartition": 9},
}

REFUSED: Final[dict[str, dict[str, Any]]] = {
    "a start behind the end": {
        "assign": {"java-none": [0], "java-gzip": [0]},
        "startingOffsets": {"java-none": {"0": 70}, "java-gzip": {"0": 5}},
        "endingOffsets": {"java-none": {"0": 20}, "java-gzip": {"0": 6}},
    },
    "not every partition": {
        "subscribe": "java-none",
        "startingOffsets": {"java-none": {"0": 3}},
    },
    "not every time": {
        "subscribe": "java-none",
        "startingOffsetsByTimestamp": {"java-none": {"0": 3}},
    },
    "no record reaches the time": {"subscribe": "java-none", "startingTimestamp": 1999999999999},
    "a topic that is not there": {"subscribe": "nothing-of-this-name"},
    "starts with the latest": {"subscribe": "java-none", "startingOffsets": "latest"},
    "ends with the earliest": {"subscribe": "java-none", "endingOffsets": "earliest"},
    "two strategies": {"subscribe": "java-none", "assign": {"java-none": [0]}},
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("broker")
    settings = {"log.cleaner.enable": "false", "log.retention.ms": "-1"}
    kept = Broker(connector.BROKER, folder / "broker", settings)
    with kept:
        asyncio.run(make_topics(kept.bootstrap))
    for case, label, some in CASES:
        data = open_case(case, folder).path / label
        for name, count in some.items():
            for number in range(count):
                put(data / f"{name}-{number}", kept.data / f"{name}-{number}")
    with kept:
        yield kept


async def make_topics(bootstrap: str) -> None:
    topics = {name: count for _, _, some in CASES for name, count in some.items()}
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()])
    await admin.close()


def put(segments: Path, folder: Path) -> None:
    """Replace the segments of a partition that is down."""
    for pattern in SEGMENT_FILES:
        for file in folder.glob(pattern):
            file.unlink()
        for file in segments.glob(pattern):
            shutil.copy2(file, folder)


def load(spark: Any, form: str, broker: Broker, options: dict[str, Any]) -> Any:
    """Return the rows that a source gives, in the order of their offsets."""
    reader = spark.read.format(form).option("kafka.bootstrap.servers", broker.bootstrap)
    reader = reader.option("kafkaConsumer.pollTimeoutMs", "30000")
    for name, value in options.items():
        reader = reader.option(name, json.dumps(value) if isinstance(value, dict) else str(value))
    frame = reader.load() if form == "kafka" else reader.load(str(broker.data))
    order = [(name, "ascending") for name in ("topic", "partition", "offset")]
    return frame.toArrow().sort_by(order)


@pytest.mark.parametrize("options", SAME_ROWS.values(), ids=SAME_ROWS)
def test_both_give_the_same_rows(spark: Any, broker: Broker, options: dict[str, Any]) -> None:
    theirs = load(spark, "kafka", broker, options)
    ours = load(spark, "kafka-log", broker, options)
    assert ours.schema == theirs.schema
    assert ours.to_pylist() == theirs.to_pylist()
    assert theirs.num_rows


@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED)
def test_both_refuse_the_same(spark: Any, broker: Broker, options: dict[str, Any]) -> None:
    for form in ("kafka", "kafka-log"):
        with pytest.raises(Exception, match=r"\w"):
            load(spark, form, broker, options)


def test_streams_give_the_same_rows(spark: Any, broker: Broker, tmp_path: Path) -> None:
    found = []
    for form in ("kafka", "kafka-log"):
        stream = (
            spark.readStream.format(form)
            .option("kafka.bootstrap.servers", broker.bootstrap)
            .option("subscribe", "txn-a,basic,java-zstd")
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", "300")
            .option("path", str(broker.data))
        )
        target = str(tmp_path / form)
        query = (
            stream.load()
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{target}-checkpoint")
            .trigger(availableNow=True)
            .start(target)
        )
        assert query.awaitTermination(120)
        assert len(query.recentProgress) > 1
        found.append(spark.read.parquet(target).orderBy("topic", "partition", "offset").toArrow())
    assert found[0].to_pylist() == found[1].to_pylist()
    assert found[0].num_rows

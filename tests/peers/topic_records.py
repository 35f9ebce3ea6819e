"""Records of the sample's topics: as a consumer of the directory gets them, and of a broker."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

import workbench
from tests.server.conftest import SHOP

TOPICS: Final = ("orders", "payments")


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def place(record: Record) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset


def placeless(record: Record) -> Record:
    """Return a record without its offset: no transaction marker and no aborted record is copied."""
    return record._replace(offset=0)


def stored_records() -> Iterator[Record]:
    logs = workbench.open_log_directory(SHOP)
    for topic in TOPICS:
        table = logs.scan(topics=topic, isolation_level="read_committed").to_arrow()
        times = table["timestamp"].cast("int64").to_pylist()
        for row, time in zip(table.to_pylist(), times, strict=True):
            headers = [(each["key"], each["value"]) for each in row["headers"] or ()]
            yield Record(
                topic, row["partition"], row["offset"], time, row["key"], row["value"], headers
            )


def partitions() -> list[TopicPartition]:
    logs = workbench.open_log_directory(SHOP)
    return [
        TopicPartition(name.rpartition("-")[0], int(name.rpartition("-")[2]), 0)
        for name in logs.partitions
        if name.rpartition("-")[0] in TOPICS
    ]


def consumer_of(where: str) -> Consumer:
    return Consumer({"bootstrap.servers": where, "group.id": "unused"})


def end_of(consumer: Consumer, partition: TopicPartition) -> int:
    """Return a partition's log end; 0 while its topic is made and no broker leads it yet."""
    try:
        return int(consumer.get_watermark_offsets(partition, timeout=180)[1])
    except KafkaException as error:
        if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
            raise
        return 0


def count_records(where: str) -> int:
    consumer = consumer_of(where)
    known = consumer.list_topics(timeout=180).topics
    found = sum(
        end_of(consumer, each)
        for each in partitions()
        if each.topic in known and each.partition in known[each.topic].partitions
    )
    consumer.close()
    return found


def consumed(where: str, count: int) -> Iterator[Record]:
    consumer = consumer_of(where)
    consumer.assign(partitions())
    for message in consumer.consume(count, timeout=180):
        assert message.error() is None
        headers: Any = message.headers() or []
        yield Record(
            message.topic() or "", message.partition() or 0, message.offset() or 0,
            message.timestamp()[1], message.key(), message.value(), headers,
        )  # fmt: skip
    consumer.close()

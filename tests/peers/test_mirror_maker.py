"""MirrorMaker 2 copies topics and groups of a directory that no broker opens into a broker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

import workbench
from tests.kafka_broker import Broker
from tests.peers.java_peers import VERSION, JavaProcess, write_properties
from tests.server.conftest import SHOP
from tests.trees import snapshot

pytestmark = [pytest.mark.broker, pytest.mark.slow]

TOPICS: Final = ("orders", "payments")
SETTINGS: Final = {
    "disk->broker.enabled": "true",
    "disk->broker.topics": ",".join(TOPICS),
    "disk.consumer.isolation.level": "read_committed",
    "broker->disk.enabled": "false",
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "offset-syncs.topic.location": "target",  # nothing can be written to the source
    "emit.heartbeats.enabled": "false",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "sync.topic.acls.enabled": "false",
    "replication.factor": "1",
    **{
        f"{name}.replication.factor": "1"
        for name in ("checkpoints.topic", "offset-syncs.topic", "config.storage", "offset.storage",
                     "status.storage")
    },
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
}  # fmt: skip


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def test_records_and_groups_of_a_directory_are_in_the_broker_afterwards(tmp_path: Path) -> None:
    before = snapshot(SHOP)
    committed = sorted(stored_records(), key=place)
    offsets = workbench.open_log_directory(SHOP).inspect.group_offsets().to_pylist()
    groups = {each["group"] for each in offsets if each["topic"] in TOPICS}
    assert groups
    with (
        workbench.serve(SHOP) as server,
        Broker(VERSION, tmp_path / "broker", {"log.retention.ms": "-1"}) as broker,
    ):
        addresses = {
            "clusters": "disk,broker",
            "disk.bootstrap.servers": server.bootstrap_servers,
            "broker.bootstrap.servers": broker.bootstrap,
        }
        file = write_properties(tmp_path / "mirror.properties", {**addresses, **SETTINGS})
        main_class = "org.apache.kafka.connect.mirror.MirrorMaker"
        log = tmp_path / "mirror.log"
        with JavaProcess(main_class, file, "--clusters", "broker", log=log) as mirror:
            mirror.wait_until(
                lambda: (
                    count_records(broker.bootstrap) >= len(committed)
                    and group_ids(broker.bootstrap) >= groups
                )
            )
        found = sorted(consumed(broker.bootstrap, len(committed)), key=place)
    of_orders = [each for each in committed if each.topic == "orders"]
    assert [each for each in found if each.topic == "orders"] == of_orders
    assert [placeless(each) for each in found] == [placeless(each) for each in committed]
    assert any(each.headers for each in committed)
    assert snapshot(SHOP) == before


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


def count_records(where: str) -> int:
    consumer = consumer_of(where)
    known = consumer.list_topics(timeout=30).topics
    found = sum(
        consumer.get_watermark_offsets(each, timeout=30)[1]
        for each in partitions()
        if each.topic in known and each.partition in known[each.topic].partitions
    )
    consumer.close()
    return found


def group_ids(where: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": where})  # must live until the answer is there
    listed = admin.list_consumer_groups().result(30)
    return {each.group_id for each in listed.valid}


def consumed(where: str, count: int) -> Iterator[Record]:
    consumer = consumer_of(where)
    consumer.assign(partitions())
    for message in consumer.consume(count, timeout=60):
        assert message.error() is None
        headers: Any = message.headers() or []
        yield Record(
            message.topic() or "", message.partition() or 0, message.offset() or 0,
            message.timestamp()[1], message.key(), message.value(), headers,
        )  # fmt: skip
    consumer.close()

"""Directories that real brokers fill, and what a start leaves: to compare with a preflight."""

import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.kafka_broker import Broker, parse_version
from tests.waiting import HANGS_AFTER_S
from workbench.files.names import parse_directory_name
from workbench.foresight.preflight.results import Preflight

LONG_AGO: Final = 1_577_836_800_000  # ms; 2020
FAR_AHEAD: Final = 4_102_444_800_000  # ms; 2100
DAY: Final = 86_400_000
RECORDS: Final = 60  # of each topic
SETTINGS: Final = {
    "log.initial.task.delay.ms": "2000",
    "log.retention.check.interval.ms": "2000",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.index.size.max.bytes": "65536",
    "log.message.timestamp.before.max.ms": "9223372036854775807",
    "log.message.timestamp.after.max.ms": "9223372036854775807",
    "offsets.topic.num.partitions": "1",
}
"""Two minutes after a start, in seconds: what is periodic comes soon."""

_SETTLES_S: Final = 60
_QUIET: Final = {"log.initial.task.delay.ms": "3600000", "log.cleaner.backoff.ms": "3600000"}
_PLAIN: Final = {"retention.ms": "-1"}
_COMPACT: Final = {
    "cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01",
}  # fmt: skip
TOPICS: Final[Mapping[str, Mapping[str, str]]] = {
    "keep": _PLAIN,
    "old": {"retention.ms": str(DAY)},
    "ahead": {"retention.ms": str(DAY)},
    "sized": _PLAIN | {"retention.bytes": "2000", "segment.ms": "1000"},
    "cut": _PLAIN,
    "compacted": _COMPACT,
    "lagging": _COMPACT | {"min.cleanable.dirty.ratio": "1.0", "max.compaction.lag.ms": "1000"},
    "waiting": _COMPACT | {"min.cleanable.dirty.ratio": "1.0"},
}
_LAGGING_SINCE: Final = (2, 3)
COMMITS: Final = {
    "keep": 59, "old": 30, "ahead": 60, "sized": 1, "cut": 10, "compacted": 500, "waiting": 3,
}  # fmt: skip


class Log(NamedTuple):
    """What a client finds of a partition: its ends, and how many records lie between them."""

    start: int
    end: int
    records: int | None


class Resting(NamedTuple):
    """Where a consumer of a group begins in a partition: its offset, or what is wrong with it."""

    offset: int | None
    state: str


def broker_of(version: str, folder: Path, settings: Mapping[str, str] | None = None) -> Broker:
    """Return a broker with two log directories, `d1` and `d2`."""
    dirs = {"log.dirs": f"{folder / 'd1'},{folder / 'd2'}"}
    return Broker(version, folder, SETTINGS | dirs | dict(settings or {}))


def fill(broker: Broker, *, is_killed: bool = False) -> dict[str, Log]:
    """Start a broker, write every topic, commit offsets; return what a client found, and stop."""
    settings = dict(broker.settings)
    broker.settings |= _QUIET
    with broker:
        produce(broker)
        found = left(broker)
        if is_killed:
            broker.kill()
    broker.settings = settings
    return found


def produce(broker: Broker) -> None:
    """Write every topic, delete records of `cut`, and commit offsets of group `g`."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topics = dict(TOPICS)
    if parse_version(broker.version) < _LAGGING_SINCE:
        del topics["lagging"]
    wanted = [NewTopic(name, 1, 1, config=dict(config)) for name, config in topics.items()]
    for made in admin.create_topics(wanted).values():
        made.result()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(RECORDS):
        for topic in topics:
            at = FAR_AHEAD if topic == "ahead" else LONG_AGO
            key, value = b"%d" % (number % 7), b"%060d" % number
            producer.produce(topic, value, key, timestamp=at + 10_000 * number)
        producer.flush(HANGS_AFTER_S)
    (deleted,) = admin.delete_records([TopicPartition("cut", 0, 25)]).values()
    deleted.result()
    commit(broker, "g", COMMITS)


def commit(broker: Broker, group: str, offsets: Mapping[str, int]) -> None:
    """Commit offsets of partition 0 of topics."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    wanted = [TopicPartition(topic, 0, offset) for topic, offset in offsets.items()]
    consumer.commit(offsets=wanted, asynchronous=False)
    consumer.close()


def copied(filled: Path, into: Path) -> Path:
    """Copy the log directories, and ZooKeeper's, of a broker that is down."""
    for name in ("d1", "d2", "zookeeper"):
        if (filled / name).exists():
            shutil.copytree(filled / name, into / name)
    return into


def served(broker: Broker) -> list[TopicPartition]:
    """Return the partitions that have a leader, without Kafka's own topics."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    metadata = admin.list_topics(timeout=HANGS_AFTER_S)
    return [
        TopicPartition(topic, number)
        for topic, found in sorted(metadata.topics.items())
        if not topic.startswith("__")
        for number, partition in sorted(found.partitions.items())
        if partition.leader >= 0
    ]


def left(broker: Broker) -> dict[str, Log]:
    """Return what a client finds: `topic-partition` → its log, of those that are served."""
    options = {
        "bootstrap.servers": broker.bootstrap, "group.id": "watching", "enable.partition.eof": True,
        "enable.auto.commit": False, "isolation.level": "read_uncommitted",
    }  # fmt: skip
    consumer = Consumer(options)
    try:
        ends = {}
        for each in served(broker):
            low, high = consumer.get_watermark_offsets(each, timeout=HANGS_AFTER_S)
            ends[f"{each.topic}-{each.partition}"] = low, high
        counts = dict.fromkeys(ends, 0)
        consumer.assign([_partition(name, low) for name, (low, _) in ends.items()])
        open_ = set(ends)
        while open_:
            message = consumer.poll(HANGS_AFTER_S)
            assert message is not None
            where = f"{message.topic()}-{message.partition()}"
            error = message.error()
            if error is None:
                counts[where] += 1
            else:
                assert error.name() == "_PARTITION_EOF", error
                open_.discard(where)
    finally:
        consumer.close()
    return {name: Log(low, high, counts[name]) for name, (low, high) in ends.items()}


def _partition(name: str, offset: int = OFFSET_INVALID) -> TopicPartition:
    found = parse_directory_name(name)
    assert found is not None
    return TopicPartition(found.topic, found.partition, offset)


def resting(broker: Broker, group: str, logs: Mapping[str, Log]) -> dict[str, Resting]:
    """Return where a group goes on, by the offsets that the broker has: `topic-partition` → it."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    wanted = ConsumerGroupTopicPartitions(group, [_partition(name) for name in logs])
    (answer,) = admin.list_consumer_group_offsets([wanted]).values()
    found = {}
    for each in answer.result().topic_partitions:
        name = f"{each.topic}-{each.partition}"
        log = logs[name]
        if each.offset == OFFSET_INVALID:
            found[name] = Resting(None, "none")
        elif each.offset > log.end:
            found[name] = Resting(each.offset, "beyond the end")
        elif each.offset < log.start:
            found[name] = Resting(each.offset, "below the start")
        else:
            found[name] = Resting(each.offset, "in the log")
    return found


def said(found: Preflight, before: Mapping[str, Log]) -> dict[str, Log]:
    """Return what a preflight says that clients will find.

    Args:
        found: the preflight.
        before: what they found before. How many records a log has is said of a log whose ends are
            the same after the start, and None of others.
    """
    metadata, minutes = found.prediction.metadata, found.first_minutes
    assert minutes is not None
    logs = {name: Log(0, 0, 0) for name in (() if metadata is None else metadata.created)}
    for row in found.prediction:
        folder = parse_directory_name(row.name)
        if folder is not None and row.is_emptied:
            logs[f"{folder.topic}-{folder.partition}"] = Log(0, 0, 0)
        is_served = row.verdict in {"loads", "recovers"} or row.becomes_log
        if folder is None or not is_served or row.unserved or folder.topic.startswith("__"):
            continue
        name = f"{folder.topic}-{folder.partition}"
        assert row.log_start_offset is not None
        assert row.log_end_offset is not None
        known = before.get(name)
        records = None
        if known is not None and known[:2] == (row.log_start_offset, row.log_end_offset):
            records = known.records
            if records is not None:  # those of segments that others replace
                records -= row.records_lost or 0
        logs[name] = Log(row.log_start_offset, row.log_end_offset, records)
    for each in minutes.passes:
        name = f"{each.topic}-{each.partition}"
        log = logs.get(name)
        if log is None:
            continue
        records = None if log.records is None else log.records - each.records
        logs[name] = Log(max(log.start, each.log_start_offset), log.end, records)
    for ended in minutes.transactions:
        for name in filter(logs.__contains__, ended.partitions):  # the cleaner may go on there
            logs[name] = logs[name]._replace(end=logs[name].end + 1, records=None)
    return {name: log for name, log in logs.items() if not name.startswith("__")}


def settled(
    broker: Broker, told: Mapping[str, Log], leaderless: Iterable[str] = ()
) -> dict[str, Log]:
    """Return what a broker left, once that is what was said, or after a minute.

    How many records a log has is None where that was not said.

    Args:
        broker: it runs.
        told: what was said.
        leaderless: partitions that may be without a leader; without one they are as was said.
    """
    absent = {name: told[name] for name in leaderless if name in told}
    deadline = time.monotonic() + _SETTLES_S
    while True:
        found = left(broker)
        found = absent | {
            name: log._replace(records=None) if _is_uncounted(told.get(name)) else log
            for name, log in found.items()
        }
        if found == told or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def _is_uncounted(log: Log | None) -> bool:
    return log is not None and log.records is None


def begins_at(broker: Broker, group: str, topic: str, reset: str) -> tuple[int, int]:
    """Return how many records a consumer of a group reads to the end, and where that is."""
    options = {
        "bootstrap.servers": broker.bootstrap, "group.id": group, "enable.partition.eof": True,
        "enable.auto.commit": False, "auto.offset.reset": reset,
    }  # fmt: skip
    consumer, count = Consumer(options), 0
    try:
        consumer.assign([TopicPartition(topic, 0)])
        while True:
            message = consumer.poll(HANGS_AFTER_S)
            assert message is not None
            if message.error() is not None:
                offset = message.offset()
                assert offset is not None
                return count, offset
            count += 1
    finally:
        consumer.close()

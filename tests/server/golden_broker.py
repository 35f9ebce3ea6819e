"""A real broker that has opened golden directories, and a copy of its directory for a server."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.golden.archive import extract
from tests.kafka_broker import Broker
from tests.server.asking import Asker
from tests.server.conftest import ARCHIVES
from workbench.config.internal_topics import INTERNAL_TOPICS, METADATA_LOG
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.records import group_metadata_record
from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import TYPES
from workbench.files import text
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.listing import list_log_directories
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import SystemClock
from workbench.server.broker.metadata_log import MetadataLog, MetadataRecord
from workbench.server.protocol.api_keys import METADATA

VERSION: Final = "4.2.0"
STOPPED: Final = "stopped"
MEMBER: Final = 5  # the type of a record: what a member's client says
LONGEST: Final = (1 << 31) - 1  # ms, of a session
SETTINGS: Final = {  # nothing is created, cleaned, expired or aborted, and no session ends
    "auto.create.topics.enable": "false",
    "group.consumer.max.session.timeout.ms": str(LONGEST),
    "group.consumer.session.timeout.ms": str(LONGEST),
    "group.share.max.session.timeout.ms": str(LONGEST),
    "group.share.session.timeout.ms": str(LONGEST),
    "log.cleaner.enable": "false",
    "log.index.size.max.bytes": "65536",
    "log.retention.ms": "-1",
    "offsets.retention.minutes": str(1 << 30),
    "offsets.topic.num.partitions": "2",
    "producer.id.expiration.ms": str(LONGEST),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(LONGEST),
    "transaction.state.log.num.partitions": "2",
    "transactional.id.expiration.ms": str(LONGEST),
}
OF_ITSELF: Final = {  # what `Broker` sets
    "advertised.listeners", "broker.id", "controller.listener.names", "controller.quorum.voters",
    "group.initial.rebalance.delay.ms", "listeners", "log.dirs", "node.id", "num.partitions",
    "offsets.topic.replication.factor", "process.roles",
    "share.coordinator.state.topic.min.isr", "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.min.isr", "transaction.state.log.replication.factor",
}  # fmt: skip
OF_FILE: Final = {  # what the broker's file sets, with the names that topics have for it
    *SETTINGS, *OF_ITSELF, "retention.ms", "segment.index.bytes", "consumer.session.timeout.ms",
    "share.session.timeout.ms",
}  # fmt: skip
EMPTIED: Final = "txn-control-only"  # whose first segment has no record left
CASES: Final = {  # archive → its directory, and the topics that are taken from it
    "4.2.0-txn": ("data", ("__transaction_state", "txn-")),
    "4.2.0-groups": ("before", ("__consumer_offsets", "g-one", "g-two", "g-regex")),
    "4.2.0-compact-txn": ("after3", ("",)),
    "4.2.0-plain-timestamps": ("data", ("",)),
    "4.2.0-idempotent": ("data", ("",)),
}
CONFIGS: Final = {"retention.ms": "-1", "segment.bytes": "1048576", "max.message.bytes": "500000"}


@contextmanager
def golden_broker(folder: Path) -> Iterator[tuple[Broker, Path]]:
    """Yield a broker that serves golden cases, and a copy of what it opens.

    The topics are made known to it by records in its metadata, as a controller would write them.
    Beside the copy is `STOPPED`, from before the broker's start.
    """
    broker = Broker(VERSION, folder / "broker", SETTINGS)
    with broker:
        pass
    names = _transplant(broker.data, folder)
    _let_no_session_end(broker.data)
    _tell_the_controller(broker.data, names)
    shutil.copytree(broker.data, folder / STOPPED)
    with broker:
        _wait_for_leaders(broker, len(names))
        copy = folder / "copy"  # with the leader epochs that begin with the start
        shutil.copytree(broker.data, copy, ignore=shutil.ignore_patterns(".lock"))
        yield broker, copy


def _wait_for_leaders(broker: Broker, count: int) -> None:
    """Wait until the broker leads every partition, and has noted its leader epoch."""
    deadline = time.monotonic() + 60
    with Asker(broker.bootstrap) as asker:
        while time.monotonic() < deadline:
            topics = asker.ask(METADATA, 12, {"topics": None})["topics"]
            epochs = {
                f"{topic['name']}-{each['partitionIndex']}": each["leaderEpoch"]
                for topic in topics
                for each in topic["partitions"]
                if each["leaderId"] == 1
            }
            if len(epochs) == count and all(
                _noted_epoch(broker.data / name) == epoch for name, epoch in epochs.items()
            ):
                return
            time.sleep(0.05)
    raise AssertionError("the broker does not lead every partition")


def _noted_epoch(folder: Path) -> int:
    lines = (folder / "leader-epoch-checkpoint").read_text().splitlines()
    return int(lines[-1].split()[0])


def _transplant(data: Path, folder: Path) -> list[str]:
    """Copy partitions into a log directory; return the names of the folders."""
    found = []
    for case, (inner, topics) in CASES.items():
        extract(ARCHIVES / f"{case}.tar.xz", folder / case)
        for partition in sorted((folder / case / inner).iterdir()):
            is_wanted = partition.name.startswith(topics) and not partition.name.endswith("-delete")
            if partition.is_dir() and is_wanted and not (data / partition.name).exists():
                if partition.name.startswith(("__consumer", "__trans")) and not topics[0]:
                    continue
                if partition.name.startswith(("__share", "__cluster")):
                    continue
                shutil.copytree(partition, data / partition.name)
                found.append(partition.name)
    return found


def _let_no_session_end(data: Path) -> None:
    """Append the members of classic sessions again, with sessions that never end.

    A broker and a server each count 45 s from their start, and nobody sends heartbeats.
    """
    listing = list_log_directories(data)
    for load in StoredGroups(listing).loads:
        records = [each for group in load.groups.values() for each in _lasting(group)]
        partition = listing.partitions[load.partition.name]
        assert partition.leader_epochs is not None
        assert partition.leader_epochs.latest is not None
        batch = MemoryRecords.of(
            *records,
            timestamp=max(group.record_timestamp or 0 for group in load.groups.values()),
            base_offset=partition.log_end_offset,
            partition_leader_epoch=partition.leader_epochs.latest.epoch,
        )
        with Path(partition.segments[-1].path).open("ab") as log:
            log.write(bytes(batch))


def _lasting(group: ClassicGroup | ModernGroup) -> Iterator[CoordinatorRecord]:
    """Yield the records of a group's members that speak the classic protocol."""
    if isinstance(group, ClassicGroup):
        for member in group.members.values():
            member.session_timeout_ms = LONGEST
        if group.members:
            assignments = {name: each.assignment for name, each in group.members.items()}
            yield group_metadata_record(group, assignments)
        return
    for name, modern in group.members.items():
        fields = modern.metadata or {}
        if classic := fields.get("classicMemberMetadata"):
            fields = {**fields, "classicMemberMetadata": {**classic, "sessionTimeoutMs": LONGEST}}
            key = {"groupId": group.group_id, "memberId": name}
            yield encode_record(TYPES[MEMBER], MEMBER, key, fields)


def _configs_of(topic: str) -> dict[str, str]:
    return CONFIGS if topic == "txn-a" else {**INTERNAL_TOPICS.get(topic, {})}


def _tell_the_controller(data: Path, names: list[str]) -> None:
    listing = list_log_directories(data)
    cluster = read_stored_cluster(listing.partitions[METADATA_LOG])
    properties = listing.roots[0].meta_properties
    assert properties is not None
    assert properties.directory_id is not None
    records: list[MetadataRecord] = []
    known: set[str] = set()
    for name in names:
        partition = listing.partitions[name]
        topic_id = partition.topic_id
        assert topic_id is not None
        if topic_id not in known:
            known.add(topic_id)
            records.append(("TopicRecord", {"name": partition.topic, "topicId": topic_id}))
            records += [
                (
                    "ConfigRecord",
                    {
                        "resourceType": 2,
                        "resourceName": partition.topic,
                        "name": key,
                        "value": value,
                    },
                )
                for key, value in _configs_of(partition.topic).items()
            ]
        latest = None if partition.leader_epochs is None else partition.leader_epochs.latest
        records.append(
            (
                "PartitionRecord",
                {
                    "partitionId": partition.partition,
                    "topicId": topic_id,
                    "replicas": [1],
                    "isr": [1],
                    "leader": 1,
                    "leaderEpoch": 0 if latest is None else latest.epoch,
                    "partitionEpoch": 0,
                    "directories": [text.format_uuid(properties.directory_id)],
                },
            )
        )
    metadata = MetadataLog.find([str(data)], SystemClock(), cluster.features)
    assert metadata is not None
    metadata.append(records)
    metadata.close()

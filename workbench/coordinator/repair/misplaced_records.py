"""Move groups and transactional ids to the partition where a broker looks for them.

What the right partition already has of a key is newer: it was written since a broker looked there.

Kafka: GroupCoordinatorService.partitionFor, TransactionStateManager.partitionFor (4.2)
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.commit_records import commit_key
from workbench.coordinator.groups.group_load import GROUPS_TOPIC, GroupLoad
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.repair.newest_records import (
    Types,
    describe,
    key_or_none,
    newest_records,
    subject_of,
)
from workbench.coordinator.repair.repair import APPEND, Repair
from workbench.coordinator.runtime.partitioning import partition_for
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.coordinator.transactions.transaction_log import key_to_bytes
from workbench.decoders import consumer_offsets, transaction_state
from workbench.files.names import TopicPartition
from workbench.inspection.partition import DiskPartition

Tombstones = Callable[[str], Iterator[bytes]]

GROUP_PARTITION: Final = "group-partition"
TRANSACTION_PARTITION: Final = "transaction-partition"


class _Topic(NamedTuple):
    """A topic of a coordinator.

    Attributes:
        name: the topic.
        finding: the kind of finding about a subject in a wrong partition.
        types: the types of its records.
        partition_count: how many partitions the topic has.
        partitions: those in the directories.
    """

    name: str
    finding: str
    types: Types
    partition_count: int
    partitions: Sequence[DiskPartition]


def move_groups(coordinator: StoredGroups) -> Iterator[Repair]:
    """Yield the records that move groups, with their offsets, to the right partition.

    Raises:
        OSError: a file cannot be read.
    """
    count = coordinator.partition_count
    if count is None:
        return
    topic = _Topic(
        GROUPS_TOPIC, GROUP_PARTITION, consumer_offsets.TYPES, count,
        [load.partition for load in coordinator.loads],
    )  # fmt: skip
    for load in coordinator.loads:
        here = load.partition.partition
        names = {*load.groups, *load.table.offsets}
        wrong = {name for name in names if partition_for(name, count) != here}
        yield from _move(topic, load.partition, wrong, partial(_group_keys, load))


def _group_keys(load: GroupLoad, name: str) -> Iterator[bytes]:
    """Yield the keys of a group's live records: its offsets, then the group."""
    for where in load.table.offsets.get(name, {}):
        yield commit_key(name, where)
    group = load.groups.get(name)
    if group is not None and not (isinstance(group, ClassicGroup) and group.record_offset is None):
        for record in group.tombstones():
            yield record.key


def move_transactional_ids(coordinator: StoredTransactions) -> Iterator[Repair]:
    """Yield the records that move transactional ids to the right partition.

    Raises:
        OSError: a file cannot be read.
    """
    count = coordinator.partition_count
    if count is None:
        return
    topic = _Topic(
        TRANSACTIONS_TOPIC, TRANSACTION_PARTITION, transaction_state.TYPES, count,
        [load.partition for load in coordinator.loads],
    )  # fmt: skip
    for load in coordinator.loads:
        here = load.partition.partition
        wrong = {name for name in load.transactions if partition_for(name, count) != here}
        yield from _move(topic, load.partition, wrong, lambda name: iter([key_to_bytes(name)]))


def _move(
    topic: _Topic, partition: DiskPartition, names: Collection[str], tombstones: Tombstones
) -> Iterator[Repair]:
    """Yield the records that move what is about some names out of a partition.

    Args:
        topic: the topic.
        partition: the wrong partition.
        names: groups or transactional ids.
        tombstones: yields the keys of what is left of a name there.
    """
    if not names:
        return
    types, count = topic.types, topic.partition_count

    def is_of_names(data: bytes) -> bool:
        key = key_or_none(data, types)
        return key is not None and subject_of(key) in names

    here = TopicPartition(topic.name, partition.partition)
    there = {each.partition: each for each in topic.partitions}
    moved = newest_records(partition, is_of_names)
    kept = {
        number: newest_records(there[number], is_of_names).keys()
        for number in {partition_for(name, count) for name in names} & there.keys()
    }
    for data, record in moved.items():
        key = key_or_none(data, types)
        assert key is not None
        name = subject_of(key)
        right = partition_for(name, count)
        if record.value is None or data in kept.get(right, ()):
            continue
        elsewhere = "" if right in there else "; that partition is not in these directories"
        yield Repair(
            where=TopicPartition(topic.name, right),
            action=APPEND,
            finding=topic.finding,
            subject=name,
            what=describe(key),
            offset=record.offset,
            key=data,
            value=record.value,
            timestamp=record.timestamp,
            reason=f"the record at offset {record.offset} of {here}, where no broker looks for "
            f"it{elsewhere}",
        )
    for name in sorted(names):
        for data in tombstones(name):
            key = key_or_none(data, types)
            assert key is not None
            yield Repair(
                where=here,
                action=APPEND,
                finding=topic.finding,
                subject=name,
                what=describe(key),
                key=data,
                reason=f"its place is {topic.name}-{partition_for(name, count)}",
            )

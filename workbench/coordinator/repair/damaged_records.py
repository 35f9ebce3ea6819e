"""Mend records that end a load: the newest valid state of their keys, then a cleaning.

A load reads every record, so a newer record alone does not help: compaction must drop the damaged
one, which it does without reading its value. Records without a key it drops anyway.

Kafka: GroupCoordinatorShard.replay, TransactionStateManager.loadTransactionMetadata,
Cleaner.shouldRetainRecord (4.2)
"""

from collections.abc import Iterator
from typing import Final

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.groups.group_load import GROUPS_TOPIC, GroupLoad, load_group_partition
from workbench.coordinator.repair.newest_records import (
    Types,
    describe,
    key_or_none,
    newest_records,
    records_at,
    subject_of,
)
from workbench.coordinator.repair.repair import APPEND, CLEAN, REMOVE, Repair
from workbench.coordinator.runtime.log_records import LogRecord, read_log_records
from workbench.coordinator.transactions.transaction_load import (
    TransactionLoad,
    apply_record,
)
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
)
from workbench.decoders import consumer_offsets, transaction_state
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.files.names import TopicPartition
from workbench.inspection.partition import DiskPartition
from workbench.runtime.steps import Step
from workbench.runtime.words import plural

GROUP_RECORD: Final = "group-record"
TRANSACTION_RECORD: Final = "transaction-record"

_MOST: Final = 10_000  # damaged records of a partition that are looked at
_OWN: Final = frozenset({GROUP_RECORD, TRANSACTION_RECORD})


def mend_group_partition(load: GroupLoad) -> Iterator[Repair]:
    """Yield what mends a partition of `__consumer_offsets`.

    Raises:
        OSError: a file cannot be read.
    """
    where = TopicPartition(GROUPS_TOPIC, load.partition.partition)
    yield from _unread_bytes(load, where)
    if load.failure is None:
        return
    unreadable: set[int] = set()

    def note(step: Step) -> None:
        if step.kind == "record unreadable" and len(unreadable) <= _MOST:
            unreadable.add(step.numbers["at"])

    load_group_partition(load.partition, load.era, end=load.bound, observer=note, each_commit=False)
    yield from _mend(
        load.partition, where, unreadable, consumer_offsets.TYPES, GROUP_RECORD, load.bound
    )


def mend_transaction_partition(load: TransactionLoad) -> Iterator[Repair]:
    """Yield what mends a partition of `__transaction_state`.

    Raises:
        OSError: a file cannot be read.
    """
    where = TopicPartition(TRANSACTIONS_TOPIC, load.partition.partition)
    yield from _unread_bytes(load, where)
    if load.failure is None:
        return
    unreadable: set[int] = set()
    for record in read_log_records(load.partition, []):
        if isinstance(record, LogRecord) and len(unreadable) <= _MOST:
            states: dict[str, TransactionMetadata] = {}
            try:
                apply_record(states, load.partition.partition, record)
            except (CorruptRecordError, UnsupportedFormatError):
                unreadable.add(record.offset)
    yield from _mend(load.partition, where, unreadable, transaction_state.TYPES, TRANSACTION_RECORD)


def _unread_bytes(load: GroupLoad | TransactionLoad, where: TopicPartition) -> Iterator[Repair]:
    """Yield a removal for each batch that holds no records that can be read."""
    for each in load.findings:
        if each.kind not in _OWN:
            yield Repair(
                where=where,
                action=REMOVE,
                finding=each.kind,
                subject="",
                what="a damaged batch",
                offset=each.offset,
                reason=f"{each.found}: which records were in its bytes is unknown, so that nothing "
                "can be written in their place",
            )


def _mend(
    partition: DiskPartition,
    where: TopicPartition,
    unreadable: set[int],
    types: Types,
    finding: str,
    end: int | None = None,
) -> Iterator[Repair]:
    last: dict[bytes, int] = {}  # key to its last damaged record
    without_key = 0
    dropped: list[int] = []  # what a cleaning will drop
    for record in records_at(partition, unreadable, end=end):
        if record.key is None:
            without_key += 1
        elif key_or_none(record.key, types) is None:
            yield Repair(
                where=where,
                action=REMOVE,
                finding=finding,
                subject="",
                what="a record whose key cannot be read",
                offset=record.offset,
                reason="a load fails at every record with this key, a tombstone too, so that no "
                "record can replace it",
            )
            continue
        else:
            last[record.key] = record.offset
        dropped.append(record.offset)
    newest = newest_records(partition, last.__contains__, unreadable=unreadable, end=end)
    for key, offset in last.items():
        known = newest.get(key)
        if known is None or known.offset < offset:
            yield _again(where, key, offset, known, types, finding)
    if dropped:
        shown = plural(len(dropped), "damaged record")
        nulls = f", {without_key:,} of them without a key" if without_key else ""
        most = f"; only the first {_MOST:,} were looked at" if len(unreadable) > _MOST else ""
        yield Repair(
            where=where,
            action=CLEAN,
            finding=finding,
            subject="",
            what="a cleaning",
            offset=max(dropped),
            reason=f"a load fails at {shown} up to offset {max(dropped)}{nulls}: only a cleaning "
            f"drops them, before a broker loads the partition{most}",
        )


def _again(
    where: TopicPartition,
    data: bytes,
    offset: int,
    known: LogRecord | None,
    types: Types,
    finding: str,
) -> Repair:
    """Return the newest valid record of a key, to be written once more."""
    key = key_or_none(data, types)
    assert key is not None
    if known is None:
        reason = (
            "the damaged record is the only one of its key: a tombstone lets a cleaning drop it"
        )
    elif known.value is None:
        reason = f"the newest valid record of the key is the tombstone at offset {known.offset}"
    else:
        reason = (
            f"the newest valid record of the key is at offset {known.offset}; what the damaged one "
            "said is lost"
        )
    return Repair(
        where=where,
        action=APPEND,
        finding=finding,
        subject=subject_of(key),
        what=describe(key),
        offset=offset,
        key=data,
        value=None if known is None else known.value,
        timestamp=None if known is None else known.timestamp,
        reason=reason,
    )

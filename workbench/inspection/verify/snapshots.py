"""Check a partition's producer snapshots: damage, and whether they and the log end agree.

A clean shutdown leaves a snapshot at the log end offset. Older ones may be anywhere: at the base
offsets of segments that were merged since, at the log end offsets of earlier shutdowns.

Kafka: ProducerStateManager.readSnapshot, truncateAndReload; UnifiedLog.rebuildProducerState (4.2)
"""

from collections.abc import Iterator
from typing import Final

from workbench.files import names
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import unreadable
from workbench.inspection.verify.shutdown_state import Stop

_NOT_USED: Final = "A broker reads only the newest snapshot. If this is the newest, "


def verify_snapshots(
    partition: DiskPartition,
    log_end: int | None,
    stop: Stop,
    *,
    has_records: bool,
    expects_one: bool,
) -> Iterator[Finding]:
    """Yield what is wrong with the snapshots of a partition.

    Args:
        partition: the partition.
        log_end: log end offset; None when it is not sure.
        stop: how the broker stopped.
        has_records: whether any segment holds a batch.
        expects_one: whether brokers of this directory's time write snapshots.
    """
    newest = _offset(partition.snapshots[-1]) if partition.snapshots else -1
    for entry in partition.snapshots:
        offset = _offset(entry)
        is_newest = offset == newest
        if log_end is not None and offset > log_end:
            broker = "A broker deletes the snapshot when it loads the log."
            found, wanted = f"offset {offset}", f"at most {log_end}, the log end offset"
            yield Finding(
                "snapshot-beyond-end", "warning", entry.path, None, offset, found, wanted, broker
            )
        try:
            snapshot = partition.producer_snapshot(entry)
        except OSError as error:
            yield from unreadable(entry.path, error)
            continue
        yield from _contents(entry, snapshot, offset, is_newest=is_newest)
    unread = any(
        name.kind == "snapshot"
        for each in partition.unread
        if (name := names.parse_file_name(each.name)) is not None
    )
    if expects_one and log_end is not None and has_records and not unread:
        yield from _missing(partition, log_end, newest, stop)


def _missing(partition: DiskPartition, log_end: int, newest: int, stop: Stop) -> Iterator[Finding]:
    """Yield a finding when the newest snapshot is older than a broker would leave.

    A clean shutdown writes one at the log end offset, every roll one at the new base offset.
    """
    last_base = partition.segments[-1].base_offset
    rolled = last_base > partition.log_start_offset
    if stop == "clean":
        due, why = log_end, "the log end offset, where a clean shutdown writes one"
    else:
        due, why = (last_base if rolled else -1), "the base offset of the last segment"
    if newest >= due:
        return
    found = "none" if newest < 0 else f"the newest is at {newest}"
    if stop == "clean" and newest < 0:
        broker = (
            "After the clean shutdown and without any snapshot, a broker begins with no producer "
            "state: it does not know their sequence numbers, accepts duplicates, and gives "
            "read_committed consumers the records of open transactions. Without "
            f"{names.CLEAN_SHUTDOWN} it reads the whole log, and rebuilds the state."
        )
    elif newest < 0:
        broker = "A broker reads the whole log to rebuild the producer state, and writes snapshots."
    else:
        broker = (
            f"A broker reads the log from offset {newest} to its end to rebuild the producer "
            "state, and writes a snapshot."
        )
    kind = "snapshot-missing"
    wanted = f"one at {due}, {why}"
    yield Finding(kind, "warning", partition.path, None, due, found, wanted, broker)


def _offset(entry: FileEntry) -> int:
    name = names.parse_file_name(entry.name)
    assert name is not None
    return name.offset


def _contents(
    entry: FileEntry, snapshot: ProducerSnapshot, offset: int, *, is_newest: bool
) -> Iterator[Finding]:
    for problem in snapshot.problems[:1]:
        broker = "a broker deletes it, takes the one before and reads the log from its offset."
        broker = broker.capitalize() if is_newest else f"{_NOT_USED}{broker}"
        if problem.kind == "left over bytes":
            broker = (
                "A broker rejects the snapshot because the CRC covers all bytes, and takes the one "
                "before."
            )
        yield Finding(
            "snapshot-damaged", "warning", entry.path, problem.position, offset, problem.found,
            problem.expected, broker,
        )  # fmt: skip
    if snapshot.problems:
        return
    for slot, producer in enumerate(snapshot.entries):
        reached = max(producer.last_offset or -1, producer.current_transaction_first_offset or -1)
        if reached >= offset:
            broker = (
                f"{_NOT_USED}a broker assumes that producer {producer.producer_id} wrote records "
                "that it did not write."
            )
            found = f"producer {producer.producer_id} at offset {reached}"
            wanted = f"offsets below {offset}, the offset in the file's name"
            position = 10 + slot * 46
            kind = "snapshot-contents"
            yield Finding(kind, "warning", entry.path, position, reached, found, wanted, broker)
            return

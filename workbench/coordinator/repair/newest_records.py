"""Find the newest valid record of some keys of a coordinator's log, as it was written.

A record in a transaction is valid once the transaction has committed.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from workbench.coordinator.runtime.log_records import (
    NO_PRODUCER,
    LogRecord,
    Marker,
    read_log_records,
)
from workbench.decoders.typed_records import Key, RecordType, read_key
from workbench.errors import WorkbenchError
from workbench.inspection.partition import DiskPartition

Types = dict[int, RecordType]


def key_or_none(data: bytes | None, types: Types) -> Key | None:
    """Return the contents of a key; None for a null one, or one that cannot be read."""
    if data is None:
        return None
    try:
        return read_key(types, data)
    except WorkbenchError:
        return None


def subject_of(key: Key) -> str:
    """Return the group or the transactional id that a key is about; empty for an unknown type."""
    for name in ("transactionalId", "groupId", "group"):
        if name in key.fields:
            return str(key.fields[name])
    return ""


def describe(key: Key) -> str:
    """Return the type of a record and what its key names beside the group or id."""
    name = f"record type {key.type_id}" if key.type is None else key.type.name
    fields: dict[str, Any] = key.fields
    if "topic" in fields:
        return f"{name} {fields['topic']}-{fields['partition']}"
    others = [str(fields[each]) for each in ("memberId", "regularExpression") if each in fields]
    return " ".join([name, *others])


def newest_records(
    partition: DiskPartition,
    wanted: Callable[[bytes], bool],
    *,
    unreadable: Collection[int] = (),
    end: int | None = None,
) -> dict[bytes, LogRecord]:
    """Return the newest record of each wanted key that is valid, tombstones too, by offset.

    Args:
        partition: a partition of `__consumer_offsets` or `__transaction_state`.
        wanted: whether a key is wanted.
        unreadable: offsets of records that do not count.
        end: offset at which to stop; None: the log end offset.

    Raises:
        OSError: a file cannot be read.
    """
    found: dict[bytes, LogRecord] = {}
    pending: dict[int, dict[bytes, LogRecord]] = {}
    for each in read_log_records(partition, [], end=end):
        if isinstance(each, Marker):
            ended = pending.pop(each.producer_id, {})
            for key, record in ended.items() if each.is_commit else ():
                if key not in found or found[key].offset < record.offset:
                    found[key] = record
        elif each.key is not None and each.offset not in unreadable and wanted(each.key):
            is_plain = each.producer_id == NO_PRODUCER
            target = found if is_plain else pending.setdefault(each.producer_id, {})
            target[each.key] = each
    return dict(sorted(found.items(), key=lambda item: item[1].offset))


def records_at(
    partition: DiskPartition, offsets: Collection[int], *, end: int | None = None
) -> Iterator[LogRecord]:
    """Yield the records at some offsets.

    Raises:
        OSError: a file cannot be read.
    """
    for each in read_log_records(partition, [], end=end):
        if isinstance(each, LogRecord) and each.offset in offsets:
            yield each

"""Load a partition of `__transaction_state`: the newest state of each transactional id.

Kafka: TransactionStateManager.loadTransactionMetadata (4.2)
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.coordinator.runtime.log_records import (
    LogChunk,
    LogRecord,
    Marker,
    key_of,
    read_log_chunks,
    unknown_type,
)
from workbench.coordinator.transactions.transaction_metadata import TransactionMetadata
from workbench.decoders.decoder import problem_of
from workbench.decoders.transaction_state import STATUS_NAMES, TYPES
from workbench.decoders.typed_records import read_value
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.runtime.steps import Observer, Step

_STOPS: Final = (
    "The load ends here with an error in the broker's log: the broker serves what it loaded so far "
    "and does not read later records."
)
# How a value begins, and how many bytes follow the partitions: two times.
_KEY: Final = struct.Struct(">hh")
_HEAD: Final = struct.Struct(">hqhib")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_TIMES: Final = 16
_TAG_SIZES: Final = (8, 8, 2, 2)
_LARGEST_BYTE: Final = 0x7F  # of a varint
_CLIENT_VERSION: Final = 2  # the tag
_CLIENTS: Final = range(3)  # the transaction versions that clients use


@dataclass(slots=True)
class TransactionLoad:
    """The contents of a loaded partition of `__transaction_state`.

    Attributes:
        partition: the loaded partition.
        transactions: the states by transactional id.
        findings: the findings about what could not be read.
        failure: why a broker's load would end early; None: it reads everything.
        end_offset: the offset where reading ended.
    """

    partition: DiskPartition
    transactions: dict[str, TransactionMetadata] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    failure: str | None = None
    end_offset: int = 0


def load_transaction_partition(
    partition: DiskPartition, *, observer: Observer | None = None
) -> TransactionLoad:
    """Load a partition as the transaction coordinator does when it becomes the leader.

    Args:
        partition: a partition of `__transaction_state`.
        observer: receives a `Step` for each record, of `steps.LOAD_KINDS`.

    Raises:
        OSError: a file cannot be read.
    """
    load = TransactionLoad(partition)

    def step(kind: str, reason: str = "", **numbers: Any) -> None:
        if observer is not None:
            observer(Step(kind, partition.name, reason, numbers))

    step("load started")
    chunks = read_log_chunks(partition, load.findings)
    for record in newest_records(chunks, every=observer is not None):
        load.end_offset = max(load.end_offset, record.offset + 1)
        if not isinstance(record, LogRecord):
            step("record ignored", "a transaction marker", at=record.offset)
            continue
        try:
            done = apply_record(load.transactions, partition.partition, record)
            step(*done, at=record.offset, time=record.timestamp)
        except (CorruptRecordError, UnsupportedFormatError) as error:
            problem = problem_of(error)
            load.failure = f"offset {record.offset}: {problem}"
            load.findings.append(
                Finding(
                    "transaction-record", "error", partition.path, None, record.offset, problem,
                    "a record that the coordinator of 4.2 can read", _STOPS,
                )
            )  # fmt: skip
            step("record unreadable", problem, at=record.offset, time=record.timestamp)
            break
    step("load finished", load.failure or "", transactions=len(load.transactions))
    return load


def newest_records(chunks: Iterable[LogChunk], *, every: bool) -> Iterator[LogRecord | Marker]:
    """Yield the records; unless ``every`` is wanted, of a run of sound ones each key's last."""
    for chunk in chunks:
        run: dict[bytes | None, LogRecord | Marker] = {}
        for record in chunk.records():
            if not every and isinstance(record, LogRecord) and _is_usual(record):
                run[record.key] = record
                continue
            yield from run.values()
            run.clear()
            yield record
        yield from run.values()


def _is_usual(record: LogRecord) -> bool:
    """Return whether a record is a state that can be read, as its bytes show without decoding.

    Only those of the usual kind: what is not one is decoded.
    """
    if record.key is None or record.value is None:
        return False
    key, data = record.key, record.value
    if len(key) < _KEY.size or len(data) < _HEAD.size + _TIMES:
        return False
    type_id, size = _KEY.unpack_from(key)
    version, _, _, _, status = _HEAD.unpack_from(data)
    if type_id != 0 or not 0 <= size <= len(key) - _KEY.size or status not in STATUS_NAMES:
        return False
    try:
        if version == 0:
            return _end_of_plain(data) + _TIMES <= len(data)
        return version == 1 and _end_of_flexible(data) <= len(data)
    except (IndexError, struct.error):
        return False


def _end_of_plain(data: bytes) -> int:
    """Return where the partitions of a version 0 end."""
    at = _HEAD.size
    (topics,) = _INT32.unpack_from(data, at)
    at += _INT32.size
    for _ in range(topics):
        (size,) = _INT16.unpack_from(data, at)
        at += _INT16.size + size
        (count,) = _INT32.unpack_from(data, at)
        at += _INT32.size * (count + 1)
        if size < 0 or count < 0:
            raise IndexError
    return at if topics >= -1 else len(data)


def _end_of_flexible(data: bytes) -> int:
    """Return where a version 1 ends whose lengths take a byte each.

    Raises:
        IndexError: a length takes more, or the value is not a usual one.
    """
    at = _HEAD.size + 1
    largest = topics = data[at - 1]
    for _ in range(topics - 1):
        size = data[at]  # of the name, and its length
        at += size
        count = data[at] - 1
        largest = max(largest, size, count + 1)
        at += 1 + _INT32.size * count
        if count < 0 or data[at] != 0:
            raise IndexError
        at += 1
    at += _TIMES + 1
    tags = data[at - 1]
    for _ in range(tags):
        if data[at + 1] != _TAG_SIZES[data[at]]:
            raise IndexError
        if data[at] == _CLIENT_VERSION and _INT16.unpack_from(data, at + 2)[0] not in _CLIENTS:
            raise IndexError
        at += 2 + data[at + 1]
    if max(largest, tags) > _LARGEST_BYTE:
        raise IndexError
    return at


def apply_record(
    transactions: dict[str, TransactionMetadata], log_partition: int, record: LogRecord
) -> tuple[str, str]:
    """Process a record; return the kind of step and the reason.

    Args:
        transactions: the states by transactional id; changed.
        log_partition: the partition that holds the record.
        record: the record.

    Raises:
        CorruptRecordError: the bytes do not fit.
        UnsupportedFormatError: the value's version is unknown.
    """
    key = key_of(record, TYPES)
    if key.type is None:
        return "record ignored", unknown_type(key)
    name = key.fields["transactionalId"]
    if record.value is None:
        known = transactions.pop(name, None)
        if known is None:
            return "record ignored", f"the tombstone has no transactional id {name!r} to remove"
        return "transactional id removed", f"a tombstone removes {name!r}"
    version, fields = read_value(key.type, record.value)
    state = TransactionMetadata.of_record(name, fields, version, log_partition, record.offset)
    transactions[name] = state
    return "transactional id loaded", f"{name!r} is {state.state}, producer {state.producer_id}"

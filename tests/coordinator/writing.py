"""Write the logs of coordinators for tests: records of Kafka's types in batches, and markers."""

import struct
from pathlib import Path
from typing import Any

from tests.naive import Record, batch
from workbench.coordinator.groups.group_load import GroupLoad, load_group_partition
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.transactions.transaction_load import (
    TransactionLoad,
    load_transaction_partition,
)
from workbench.decoders import consumer_offsets, transaction_state
from workbench.inspection.listing import list_log_directories
from workbench.runtime.steps import Observer

TRANSACTIONAL, CONTROL = 0x10, 0x20
TIME = 1_700_000_000_000

Pair = tuple[bytes | None, bytes | None]
Types = dict[int, Any]


def record(
    type_id: int,
    key: dict[str, Any],
    value: dict[str, Any] | None,
    version: int = 0,
    *,
    types: Types = consumer_offsets.TYPES,
) -> Pair:
    """Return key and value of a record; value None is a tombstone."""
    known = types[type_id]
    key_bytes = struct.pack(">h", type_id) + known.key.encode(key, 0)
    if value is None:
        return key_bytes, None
    return key_bytes, struct.pack(">h", version) + known.value.encode(value, version)


def commit(
    group: str,
    topic: str,
    partition: int,
    offset: int | None,
    version: int = 3,
    *,
    type_id: int = 1,
    **fields: Any,
) -> Pair:
    """Return a committed offset, or its tombstone where the offset is None."""
    value = {"offset": offset, "metadata": "", "commitTimestamp": TIME, **fields}
    key = {"group": group, "topic": topic, "partition": partition}
    return record(type_id, key, None if offset is None else value, version)


def subscription(*topics: str) -> bytes:
    """Return the bytes that a consumer subscribes with."""
    return struct.pack(">h", 0) + consumer_offsets.SUBSCRIPTION.encode(
        {"topics": list(topics), "userData": None}, 0
    )


def member(name: str, *topics: str, **fields: Any) -> dict[str, Any]:
    """Return a member of a classic group."""
    return {
        "memberId": name, "clientId": "c", "clientHost": "/h", "rebalanceTimeout": 300_000,
        "sessionTimeout": 45_000, "subscription": subscription(*topics), "assignment": b"",
        **fields,
    }  # fmt: skip


def group(name: str, version: int = 3, **fields: Any) -> Pair:
    """Return the record of a classic group."""
    value = {
        "protocolType": "consumer", "generation": 1, "protocol": None, "leader": None,
        "currentStateTimestamp": TIME, "members": [], **fields,
    }  # fmt: skip
    return record(2, {"group": name}, value, version)


def group_tombstone(name: str) -> Pair:
    """Return the tombstone of a classic group."""
    return record(2, {"group": name}, None)


def transaction(name: str, version: int = 0, **fields: Any) -> Pair:
    """Return the state of a transactional id."""
    value = {
        "producerId": 1, "producerEpoch": 0, "transactionTimeoutMs": 60_000,
        "transactionStatus": 0, "transactionPartitions": None,
        "transactionLastUpdateTimestampMs": TIME, "transactionStartTimestampMs": -1, **fields,
    }  # fmt: skip
    types = transaction_state.TYPES
    return record(0, {"transactionalId": name}, value, version, types=types)


class CoordinatorLog:
    """A partition's log that batches are appended to."""

    def __init__(self, root: Path, topic: str = "__consumer_offsets", partition: int = 0) -> None:
        self.root = root
        self.name = f"{topic}-{partition}"
        self.content = b""
        self.next_offset = 0

    def append(
        self, *pairs: Pair, producer: int | None = None, at: int | None = None, time: int = TIME
    ) -> int:
        """Append a batch, transactional if there is a producer; return its first offset."""
        first = self.next_offset if at is None else at
        records = [Record(first + i, time, *pair) for i, pair in enumerate(pairs)]
        extra = {} if producer is None else _transactional(producer)
        self.content += batch(records, **extra)
        self.next_offset = first + len(pairs)
        return first

    def marker(self, producer: int, *, commit: bool) -> int:
        """Append a transaction marker; return its offset."""
        key, value = struct.pack(">hh", 0, commit), struct.pack(">hi", 0, 3)
        first = self.next_offset
        control = {**_transactional(producer), "attributes": TRANSACTIONAL | CONTROL}
        self.content += batch([Record(first, TIME, key, value)], **control)
        self.next_offset += 1
        return first

    def write(self) -> Path:
        """Write the log into its folder; return the log directory."""
        folder = self.root / self.name
        folder.mkdir(exist_ok=True)
        (folder / f"{0:020}.log").write_bytes(self.content)
        return self.root

    def load(self, era: CoordinatorEra, observer: Observer | None = None) -> GroupLoad:
        """Write the log and load it as `__consumer_offsets`."""
        listing = list_log_directories(self.write())
        return load_group_partition(listing.partitions[self.name], era, observer=observer)

    def load_transactions(self) -> TransactionLoad:
        """Write the log and load it as `__transaction_state`."""
        return load_transaction_partition(list_log_directories(self.write()).partitions[self.name])

    def coordinator(self, **options: Any) -> StoredGroups:
        """Write the log and load its directory."""
        return StoredGroups(list_log_directories(self.write()), **options)


def _transactional(producer: int) -> dict[str, int]:
    return {"attributes": TRANSACTIONAL, "producer_id": producer, "producer_epoch": 0}


def table_of(load: GroupLoad) -> dict[str, dict[str, int]]:
    """Return group → topic partition → committed offset."""
    return {
        name: {str(where): value.offset for where, value in offsets.items()}
        for name, offsets in load.table.offsets.items()
    }

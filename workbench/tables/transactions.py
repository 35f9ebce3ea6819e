"""Transactional ids, open transactions, transaction markers, and repairs of coordinators."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import (
    AdminState,
    Bytes,
    Int16,
    Int32,
    LastOffset,
    PartitionNumber,
    ProducerEpoch,
    ProducerId,
    Time,
    Topic,
    TransactionStart,
)

_StoredId = Annotated[int | None, "null: none is stored"]


class TransactionRow(NamedTuple):
    """A transactional id as a restarted broker has it, or an open transaction without one."""

    transactional_id: Annotated[str | None, "null: an open transaction that no id waits for"]
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    state: AdminState | None
    phase: Annotated[str, "empty, open, prepared, complete or hanging"]
    partitions: Annotated[list[str], "partitions of the transaction, as orders-0"]
    timeout_ms: Annotated[Int32 | None, "transaction.timeout.ms of the producer"]
    start_time: Annotated[Time | None, "when the transaction began"]
    last_update_time: Annotated[Time | None, "when the state changed last"]
    times_out_at: Annotated[Time | None, "null: no transaction is ongoing"]
    expires_at: Annotated[Time | None, "of the id; null: never while a transaction is open"]
    previous_producer_id: _StoredId
    next_producer_id: _StoredId
    client_transaction_version: Annotated[Int16 | None, "null: none is stored"]
    blocks: Annotated[list[str], "partitions whose last stable offset it holds back"]
    blocked_offsets: Annotated[int, "offsets above the last stable ones of these partitions"]
    reason: Annotated[str, "why a transaction without an id hangs; empty: it has an id"]
    log_partition: Annotated[Int32 | None, "partition of __transaction_state with the record"]
    record_offset: Annotated[int | None, "of the newest record there"]


class OpenProducerRow(NamedTuple):
    """A transaction that is open in a log: one row per partition and producer."""

    topic: Topic
    partition: PartitionNumber
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    first_offset: TransactionStart
    last_offset: LastOffset
    first_time: Annotated[Time | None, "timestamp of its first batch"]
    last_time: Annotated[Time | None, "timestamp of its last batch"]
    transactional_id: Annotated[str | None, "the id of the producer; null: unknown"]
    state: Annotated[str | None, "the state of that id"]
    verdict: Annotated[str | None, "waits: a marker will come; hangs: none will; null: unknown"]
    reason: Annotated[str, "why, or why it is unknown"]
    last_stable_offset: Annotated[int, "the partition's last stable offset"]
    blocked_offsets: Annotated[int, "offsets above it; 0: an older transaction holds it back"]


class MarkerRow(NamedTuple):
    """A transaction marker and the data that it ends: one row per marker."""

    topic: Topic
    partition: PartitionNumber
    offset: Annotated[int, "the marker's offset"]
    time: Annotated[Time | None, "the marker's timestamp"]
    type: Annotated[str, "COMMIT or ABORT"]
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    coordinator_epoch: Annotated[Int32 | None, "of the coordinator; null: not readable"]
    transactional_id: Annotated[str | None, "the id that has the producer now"]
    first_offset: Annotated[int | None, "of its data since the previous marker; null: none"]
    last_offset: Annotated[int | None, "of that data; null: none"]
    records: Annotated[int, "records of that data in the log"]
    data_epoch: Annotated[Int16 | None, "producer epoch of the last of that data"]
    verdict: Annotated[
        str | None,
        "data, or why there is none: unreadable, compacted, deleted, repeated, not written, "
        "missing; null: unknown",
    ]
    reason: Annotated[str, "the verdict, with the figures"]


class RepairRow(NamedTuple):
    """A step of a repair of coordinators, in the order in which they are needed."""

    step: Annotated[Int32, "number of the step, from 1"]
    topic: Topic
    partition: PartitionNumber
    action: Annotated[str, "append, marker, clean or remove"]
    by: Annotated[str, "repair; or broker: it does so when it starts"]
    finding: Annotated[str, "the kind of the finding that it mends"]
    subject: Annotated[str, "group, transactional id or producer; empty: the whole log"]
    what: Annotated[str, "what is written: the record's type, or ABORT or COMMIT"]
    offset: Annotated[int | None, "where the damage is; null: nowhere"]
    time: Annotated[Time | None, "timestamp of the record; null: the time of the repair"]
    producer_id: Annotated[int | None, "of the marker, or of the state in the record"]
    producer_epoch: Annotated[Int16 | None, "of the marker, or of the state in the record"]
    coordinator_epoch: Annotated[Int32 | None, "of the marker; null: the broker decides"]
    key_size: Annotated[Int32 | None, "bytes; null: no record"]
    value_size: Annotated[Int32 | None, "bytes; null: a tombstone, or no record"]
    key: Annotated[Bytes | None, "the record's key; null: not asked for"]
    value: Annotated[Bytes | None, "the record's value; null: not asked for"]
    reason: Annotated[str, "why, and what it costs"]

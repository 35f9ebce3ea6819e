"""Segments, their batches and the entries of their indexes."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from workbench.tables.columns import (
    BatchPosition,
    EpochStart,
    Int8,
    Int16,
    Int32,
    LastOffset,
    LeaderEpoch,
    PartitionNumber,
    SegmentOffset,
    Time,
    Topic,
    TransactionStart,
    UInt32,
)

DirectoryName = Annotated[str, "name of the partition directory"]
BaseOffset = Annotated[int, "the offset in the names of its files"]
Modified = Annotated[Time, "when the .log file was modified"]
IsActive = Annotated[bool, "whether it is the segment that a broker appends to"]
_Entry = Annotated[Int32, "number of the entry in the file, from 0"]
TimestampType = Annotated[str | None, "CreateTime or LogAppendTime; null: magic 0"]
BatchProducerId = Annotated[int | None, "null: the producer was not idempotent"]
BatchProducerEpoch = Annotated[Int16 | None, "epoch of the producer"]
BatchLeaderEpoch = Annotated[Int32 | None, "epoch of the leader that appended it"]
Codec = Annotated[str, "none, gzip, snappy, lz4 or zstd"]
IsTransactional = Annotated[bool, "whether it belongs to a transaction"]
DeleteHorizon = Annotated[Time | None, "when the cleaner may drop its tombstones and markers"]
_MaxTimestamp = Annotated[Time | None, "the largest timestamp of its records"]
_RelativeOffset = Annotated[int, "offset less the segment's base offset, as stored"]
_BatchAt = Annotated[
    int | None, "base offset of that batch; null: no batch begins there, or its header lacks it"
]


class SegmentRow(NamedTuple):
    """A segment in use: one row per segment, from names and sizes alone."""

    topic: Topic
    partition: PartitionNumber
    name: DirectoryName
    base_offset: BaseOffset
    size: Annotated[int, "bytes of the .log file"]
    index_size: Annotated[int | None, "bytes of the .index file; null: no such file"]
    time_index_size: Annotated[int | None, "bytes of the .timeindex file; null: no such file"]
    transaction_index_size: Annotated[int | None, "bytes of the .txnindex file; null: no such file"]
    modified: Modified
    is_active: IsActive
    path: Annotated[str, "path of the .log file"]


class LeaderEpochStart(NamedTuple):
    """A leader epoch and where it begins: in the leader epochs of a remote segment."""

    epoch: LeaderEpoch
    start_offset: EpochStart


class RemoteSegmentRow(NamedTuple):
    """A segment in the remote tier, of any state: one row per segment."""

    topic: Topic
    partition: PartitionNumber
    segment_id: Annotated[str, "id of the remote segment: 22 characters"]
    start_offset: Annotated[int, "its first offset"]
    end_offset: Annotated[int | None, "its last offset; null: there is no metadata"]
    state: Annotated[str | None, "such as COPY_SEGMENT_FINISHED; null: there is no metadata"]
    size: Annotated[int | None, "bytes of the .log file as it was in the log"]
    leader_epochs: Annotated[list[LeaderEpochStart], "of its records"]
    broker_id: Annotated[Int32 | None, "the broker that changed its state last"]
    max_timestamp: _MaxTimestamp
    event_time: Annotated[Time | None, "when it got its state"]
    source: Annotated[str, "where the metadata comes from: topic, or files of the tier"]
    files: Annotated[Int32, "how many files it has in the tier"]
    is_read: Annotated[bool, "whether a scan gets records from it"]
    path: Annotated[str | None, "path of its .log file; null: the tier has none"]


class BatchRow(NamedTuple):
    """A batch: one row per batch of a segment, from the header alone."""

    topic: Topic
    partition: PartitionNumber
    segment: SegmentOffset
    position: BatchPosition
    size: Annotated[int, "bytes, with the header"]
    base_offset: Annotated[int | None, "null: a compressed message of magic 0 or 1 has none"]
    last_offset: LastOffset
    record_count: Annotated[Int32 | None, "records by the header; null: magic 0 or 1"]
    base_timestamp: Annotated[Time | None, "null: the field holds the delete horizon"]
    max_timestamp: _MaxTimestamp
    timestamp_type: TimestampType
    magic: Annotated[Int8, "the version of the format: 0, 1 or 2"]
    codec: Codec
    is_transactional: IsTransactional
    is_control: Annotated[bool, "whether it holds control records, such as transaction markers"]
    delete_horizon: DeleteHorizon
    producer_id: BatchProducerId
    producer_epoch: BatchProducerEpoch
    base_sequence: Annotated[Int32 | None, "sequence number of its first record"]
    last_sequence: Annotated[Int32 | None, "sequence number of its last record"]
    partition_leader_epoch: BatchLeaderEpoch
    attributes: Annotated[Int16, "the attributes, as stored"]
    crc: Annotated[UInt32, "the CRC, as stored"]
    problem: Annotated[str | None, "what is wrong with the header; null: nothing"]


class OffsetIndexRow(NamedTuple):
    """An entry of an offset index: one row per entry of the .index files."""

    topic: Topic
    partition: PartitionNumber
    segment: SegmentOffset
    entry: _Entry
    offset: Annotated[int, "offset of the last record of a batch"]
    relative_offset: _RelativeOffset
    position: Annotated[int, "byte in the segment's .log file where that batch begins"]
    batch_base_offset: _BatchAt
    bytes_before: Annotated[int, "bytes since the position of the entry before, or since 0"]
    batches_before: Annotated[int | None, "batches in those bytes; null: no batch begins there"]
    records_before: Annotated[
        int | None, "records in those batches; null: their headers do not say how many"
    ]


class TimeIndexRow(NamedTuple):
    """An entry of a time index: one row per entry of the .timeindex files."""

    topic: Topic
    partition: PartitionNumber
    segment: SegmentOffset
    entry: _Entry
    timestamp: Annotated[Time, "the largest timestamp up to the offset"]
    offset: Annotated[int, "offset of the record with that timestamp"]
    relative_offset: _RelativeOffset
    batch_position: Annotated[
        int | None, "byte where the batch with that offset begins; null: there is no such batch"
    ]
    batch_base_offset: _BatchAt


@dataclass(frozen=True, slots=True)
class IndexEntryRow:  # not a NamedTuple: a tuple has a method `index`
    """An entry of an offset index or a time index, as Spark reads them: one row per entry."""

    topic: Topic
    partition: PartitionNumber
    segment: SegmentOffset
    index: Annotated[str, "offset or time"]
    entry: _Entry
    offset: Annotated[int, "offset of a record"]
    position: Annotated[int | None, "byte in the .log file; null: a time index"]
    timestamp: Annotated[Time | None, "the largest up to the offset; null: an offset index"]


class AbortedTransactionRow(NamedTuple):
    """An aborted transaction: one row per entry of the .txnindex files."""

    topic: Topic
    partition: PartitionNumber
    segment: SegmentOffset
    producer_id: Annotated[int, "the producer that aborted"]
    first_offset: TransactionStart
    last_offset: Annotated[int, "offset of the transaction marker"]
    last_stable_offset: Annotated[int, "the last stable offset when the marker was written"]

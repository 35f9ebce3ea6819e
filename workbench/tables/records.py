"""Records: the columns of a scan."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import (
    BatchPosition,
    Bytes,
    Headers,
    Int8,
    Int32,
    PartitionNumber,
    RecordOffset,
    SegmentOffset,
    Time,
    Topic,
)
from workbench.tables.segments import (
    BatchLeaderEpoch,
    BatchProducerEpoch,
    BatchProducerId,
    Codec,
    DeleteHorizon,
    IsTransactional,
    TimestampType,
)


class RecordRow(NamedTuple):
    """A record of a scan: the columns that it has unless others are asked for."""

    topic: Topic
    partition: PartitionNumber
    offset: RecordOffset
    timestamp: Annotated[Time | None, "null: the record has none"]
    timestamp_type: TimestampType
    key: Annotated[Bytes | None, "null: the record has no key"]
    value: Annotated[Bytes | None, "null: a tombstone"]
    headers: Annotated[Headers, "keys and values, in order; empty: the record has none"]


class RecordBatchRow(NamedTuple):
    """The size and the batch of a record of a scan: columns that it has on request."""

    bytes: Annotated[int, "of the key, the value and the headers, before compression"]
    producer_id: BatchProducerId
    producer_epoch: BatchProducerEpoch
    sequence: Annotated[Int32 | None, "the record's sequence number"]
    partition_leader_epoch: BatchLeaderEpoch
    codec: Codec
    magic: Annotated[Int8, "the version of the batch's format: 0, 1 or 2"]
    is_transactional: IsTransactional
    committed: Annotated[
        bool | None,
        "whether a consumer with read_committed gets it; false: aborted, or not below the last "
        "stable offset; null: from a file out of use",
    ]
    is_control: Annotated[bool, "whether it is a transaction marker or another control record"]
    delete_horizon: DeleteHorizon
    batch_base_offset: Annotated[int | None, "first offset of the batch; null: magic 0 or 1"]
    batch_position: BatchPosition
    segment: SegmentOffset
    file: Annotated[str, "path of the segment's .log file"]


class RecordDifferenceRow(NamedTuple):
    """A record that two copies of a log do not both hold alike: one row per offset."""

    topic: Topic
    partition: PartitionNumber
    offset: RecordOffset
    difference: Annotated[
        str, "different; missing: only in the left copy; extra: only in the right"
    ]

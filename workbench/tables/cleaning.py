"""Compaction: what a cleaning keeps and drops, how clean logs are, and their keys."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import (
    BatchPosition,
    Bytes,
    Category,
    Int32,
    PartitionNumber,
    RecordOffset,
    SegmentOffset,
    Time,
    Topic,
)

_Round = Annotated[Int32, "number of the cleaning, from 1"]
_Key = Annotated[Bytes | None, "the key; null: records without one"]
_Uncompressed = Annotated[int, "bytes of keys, values and headers, uncompressed"]
_KeyRecords = Annotated[int, "how many records have the key"]
_ThoseUncompressed = Annotated[int, "bytes of those, uncompressed"]


class RecordDecisionRow(NamedTuple):
    """What a planned cleaning does with a record: one row per record and round."""

    round: _Round
    segment: SegmentOffset
    batch_position: Annotated[int, "byte of its batch in the segment's .log file"]
    offset: RecordOffset
    is_kept: Annotated[bool, "whether the record is kept"]
    reason: Annotated[Category, "why it is kept or dropped"]
    newer_offset: Annotated[int | None, "of the record that supersedes it; null: none does"]


class BatchDecisionRow(NamedTuple):
    """What a planned cleaning does with a batch: one row per batch and round."""

    round: _Round
    segment: SegmentOffset
    position: BatchPosition
    size: Annotated[int, "bytes before"]
    new_size: Annotated[int, "bytes afterwards; 0: removed"]
    base_offset: Annotated[int, "the batch's first offset"]
    last_offset: Annotated[int, "its last offset"]
    record_count: Annotated[Int32, "records before"]
    verdict: Annotated[str, "copied, rebuilt, emptied or removed"]
    kept_without_records: Annotated[str | None, "why it is kept empty; null: it is not"]
    delete_horizon: Annotated[Time | None, "its delete horizon afterwards"]


class ReasonRow(NamedTuple):
    """How much a planned cleaning keeps or drops for a reason: one row per reason and round."""

    round: _Round
    is_kept: Annotated[bool, "whether the records are kept"]
    reason: Annotated[str, "why they are kept or dropped"]
    records: Annotated[int, "how many records"]
    bytes: _Uncompressed


class PlannedKeyRow(NamedTuple):
    """A key that a planned cleaning shrinks: one row per key, the largest loss first."""

    key: _Key
    records: _KeyRecords
    bytes: _Uncompressed
    dropped_records: Annotated[int, "how many of them are dropped"]
    dropped_bytes: _ThoseUncompressed


class CleaningRow(NamedTuple):
    """How clean a log is, and whether its cleaning is due: one row per partition.

    From ``first_dirty_offset`` on, fields are null for a log that is not compacted.
    """

    topic: Topic
    partition: PartitionNumber
    is_compacted: Annotated[bool, "whether cleanup.policy has compact"]
    policy_source: Annotated[str, "where the policy is set"]
    checkpoint: Annotated[int | None, "the cleaner's; null: it does not name the log"]
    first_dirty_offset: Annotated[int | None, "where the dirty section begins"]
    first_uncleanable_offset: Annotated[int | None, "where the cleaner stops"]
    bound: Annotated[str | None, "what stops the cleaner there"]
    clean_bytes: Annotated[int | None, "bytes of the clean section"]
    cleanable_bytes: Annotated[int | None, "bytes between the two offsets"]
    uncleanable_bytes: Annotated[int | None, "bytes above"]
    ratio: Annotated[float | None, "dirty share, 0 to 1"]
    threshold: Annotated[float | None, "min.cleanable.dirty.ratio"]
    dirty_since: Annotated[Time | None, "what max.compaction.lag.ms is measured from"]
    is_due: Annotated[bool | None, "whether the cleaner would clean it now"]
    order: Annotated[
        Int32 | None, "1: cleaned first; equally dirty logs share a number; null: not due"
    ]
    due: Annotated[Time | None, "when it is due if nothing is written; null: never"]
    problem: Annotated[str | None, "why loading or cleaning fails; null: it does not"]


class KeyRow(NamedTuple):
    """A key of a partition: one row per key, those first that compaction would shrink most."""

    topic: Topic
    partition: PartitionNumber
    key: _Key
    records: _KeyRecords
    bytes: _Uncompressed
    first_offset: Annotated[int, "offset of its oldest record"]
    last_offset: Annotated[int, "offset of its newest record"]
    is_tombstone: Annotated[bool, "whether its newest record is a tombstone"]
    superseded_records: Annotated[int, "records with a newer one; without a key: all"]
    superseded_bytes: _ThoseUncompressed

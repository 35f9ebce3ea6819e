"""Set in place what a leader sets in the headers of batches: offsets, epoch and times.

Kafka: LogValidator.assignOffsetsNonCompressed, and the end of
LogValidator.validateMessagesAndAssignOffsetsCompressed (4.2)
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from workbench.layout.attributes import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP
from workbench.log.append.append_info import ValidationResult
from workbench.log.append.record_rules import CheckedRecords
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch
from workbench.record.writing.batch_fields import (
    set_last_offset,
    set_max_timestamp,
    set_offset_and_epoch,
)

NO_OFFSET: Final = -1
_batch: Final = partial(
    tuple.__new__, CheckedBatch
)  # `_make` without its check; `_replace` takes longer


def number_in_place(
    records: MemoryRecords,
    batches: Sequence[CheckedBatch],
    found: Sequence[CheckedRecords],
    offset: int,
    epoch: int,
    now: int,
    *,
    sets_time: bool,
) -> ValidationResult:
    """Assign offsets to batches that keep their format and codec.

    Args:
        records: changed in place.
        batches: its batches.
        found: what is known about the records of each.
        offset: the first record's offset.
        epoch: the leader epoch to set; magic 0 and 1 have none.
        now: ms; the time of the append.
        sets_time: whether that becomes the records' time; otherwise they keep theirs.
    """
    numbered = []
    largest, where = NO_TIMESTAMP, NO_OFFSET
    for batch, checked in zip(batches, found, strict=True):
        offset += checked.record_count
        last_offset, max_timestamp = offset - 1, checked.max_timestamp
        at, base_offset, leader_epoch = batch.position, batch.base_offset, -1
        bits, kind, crc = batch.attributes, batch.timestamp_type, batch.crc
        if batch.magic == 2:
            base_offset, leader_epoch = base_offset + last_offset - batch.last_offset, epoch
            set_offset_and_epoch(records.buffer, at, batch.size, base_offset, epoch)
        else:
            set_last_offset(records.buffer, at, last_offset)
            if base_offset >= 0:
                base_offset = last_offset
        if batch.magic > 0:
            kind = CREATE_TIME
            if sets_time:
                kind, max_timestamp = LOG_APPEND_TIME, now
            if kind != batch.timestamp_type or max_timestamp != batch.max_timestamp:
                bits, crc = set_max_timestamp(records.buffer, at, kind, max_timestamp)
        offsets = (base_offset, last_offset, batch.base_timestamp, max_timestamp, leader_epoch)
        form = (batch.magic, bits, batch.codec, kind)
        numbered.append(_batch((*batch[:2], *offsets, *form, *batch[11:18], crc, crc, *batch[20:])))
        if max_timestamp > largest:
            largest, where = max_timestamp, last_offset
    return ValidationResult(records, numbered, offset, largest, where, now)


def number_ready(
    records: MemoryRecords, batch: CheckedBatch, offset: int, epoch: int, now: int
) -> ValidationResult:
    """Assign offsets to the one batch of an append, as usual; nothing else in it changes."""
    last_offset, largest = offset + batch.last_offset, batch.max_timestamp
    set_offset_and_epoch(records.buffer, 0, batch.size, offset, epoch)
    header = _batch((*batch[:2], offset, last_offset, *batch[4:6], epoch, *batch[7:]))
    where = NO_OFFSET if largest == NO_TIMESTAMP else last_offset
    return ValidationResult(records, [header], last_offset + 1, largest, where, now)

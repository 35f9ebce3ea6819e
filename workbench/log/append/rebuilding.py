"""Rebuild the records of an append in the log's format and codec.

Records of magic 2 are copied as bytes if encoding them again would give the same bytes.

Kafka: LogValidator.buildRecordsAndAssignOffsets (4.2)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.layout.attributes import CREATE_TIME, NO_TIMESTAMP
from workbench.log.append.append_info import ValidationResult
from workbench.log.append.numbering import NO_OFFSET
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import Record, columns_of
from workbench.record.writing.batch_checks import CheckedBatch, check_batches, verbatim_records
from workbench.record.writing.builder import RecordsBuilder


class Form(NamedTuple):
    """How the records are to be stored.

    Attributes:
        magic: the log's magic.
        codec: its name.
        level: the codec's level; None: its default.
        append_time: ms, the time of all records; None: they keep theirs.
    """

    magic: int
    codec: str
    level: int | None
    append_time: int | None


def rebuild(
    records: MemoryRecords,
    batches: Sequence[CheckedBatch],
    form: Form,
    offset: int,
    epoch: int,
    now: int,
) -> ValidationResult:
    """Return one batch with all records, at consecutive offsets.

    Args:
        records: not changed.
        batches: its batches, which were checked; if there are several, of magic 0 or 1.
        form: how they are to be stored.
        offset: the first record's offset.
        epoch: the leader epoch to set.
        now: ms; the time of the append.

    Raises:
        ValueError: the format cannot hold a record.
        CorruptRecordError: a batch or record cannot be read.

    Kafka: LogValidator.buildRecordsAndAssignOffsets (4.2)
    """
    first = batches[0]
    encoded = columns = None
    singles: list[Record] = []
    if first.magic < 2 or form.magic < 2:
        singles = records.records()
    else:
        if first.timestamp_type == CREATE_TIME and first.base_timestamp >= NO_TIMESTAMP:
            encoded = verbatim_records(records.buffer, first)
        if encoded is None:
            columns = columns_of(records.buffer, records.batches().rows)
    builder = RecordsBuilder(
        form.magic,
        form.codec,
        form.level,
        "CreateTime" if form.append_time is None else "LogAppendTime",
        offset,
        form.append_time,
        producer_id=first.producer_id,
        producer_epoch=first.producer_epoch,
        base_sequence=first.base_sequence,
        is_transactional=bool(first.is_transactional),
        partition_leader_epoch=epoch,
    )
    if encoded is not None:
        builder.append_encoded(
            encoded, first.record_count, first.base_timestamp, first.largest_timestamp
        )
    elif columns is not None:
        offsets = np.arange(offset, offset + len(columns), dtype=np.int64)
        builder.append_columns(replace(columns, offsets=offsets))
    for record in singles:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    built = builder.build()
    largest, where = builder.info
    return ValidationResult(
        built,
        check_batches(built),
        builder.next_offset,
        NO_TIMESTAMP if largest is None else largest,
        NO_OFFSET if where is None else where,
        now,
        message_size_maybe_changed=True,
    )

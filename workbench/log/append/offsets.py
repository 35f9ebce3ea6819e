"""The offsets of an append: a leader assigns them, others have them.

Kafka: UnifiedLog.append, its part about offsets (4.2)
"""

from workbench.config.changed_defaults import told
from workbench.errors import RecordTooLargeError, UnexpectedAppendOffsetError
from workbench.log.append.append_info import UNKNOWN_OFFSET, LogAppendInfo
from workbench.log.append.validator import LogValidator
from workbench.log.context import LogContext
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch, received_records


def assign_offsets(
    context: LogContext,
    records: MemoryRecords,
    batches: list[CheckedBatch],
    info: LogAppendInfo,
    validator: LogValidator,
) -> tuple[MemoryRecords, list[CheckedBatch]]:
    """Give the records offsets, epoch, time, and the topic's codec and format.

    Args:
        context: the log's context.
        records: changed in place if nothing else in them changes.
        batches: what the checks found in them.
        info: the append's summary; its first offset is set, the rest is changed.
        validator: checks the records and assigns their offsets.

    Returns:
        The records to write, and their batches.

    Raises:
        RecordTooLargeError: a rebuilt batch is larger than `max.message.bytes`.
        AppendError, CorruptRecordError: see `LogValidator.validate_and_assign`.
    """
    where, config = context.topic_partition, context.config
    result = validator.validate_and_assign(records, batches, info.first_offset)
    info.max_timestamp = result.max_timestamp
    info.last_offset = result.next_offset - 1
    if config.message_timestamp_type == "LogAppendTime":
        info.log_append_time = result.log_append_time
    if result.message_size_maybe_changed:
        for batch in result.batches:
            if batch.size > config.max_message_bytes:
                context.metrics.reject(where.topic, records.size)
                limit = told("max.message.bytes", config.max_message_bytes)
                raise RecordTooLargeError(
                    f"{where}: a batch has {batch.size} bytes in the topic's codec and format, "
                    f"more than max.message.bytes = {limit}"
                )
    return result.records, result.batches


def check_next_offset(
    where: object,
    records: MemoryRecords,
    first: CheckedBatch,
    info: LogAppendInfo,
    log_end_offset: int,
) -> None:
    """Check that records that have their offsets begin at or after the log end offset.

    Args:
        where: the partition, named in the error.
        records: the append.
        first: its first batch.
        info: its summary.
        log_end_offset: the log's.

    Raises:
        UnexpectedAppendOffsetError: they begin before it.
        InvalidRecordError, CorruptRecordError: so does a compressed message that cannot be read.
    """
    found = info.first_or_last_offset_of_first_batch
    if found >= log_end_offset:
        return
    which, offset = "first offset", info.first_offset
    if offset == UNKNOWN_OFFSET:
        which, offset = "last offset of the first batch", first.base_offset
    if offset == UNKNOWN_OFFSET:
        offset = received_records(records.buffer, first)[0].offset
    raise UnexpectedAppendOffsetError(
        f"{where}: the {which} is {found}, below the log end offset {log_end_offset}; "
        f"last offset {info.last_offset}, log start offset {info.log_start_offset}",
        offset,
        info.last_offset,
    )

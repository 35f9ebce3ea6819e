"""Append records to a log: check, number, roll, write, remember.

Kafka: UnifiedLog.append (4.2)
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from workbench.errors import (
    RecordBatchTooLargeError,
    RecordTooLargeError,
    StorageError,
    UnexpectedAppendOffsetError,
)
from workbench.log.append_info import UNKNOWN_OFFSET, LogAppendInfo, analyze
from workbench.log.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.log_base import LogBase
from workbench.log.producer_append import ProducerAppendInfo, producer_batches
from workbench.log.producer_entry import BatchMetadata, CompletedTransaction
from workbench.log.record_rules import rules_of
from workbench.log.roll import why_roll
from workbench.log.segment import LogSegment
from workbench.log.segment_recovery import read_marker
from workbench.log.validator import LogValidator, number_ready
from workbench.record.memory_records import MemoryRecords
from workbench.record.validation import CheckedBatch, LogBatch, RecordRules

_FARTHEST: Final = 2**31 - 1  # the first offset of an old wrapper is at most so far before its last


class ProducerUpdate(NamedTuple):
    """What an append does to the producer state, once it is written.

    Attributes:
        producers: those that wrote.
        completed: transactions that markers end.
        duplicate: the batch that was sent before, if the append is one.
    """

    producers: list[ProducerAppendInfo]
    completed: list[CompletedTransaction]
    duplicate: BatchMetadata | None = None


_NO_PRODUCERS: Final = ProducerUpdate([], [])


def append(
    log: LogBase,
    records: MemoryRecords,
    origin: AppendOrigin,
    leader_epoch: int,
    *,
    keeps_offsets: bool,
    transaction_version: int = 0,
) -> LogAppendInfo:
    """Append records; who calls holds no lock.

    Args:
        log: that gets them.
        records: offsets, epochs and times are set in place unless they are kept.
        origin: where they come from.
        leader_epoch: of the partition now.
        keeps_offsets: they have offsets, of a leader; else the log numbers them.
        transaction_version: as the transaction coordinator says with a marker.

    Raises:
        AppendError, CorruptRecordError: the records may not be appended; the log is as before.
        StorageError: writing failed and the log directory is offline, or the log is closed.

    Kafka: UnifiedLog.append (4.2)
    """
    context = log.context
    failures, now = context.failures, context.clock.now()
    rules = None if keeps_offsets else rules_of(context.config)
    start = log.watermarks.log_start_offset
    info, checked = analyze(
        context, records, origin, leader_epoch, log_start_offset=start, rules=rules, now=now
    )
    if info.valid_bytes <= 0:
        return info
    if info.valid_bytes < len(records.buffer):
        records = records.part(0, info.valid_bytes)
    with log.lock:
        if failures.any_offline:
            failures.check(context.log_directory)
        try:
            log.local.check_open()
            batches: Sequence[LogBatch] = checked
            if rules is None:
                _check_next_offset(log, records, info)
            else:
                records, batches = _number(
                    log, records, checked, info, rules, (origin, leader_epoch)
                )
            _assign_epochs(log, batches)
            segment = _maybe_roll(log, len(records.buffer), info, now)
            update = _NO_PRODUCERS
            if info.has_producers:
                update = _check_producers(log, records, segment, origin, transaction_version)
                if update.duplicate is not None:
                    _answer_duplicate(log, info, update.duplicate)
                    return info
            _write(log, records, batches, info, update, segment)
            if log.local.unflushed_messages >= context.config.flush_messages:
                log.flush()
        except StorageError:
            raise
        except OSError as error:
            where = context.log_directory
            raise failures.failed(where, "append to", context.topic_partition, error) from error
    return info


def _check_next_offset(log: LogBase, records: MemoryRecords, info: LogAppendInfo) -> None:
    end = log.log_end_offset
    first = info.first_or_last_offset_of_first_batch
    if first >= end:
        return
    if info.first_offset == UNKNOWN_OFFSET:
        which, offset = "last offset of the first batch", records.records()[0].offset
    else:
        which, offset = "first offset", info.first_offset
    raise UnexpectedAppendOffsetError(
        f"{log.context.topic_partition}: the {which} is {first}, below the log's end {end}; last "
        f"offset {info.last_offset}, log start offset {log.log_start_offset}",
        offset,
        info.last_offset,
    )


def _number(
    log: LogBase,
    records: MemoryRecords,
    batches: list[CheckedBatch],
    info: LogAppendInfo,
    rules: RecordRules,
    by: tuple[AppendOrigin, int],
) -> tuple[MemoryRecords, Sequence[LogBatch]]:
    """Give the records offsets, epoch, time, and the topic's codec and format.

    Args:
        log: at whose end they come.
        records: changed in place where they stay as they are but for that.
        batches: what was found of them.
        info: of the append; changed.
        rules: of the topic.
        by: whom: origin and leader epoch.
    """
    context, config = log.context, log.context.config
    info.first_offset = offset = log.local.end.offset
    ready = number_ready(records, batches, rules, offset, by[1])
    if ready is not None:
        info.last_offset = ready.last_offset
        return records, [ready]
    validator = LogValidator(context.topic_partition, config, *by, context.clock.now())
    result = validator.validate_and_assign(records, batches, offset)
    info.max_timestamp = result.max_timestamp
    info.last_offset = result.next_offset - 1
    if config.message_timestamp_type == "LogAppendTime":
        info.log_append_time = result.log_append_time
    if result.message_size_maybe_changed:
        for batch in result.batches:
            if batch.size > config.max_message_bytes:
                raise RecordTooLargeError(
                    f"{context.topic_partition}: a batch has {batch.size} bytes in the topic's "
                    f"codec and format, max.message.bytes is {config.max_message_bytes}"
                )
    return result.records, result.batches


def _assign_epochs(log: LogBase, batches: Sequence[LogBatch]) -> None:
    epochs = log.leader_epochs
    latest = epochs.latest
    for batch in batches:
        if batch.magic < 2:
            if epochs.non_empty:
                reason = f"a batch of magic {batch.magic} was appended"
                log.context.tell("leader epochs cleared", reason)
                epochs.clear_and_flush()
        elif latest is None or batch.partition_leader_epoch != latest.epoch:
            epochs.assign(batch.partition_leader_epoch, batch.base_offset)
            latest = epochs.latest


def _maybe_roll(log: LogBase, size: int, info: LogAppendInfo, now: int) -> LogSegment:
    """Return the segment that the records go to, a new one if the active one is full.

    Kafka: UnifiedLog.maybeRoll (4.2)
    """
    config, segment = log.context.config, log.local.segments.active
    if size > config.segment_bytes:
        raise RecordBatchTooLargeError(
            f"{log.context.topic_partition}: an append of {size} bytes, segment.bytes is "
            f"{config.segment_bytes}"
        )
    reason = why_roll(segment, config, size, info.max_timestamp, info.last_offset, now)
    if reason is None:
        return segment
    base_offset = info.first_offset
    if base_offset == UNKNOWN_OFFSET:
        base_offset = info.last_offset - _FARTHEST
    return log.roll(base_offset, reason)


def _check_producers(
    log: LogBase,
    records: MemoryRecords,
    segment: LogSegment,
    origin: AppendOrigin,
    transaction_version: int,
) -> ProducerUpdate:
    """Hold each batch with a producer id against what is known of the producer.

    Kafka: UnifiedLog.analyzeAndValidateProducerState (4.2)
    """
    state = log.producer_state
    updated: dict[int, ProducerAppendInfo] = {}
    completed: list[CompletedTransaction] = []
    rows = records.batches().rows
    for batch in producer_batches(rows):
        row = rows[batch.row]
        entry = state.last_entry(batch.producer_id)
        if origin is AppendOrigin.CLIENT and entry is not None:
            duplicate = entry.find_duplicate(
                batch.producer_epoch, batch.base_sequence, batch.last_sequence
            )
            if duplicate is not None:
                return ProducerUpdate(list(updated.values()), completed, duplicate)
        first_offset = None
        if batch.is_transactional:
            position = segment.size + int(row["position"])
            first_offset = LogOffsetMetadata(batch.base_offset, segment.base_offset, position)
        info = updated.get(batch.producer_id)
        if info is None:
            info = updated[batch.producer_id] = state.prepare_update(batch.producer_id, origin)
        marker = None
        if batch.is_control and batch.record_count > 0:
            start = int(row["position"])
            marker = read_marker(records.buffer[start : start + int(row["size"])])
        done = info.append(batch, marker, first_offset, transaction_version)
        if done is not None:
            completed.append(done)
    return ProducerUpdate(list(updated.values()), completed)


def _answer_duplicate(log: LogBase, info: LogAppendInfo, duplicate: BatchMetadata) -> None:
    info.first_offset, info.last_offset = duplicate.first_offset, duplicate.last_offset
    info.log_append_time = duplicate.timestamp
    info.log_start_offset = log.log_start_offset
    info.is_duplicate = True
    log.context.tell(
        "duplicate found",
        "the producer sent these sequence numbers before",
        first_offset=info.first_offset,
        last_offset=info.last_offset,
    )


def _write(
    log: LogBase,
    records: MemoryRecords,
    batches: Sequence[LogBatch],
    info: LogAppendInfo,
    update: ProducerUpdate,
    segment: LogSegment,
) -> None:
    state = log.producer_state
    log.local.append(info.last_offset, records, batches)
    log.watermarks.follow_end()
    if info.has_producers:
        for producer in update.producers:
            state.update(producer)
        for done in update.completed:
            segment.update_transaction_index(done, state.last_stable_offset(done))
            state.complete_transaction(done)
    state.map_end_offset = info.last_offset + 1
    log.watermarks.update_first_unstable()
    if log.context.observer is not None:
        log.context.tell(
            "appended",
            "",
            first_offset=info.first_offset,
            last_offset=info.last_offset,
            bytes=records.size,
            batches=len(batches),
        )

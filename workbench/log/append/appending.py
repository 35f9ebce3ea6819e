"""Append records to a log: check, assign offsets, roll, write, update the producer state.

Kafka: UnifiedLog.append, analyzeAndValidateRecords, maybeRoll (4.2)
"""

from collections.abc import Sequence
from typing import Final

from workbench.config.changed_defaults import with_default_note
from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    OffsetsOutOfOrderError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    StorageError,
    UnexpectedAppendOffsetError,
)
from workbench.file_system.local import is_passing
from workbench.layout import problems
from workbench.layout.attributes import NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP, NONE
from workbench.layout.integers import INT32_MAX
from workbench.log.append.append_info import UNKNOWN_OFFSET, LogAppendInfo
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.append.validation import LogValidator
from workbench.log.base_log import BaseLog
from workbench.log.context import LogContext
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.flushing import flush, roll
from workbench.log.producers.producer import BatchMetadata
from workbench.log.producers.update import ProducerUpdate, check_producers
from workbench.log.segments.segment import LogSegment
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import (
    CheckedBatch,
    RecordRules,
    check_batches,
    received_records,
)

_FARTHEST: Final = INT32_MAX  # largest distance from an old wrapper's first offset to its last


def append(
    log: BaseLog,
    records: MemoryRecords,
    origin: AppendOrigin,
    leader_epoch: int,
    *,
    keeps_offsets: bool,
    transaction_version: int = 0,
) -> LogAppendInfo:
    """Append records; the caller must not hold a lock.

    Args:
        log: the log to append to.
        records: batches whose offsets, epochs and times are set in place unless they are kept.
        origin: the source of the records.
        leader_epoch: the partition's current leader epoch.
        keeps_offsets: whether they have a leader's offsets; otherwise the log assigns them.
        transaction_version: version that the transaction coordinator sends with a marker.

    Raises:
        AppendError, CorruptRecordError: the records cannot be appended; the log did not change.
        StorageError: writing failed and the log directory is offline, or the log is closed.

    Kafka: UnifiedLog.append (4.2)
    """
    context, config = log.context, log.context.config
    failures, now, where = context.failures, context.clock.now(), context.topic_partition
    rules = context.record_rules
    checked = check_batches(records, None if keeps_offsets else rules, now)
    info, batches = analyze(
        context,
        records,
        checked,
        origin,
        leader_epoch,
        log_start_offset=log.watermarks.log_start_offset,
        keeps_offsets=keeps_offsets,
    )
    if info.valid_bytes <= 0:
        return info
    if info.valid_bytes < len(records.buffer):
        records = records.part(0, info.valid_bytes)
    with log.lock:
        local = log.local
        if failures.any_offline or local.is_closed:
            failures.check(context.log_directory)
            local.check_open()
        try:
            end_offset = local.end.offset
            if keeps_offsets:
                check_next_offset(where, records, batches[0], info, end_offset)
            else:
                info.first_offset = end_offset
                records, batches = assign_offsets(
                    context, records, batches, info, rules, origin=origin, leader_epoch=leader_epoch
                )
            _assign_epochs(log, batches)
            segment = maybe_roll(log, len(records.buffer), info, now)
            update = None
            if info.has_producers:
                update = check_producers(
                    log.producer_state, records, batches, segment, origin, transaction_version
                )
                if update.duplicate is not None:
                    _answer_duplicate(log, info, update.duplicate)
                    return info
            _write(log, records, batches, info, update, segment)
            if local.end.offset - local.recovery_point >= config.flush_messages:
                flush(log)
        except StorageError:
            raise
        except OSError as error:
            raise _failed(log, error) from error
    return info


def _failed(log: BaseLog, error: OSError) -> StorageError:
    """Return the error of an append that the operating system failed.

    The log directory is offline then, unless the process lacked descriptors or memory before
    anything was written.
    """
    context, end, active = log.context, log.local.end, log.local.segments.active
    is_new = end.segment_base_offset != active.base_offset
    if is_passing(error) and active.log.size == (0 if is_new else end.position):
        return context.nothing_written("append to", error)
    return context.failures.failed(
        context.log_directory, "append to", context.topic_partition, error
    )


def maybe_roll(log: BaseLog, size: int, info: LogAppendInfo, now: int) -> LogSegment:
    """Return the segment to append to, a new one if the active one is full.

    Args:
        log: the log to append to.
        size: bytes to append.
        info: the append's summary.
        now: ms.

    Raises:
        RecordBatchTooLargeError: the append is larger than a segment may be.
        StorageError: see `roll`.

    Kafka: UnifiedLog.maybeRoll (4.2)
    """
    config, segment = log.context.config, log.local.segments.active
    if size > config.segment_bytes:
        raise RecordBatchTooLargeError(
            f"{log.context.topic_partition}: the append has {size} bytes, "
            f"more than segment.bytes = {config.segment_bytes}"
        )
    reason = segment.why_roll(size, info.max_timestamp, info.last_offset, now)
    if reason is None:
        return segment
    base_offset = info.first_offset
    if base_offset == UNKNOWN_OFFSET:
        base_offset = info.last_offset - _FARTHEST
    return roll(log, base_offset, reason)


def _assign_epochs(log: BaseLog, batches: Sequence[CheckedBatch]) -> None:
    epochs = log.leader_epochs
    latest = epochs.entries[-1] if epochs.entries else None
    for batch in batches:
        if batch.magic < 2:
            if epochs.non_empty:
                reason = f"a batch of magic {batch.magic} was appended"
                log.context.tell("leader epochs cleared", reason=reason)
                epochs.clear_and_flush()
        elif latest is None or batch.partition_leader_epoch != latest.epoch:
            if batch.partition_leader_epoch < 0:
                raise _without_epoch(log.context.topic_partition, batch)
            epochs.assign(batch.partition_leader_epoch, batch.base_offset)
            latest = epochs.latest


def _without_epoch(where: object, batch: CheckedBatch) -> InvalidRecordError:
    """Return the error of a batch that has no offsets and epoch from a leader.

    Kafka: the IllegalArgumentException of LeaderEpochFileCache.assign (4.2)
    """
    return InvalidRecordError(
        f"{where}: the batch at offset {batch.base_offset} has no partition leader epoch "
        f"(found {batch.partition_leader_epoch}, expected 0 or more), which a leader assigns: "
        "append it with append_as_leader, or build it with partition_leader_epoch"
    )


def _answer_duplicate(log: BaseLog, info: LogAppendInfo, duplicate: BatchMetadata) -> None:
    info.first_offset, info.last_offset = duplicate.first_offset, duplicate.last_offset
    info.log_append_time = duplicate.timestamp
    info.log_start_offset = log.watermarks.log_start_offset
    info.is_duplicate = True
    log.context.tell(
        "duplicate found",
        reason="the producer sent these sequence numbers before",
        first_offset=info.first_offset,
        last_offset=info.last_offset,
    )


def _write(
    log: BaseLog,
    records: MemoryRecords,
    batches: Sequence[CheckedBatch],
    info: LogAppendInfo,
    update: ProducerUpdate | None,
    segment: LogSegment,
) -> None:
    """Append batches that have their offsets to the active segment, and follow them.

    Kafka: LocalLog.append (4.2)
    """
    segment.append(info.last_offset, records, batches)
    log.local.end = LogOffsetMetadata(info.last_offset + 1, segment.base_offset, segment.log.size)
    log.watermarks.follow_end()
    if update is not None:
        update.apply(segment)
    log.producer_state.map_end_offset = info.last_offset + 1
    log.watermarks.update_first_unstable()  # producers may also have expired since the last append
    if log.context.observer is not None:
        log.context.tell(
            "appended",
            first_offset=info.first_offset,
            last_offset=info.last_offset,
            bytes=records.size,
            batches=len(batches),
        )


def analyze(
    context: LogContext,
    records: MemoryRecords,
    batches: list[CheckedBatch],
    origin: AppendOrigin,
    leader_epoch: int,
    *,
    log_start_offset: int,
    keeps_offsets: bool,
) -> tuple[LogAppendInfo, list[CheckedBatch]]:
    """Check the batches of an append, and sum them up.

    Rules that the records of a leader's append break are noted in the batches, not raised.

    Args:
        context: the log's context.
        records: the records that the batches are from.
        batches: the result of `check_batches`.
        origin: the source of the records.
        leader_epoch: the partition's current leader epoch.
        log_start_offset: the log's log start offset.
        keeps_offsets: whether they have their offsets, which must ascend; from a leader sizes are
            not checked, and batches of a later leader epoch are left for the next fetch.

    Returns:
        The summary, and the batches to append.

    Raises:
        CorruptRecordError: a CRC is invalid.
        InvalidRecordError: a client's batch has a base offset, or a controller's the wrong epoch.
        RecordTooLargeError: a batch is larger than `max.message.bytes`.
        OffsetsOutOfOrderError: given offsets do not ascend.

    Kafka: UnifiedLog.analyzeAndValidateRecords (4.2)
    """
    where = context.topic_partition
    is_client, is_controller = origin is AppendOrigin.CLIENT, origin is AppendOrigin.RAFT_LEADER
    is_follower = keeps_offsets and origin is AppendOrigin.REPLICATION
    largest_batch = context.config.max_message_bytes
    first_offset, last_offset, last_of_first = UNKNOWN_OFFSET, -1, -1
    last_epoch, max_timestamp, source_codec, valid_bytes = -1, NO_TIMESTAMP, NONE, 0
    has_producers = False
    taken = 0
    for batch in batches:
        epoch = batch.partition_leader_epoch
        if (is_client and batch.base_offset != 0 and batch.magic >= 2) or (
            is_controller and epoch != leader_epoch
        ):
            raise _refused(where, batch, origin, leader_epoch)
        if is_follower and epoch > leader_epoch and epoch != NO_PARTITION_LEADER_EPOCH:
            break
        if not taken:
            first_offset = batch.base_offset if batch.magic >= 2 else UNKNOWN_OFFSET
            last_of_first = batch.last_offset
        elif keeps_offsets and last_offset >= batch.last_offset:
            raise OffsetsOutOfOrderError(
                f"{where}: offset {batch.last_offset} follows {last_offset}, "
                "but offsets must ascend"
            )
        last_offset, last_epoch = batch.last_offset, epoch
        if not is_follower and batch.size > largest_batch:
            context.metrics.reject(where.topic, records.size)
            limit = with_default_note("max.message.bytes", largest_batch)
            raise RecordTooLargeError(
                f"{where}: the batch has {batch.size} bytes, more than max.message.bytes = {limit}"
            )
        if batch.problem != problems.OK and not batch.is_valid:
            raise CorruptRecordError(
                str(where),
                batch.position,
                f"the CRC of the batch does not match the stored {batch.crc:08x}",
            )
        if batch.max_timestamp > max_timestamp:  # noqa: PLR1730  # a third of the time of `max`
            max_timestamp = batch.max_timestamp
        valid_bytes += batch.size
        source_codec = batch.codec or source_codec
        has_producers = has_producers or batch.producer_id >= 0
        taken += 1
    info = LogAppendInfo(
        first_offset,
        last_offset,
        last_epoch if last_epoch >= 0 else None,
        max_timestamp,
        log_append_time=NO_TIMESTAMP,
        log_start_offset=log_start_offset,
        source_codec=source_codec,
        valid_bytes=valid_bytes,
        last_offset_of_first_batch=last_of_first,
        has_producers=has_producers,
    )
    return info, batches if taken == len(batches) else batches[:taken]


def _refused(
    where: object, batch: CheckedBatch, origin: AppendOrigin, leader_epoch: int
) -> InvalidRecordError:
    """Return the error of a batch that its sender must not send so."""
    if origin is AppendOrigin.CLIENT:
        return InvalidRecordError(
            f"{where}: the base offset of a batch from a client is wrong "
            f"(found {batch.base_offset}, expected 0)"
        )
    return InvalidRecordError(
        f"{where}: the epoch of a batch from the controller's leader is wrong (found "
        f"{batch.partition_leader_epoch}, expected {leader_epoch})"
    )


def assign_offsets(
    context: LogContext,
    records: MemoryRecords,
    batches: list[CheckedBatch],
    info: LogAppendInfo,
    rules: RecordRules,
    *,
    origin: AppendOrigin,
    leader_epoch: int,
) -> tuple[MemoryRecords, list[CheckedBatch]]:
    """Give the records offsets, epoch, time, and the topic's codec and format.

    Args:
        context: the log's context.
        records: changed in place if nothing else in them changes.
        batches: what the checks found in them.
        info: the append's summary; its first offset is set, the rest is changed.
        rules: those that the batches were checked by.
        origin: the source of the records.
        leader_epoch: the epoch to set.

    Returns:
        The records to write, and their batches.

    Raises:
        RecordTooLargeError: a rebuilt batch is larger than `max.message.bytes`.
        AppendError, CorruptRecordError: see `LogValidator.validate_and_assign`.
    """
    where, config = context.topic_partition, context.config
    first = batches[0]
    if first.is_ready and len(batches) == 1 and rules.codec in {None, first.codec}:
        batch = first.number(records.buffer, info.first_offset, leader_epoch)  # as usual
        info.last_offset = batch.last_offset
        return records, [batch]
    validator = LogValidator(where, rules, origin, leader_epoch, context.clock.now())
    result = validator.validate_and_assign(records, batches, info.first_offset)
    info.max_timestamp = result.max_timestamp
    info.last_offset = result.next_offset - 1
    if config.message_timestamp_type == "LogAppendTime":
        info.log_append_time = result.log_append_time
    if result.message_size_maybe_changed:
        for batch in result.batches:
            if batch.size > config.max_message_bytes:
                context.metrics.reject(where.topic, records.size)
                limit = with_default_note("max.message.bytes", config.max_message_bytes)
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

"""Append records to a log: check, assign offsets, roll, write, update the producer state.

Kafka: UnifiedLog.append (4.2)
"""

from collections.abc import Sequence

from workbench.errors import InvalidRecordError, StorageError
from workbench.log.append.analysis import analyze
from workbench.log.append.append_info import LogAppendInfo
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.append.offsets import assign_offsets, check_next_offset
from workbench.log.append.validator import LogValidator, rules_of
from workbench.log.flushing import flush, maybe_roll
from workbench.log.parts import LogParts
from workbench.log.producers.producer import BatchMetadata
from workbench.log.producers.update import ProducerUpdate, check_producers
from workbench.log.segments.segment import LogSegment
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch, check_batches


def append(
    log: LogParts,
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
    rules = rules_of(config)
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
        if failures.any_offline:
            failures.check(context.log_directory)
        try:
            log.local.check_open()
            end_offset = log.local.end.offset
            if keeps_offsets:
                check_next_offset(where, records, batches[0], info, end_offset)
            else:
                info.first_offset = end_offset
                validator = LogValidator(where, rules, origin, leader_epoch, context.clock.now())
                records, batches = assign_offsets(context, records, batches, info, validator)
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
            if log.local.unflushed_messages >= config.flush_messages:
                flush(log)
        except StorageError:
            raise
        except OSError as error:
            offline = context.log_directory
            raise failures.failed(offline, "append to", where, error) from error
    return info


def _assign_epochs(log: LogParts, batches: Sequence[CheckedBatch]) -> None:
    epochs = log.leader_epochs
    latest = epochs.latest
    for batch in batches:
        if batch.magic < 2:
            if epochs.non_empty:
                reason = f"a batch of magic {batch.magic} was appended"
                log.context.tell("leader epochs cleared", reason)
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


def _answer_duplicate(log: LogParts, info: LogAppendInfo, duplicate: BatchMetadata) -> None:
    info.first_offset, info.last_offset = duplicate.first_offset, duplicate.last_offset
    info.log_append_time = duplicate.timestamp
    info.log_start_offset = log.watermarks.log_start_offset
    info.is_duplicate = True
    log.context.tell(
        "duplicate found",
        "the producer sent these sequence numbers before",
        first_offset=info.first_offset,
        last_offset=info.last_offset,
    )


def _write(
    log: LogParts,
    records: MemoryRecords,
    batches: Sequence[CheckedBatch],
    info: LogAppendInfo,
    update: ProducerUpdate | None,
    segment: LogSegment,
) -> None:
    log.local.append(info.last_offset, records, batches)
    log.watermarks.follow_end()
    if update is not None:
        update.apply(segment)
    log.producer_state.map_end_offset = info.last_offset + 1
    log.watermarks.update_first_unstable()
    if log.context.observer is not None:
        log.context.tell(
            "appended",
            first_offset=info.first_offset,
            last_offset=info.last_offset,
            bytes=records.size,
            batches=len(batches),
        )

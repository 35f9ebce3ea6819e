"""Operations that shorten a log: retention, a higher log start offset, truncation.

Kafka: UnifiedLog.deleteOldSegments, maybeIncrementLogStartOffset, truncateTo (4.2)
"""

from workbench.errors import OffsetOutOfRangeError
from workbench.log.base_log import BaseLog
from workbench.log.flushing import roll
from workbench.log.producers.rebuild import rebuild_producer_state
from workbench.log.producers.state import delete_producer_snapshots
from workbench.log.retention import LOG_START, LogState, RetentionVerdict, Rule, rules_for
from workbench.log.segments.files import remove_and_delete_segments
from workbench.log.segments.segment import LogSegment


def delete_old_segments(log: BaseLog) -> list[RetentionVerdict]:
    """Apply retention; return the verdict of each rule on each segment that it checked.

    Raises:
        StorageError: files could not be changed; the log directory is offline.

    Kafka: UnifiedLog.deleteOldSegments (4.2)
    """
    verdicts: list[RetentionVerdict] = []
    if not log.context.is_retained:
        return verdicts
    for rule in rules_for(log.context.config, log.context.rules):
        verdicts += _delete_by(log, rule)
    return verdicts


def retention_state(log: BaseLog) -> LogState:
    """Return the current state that the retention rules check."""
    return LogState(
        log.local.segments.all,
        log.watermarks.log_start_offset,
        log.local.end_offset,
        log.watermarks.high,
        log.context.config,
        log.context.clock.now(),
        log.context.rules,
        log.highest_remote_offset,
        log.context.is_retained,
    )


def maybe_increment_log_start_offset(log: BaseLog, offset: int, reason: str) -> bool:
    """Raise the log start offset; return whether it rose. It never falls.

    Raises:
        OffsetOutOfRangeError: it would be above the high watermark.
        StorageError: the log directory is offline.

    Kafka: UnifiedLog.maybeIncrementLogStartOffset (4.2)
    """
    with log.lock, log.context.guard("raise the log start offset of"):
        if offset > log.watermarks.high:
            where = f"{log.context.topic_partition} up to its high watermark"
            start = log.watermarks.log_start_offset
            raise OffsetOutOfRangeError(offset, start, log.watermarks.high + 1, where)
        if offset <= log.watermarks.log_start_offset:
            return False
        log.local.check_open()
        before = log.watermarks.log_start_offset
        log.watermarks.raise_log_start(offset)
        log.leader_epochs.truncate_from_start_async_flush(offset)
        log.producer_state.on_log_start_offset_incremented(offset)
        log.watermarks.update_first_unstable()
        log.context.tell("log start offset raised", reason=reason, before=before, after=offset)
        return True


def truncate_to(log: BaseLog, offset: int) -> bool:
    """Remove the records at and after ``offset``; return whether there were any.

    A batch that straddles the offset is removed whole, which may leave a gap before it.

    Raises:
        ValueError: the offset is negative.
        StorageError: files could not be changed; the log directory is offline.

    Kafka: UnifiedLog.truncateTo (4.2)
    """
    if offset < 0:
        raise ValueError(f"{log.context.topic_partition} cannot be truncated to offset {offset}")
    with log.lock, log.context.guard("truncate"):
        if offset >= log.local.end_offset:
            log.leader_epochs.truncate_from_end_async_flush(log.local.end_offset)
            return False
        if log.local.segments.all[0].base_offset > offset:
            truncate_fully_and_start_at(log, offset)
            return True
        deleted = log.local.truncate_to(offset)
        delete_producer_snapshots(log.context, log.producer_state, deleted, asynchronous=True)
        log.leader_epochs.truncate_from_end_async_flush(offset)
        log.watermarks.log_start_offset = min(offset, log.watermarks.log_start_offset)
        _rebuild_producer_state(log, offset)
        log.context.sync_names()  # restored snapshots would describe other batches
        log.watermarks.follow_end()
        return True


def truncate_fully_and_start_at(
    log: BaseLog, offset: int, log_start_offset: int | None = None
) -> None:
    """Remove all records and restart at an offset.

    Args:
        offset: the next record's offset.
        log_start_offset: the new log start offset; ``offset`` if None.

    Raises:
        StorageError: files could not be changed; the log directory is offline.

    Kafka: UnifiedLog.truncateFullyAndStartAt (4.2)
    """
    with log.lock, log.context.guard("truncate"):
        log.local.truncate_fully_and_start_at(offset)
        log.leader_epochs.clear_and_flush()
        log.producer_state.truncate_fully_and_start_at(offset)
        start = offset if log_start_offset is None else log_start_offset
        log.watermarks.log_start_offset = start
        _rebuild_producer_state(log, offset)
        log.watermarks.update(log.local.end)


def _delete_by(log: BaseLog, rule: Rule) -> list[RetentionVerdict]:
    with log.lock, log.context.guard("delete segments of"):
        verdicts = rule(retention_state(log))
        for verdict in verdicts:
            _tell_verdict(log, verdict)
        doomed = [verdict.segment for verdict in verdicts if verdict.is_deleted]
        if doomed:
            _delete_segments(log, doomed, verdicts[0].rule)
        return verdicts


def _tell_verdict(log: BaseLog, verdict: RetentionVerdict) -> None:
    if log.context.observer is not None:
        log.context.tell(
            "segment deletable" if verdict.is_deleted else "segment kept",
            verdict.segment.log.path,
            verdict.reason,
            rule=verdict.rule,
            base_offset=verdict.segment.base_offset,
            value=verdict.value,
            threshold=verdict.threshold,
        )


def _delete_segments(log: BaseLog, doomed: list[LogSegment], rule: str) -> None:
    if len(log.local.segments) == len(doomed):
        roll(log, reason="every segment is to be deleted, but a log needs an active one")
    following = log.local.segments.higher(doomed[-1].base_offset)
    assert following is not None
    if log.highest_remote_offset is None or rule == LOG_START:  # otherwise the tier has them
        maybe_increment_log_start_offset(log, following.base_offset, f"segments deleted by {rule}")
    remove_and_delete_segments(
        log.context, log.local.segments, doomed, asynchronous=True, reason=rule
    )
    delete_producer_snapshots(log.context, log.producer_state, doomed, asynchronous=True)
    if log.local.synced_to < log.local.recovery_point:
        log.context.sync_names()  # not flushed, and no recovery would check them


def _rebuild_producer_state(log: BaseLog, last_offset: int) -> None:
    rebuild_producer_state(
        log.producer_state,
        log.local.segments,
        log.watermarks.log_start_offset,
        last_offset,
        log.context.clock.now(),
        reload_from_clean_shutdown=False,
        observer=log.context.observer,
    )

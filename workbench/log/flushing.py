"""Roll a log to a new segment, and flush its records to the disk.

Kafka: UnifiedLog.roll, flush (4.2)
"""

from workbench.file_system.local import is_passing
from workbench.log.base_log import BaseLog
from workbench.log.segments.segment import LogSegment


def roll(
    log: BaseLog, expected_next_offset: int = 0, reason: str = "a caller asked for it"
) -> LogSegment:
    """Create a new active segment and return it; the scheduler flushes the old one.

    Args:
        expected_next_offset: base offset of the new one if it is above the log end offset.
        reason: why, for the observer.

    Raises:
        ValueError: a segment with records already begins there or after it.
        StorageError: files could not be created; the log directory is offline, unless it was for
            want of memory or descriptors.

    Kafka: UnifiedLog.roll (4.2)
    """
    with log.lock, log.context.guard("roll"):
        segment = log.local.roll(expected_next_offset, reason)
        log.producer_state.update_map_end_offset(segment.base_offset)
        snapshot = _snapshot(log)
        log.watermarks.follow_end()

    def flush_rolled() -> None:
        try:
            with log.context.guard("flush the snapshot of", changes_nothing=True):
                if snapshot is not None:
                    log.producer_state.flush_snapshot(snapshot)
            flush_up_to(log, segment.base_offset)
        except OSError as error:
            if not is_passing(error):
                raise
            # The recovery point has not moved, so the next flush does this one's work.

    log.context.scheduler.schedule("flush-log", flush_rolled)
    return segment


def _snapshot(log: BaseLog) -> str | None:
    """Take a producer snapshot; None if a process lacks descriptors: the next load reads more."""
    try:
        return log.producer_state.take_snapshot(sync=False)
    except OSError as error:
        if not is_passing(error):
            raise
        return None


def flush(log: BaseLog, *, force_active_segment: bool = False) -> None:
    """Return when all records are on the disk.

    Args:
        force_active_segment: whether to flush the active segment even if it has no records.

    Raises:
        OSError: the process has no memory or descriptors, for now; nothing has changed.
        StorageError: they might not be; the log directory is offline.

    Kafka: UnifiedLog.flush (4.2)
    """
    end = log.local.end_offset
    _flush(log, end, end + 1 if force_active_segment else end)


def flush_up_to(log: BaseLog, offset: int) -> None:
    """Return when the records below ``offset`` are on the disk; for errors see `flush`."""
    _flush(log, offset, offset)


def _flush(log: BaseLog, offset: int, flush_offset: int) -> None:
    with log.context.guard("flush", changes_nothing=True):
        if flush_offset <= log.local.recovery_point:
            return
        before = log.local.recovery_point
        try:
            state = log.local.flush(flush_offset)
        except FileNotFoundError:  # a segment was deleted, or the directory renamed, meanwhile
            with log.lock:
                if log.local.is_closed:
                    return
                state = log.local.flush(flush_offset)
        with log.lock:
            log.local.mark_flushed(offset, state)
        log.context.tell("flushed", recovery_point=offset, before=before)

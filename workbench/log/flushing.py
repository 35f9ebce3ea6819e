"""Roll a log to a new segment, and flush its records to the disk.

Kafka: UnifiedLog.maybeRoll, roll, flush; LogSegment.shouldRoll (4.2)
"""

from typing import Final

from workbench.config.log_config import LogConfig
from workbench.errors import RecordBatchTooLargeError
from workbench.log.append.append_info import UNKNOWN_OFFSET, LogAppendInfo
from workbench.log.base_log import BaseLog
from workbench.log.segments.segment import LogSegment, fits
from workbench.runtime.times import with_hours

_FARTHEST: Final = 2**31 - 1  # largest distance from an old wrapper's first offset to its last


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
    reason = why_roll(segment, config, size, info.max_timestamp, info.last_offset, now)
    if reason is None:
        return segment
    base_offset = info.first_offset
    if base_offset == UNKNOWN_OFFSET:
        base_offset = info.last_offset - _FARTHEST
    return roll(log, base_offset, reason)


def why_roll(
    segment: LogSegment,
    config: LogConfig,
    added: int,
    max_timestamp: int,
    max_offset: int,
    now: int,
) -> str | None:
    """Return why records must go to a new segment; None if this one can take them.

    Args:
        segment: the active one.
        config: the topic's configuration.
        added: size of the records in bytes.
        max_timestamp: their largest timestamp, ms.
        max_offset: their last offset.
        now: ms.

    Kafka: LogSegment.shouldRoll (4.2)
    """
    size, limit = segment.log.size, config.segment_bytes
    if size > limit - added:
        return f"{size} + {added} bytes are more than segment.bytes = {limit}"
    if size > 0:
        waited, longest = segment.time_waited_for_roll(now, max_timestamp), config.max_segment_ms
        if waited > longest - segment.roll_jitter_ms:
            jitter = segment.roll_jitter_ms
            less = f" - jitter {with_hours(jitter, ' ms')}" if jitter else ""
            return (
                f"{with_hours(waited, ' ms')} passed since the segment's first batch, "
                f"more than {with_hours(longest, ' ms')}{less}"
            )
    if segment.offset_index.is_full:
        return f"the offset index is full with {segment.offset_index.entries} entries"
    if segment.time_index.is_full:
        return f"the time index is full with {segment.time_index.entries} entries"
    if not fits(max_offset, segment.base_offset):
        return f"offset {max_offset} is too far from base offset {segment.base_offset}"
    return None


def roll(
    log: BaseLog, expected_next_offset: int = 0, reason: str = "a caller asked for it"
) -> LogSegment:
    """Create a new active segment and return it; the scheduler flushes the old one.

    Args:
        expected_next_offset: base offset of the new one if it is above the log end offset.
        reason: why, for the observer.

    Raises:
        ValueError: a segment with records already begins there or after it.
        StorageError: files could not be created; the log directory is offline.

    Kafka: UnifiedLog.roll (4.2)
    """
    with log.lock, log.context.guard("roll"):
        segment = log.local.roll(expected_next_offset, reason)
        log.producer_state.update_map_end_offset(segment.base_offset)
        snapshot = log.producer_state.take_snapshot(sync=False)
        log.watermarks.follow_end()

    def flush_rolled() -> None:
        with log.context.guard("flush the snapshot of"):
            if snapshot is not None:
                log.producer_state.flush_snapshot(snapshot)
        flush_up_to(log, segment.base_offset)

    log.context.scheduler.schedule("flush-log", flush_rolled)
    return segment


def flush(log: BaseLog, *, force_active_segment: bool = False) -> None:
    """Return when all records are on the disk.

    Args:
        force_active_segment: whether to flush the active segment even if it has no records.

    Raises:
        StorageError: they might not be; the log directory is offline.

    Kafka: UnifiedLog.flush (4.2)
    """
    end = log.local.end_offset
    _flush(log, end, end + 1 if force_active_segment else end)


def flush_up_to(log: BaseLog, offset: int) -> None:
    """Return when the records below ``offset`` are on the disk; for errors see `flush`."""
    _flush(log, offset, offset)


def _flush(log: BaseLog, offset: int, flush_offset: int) -> None:
    with log.context.guard("flush"):
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

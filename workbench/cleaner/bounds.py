"""From where and up to where a log may be cleaned.

Kafka: LogCleanerManager.cleanableOffsets, LogToClean (4.2)
"""

from workbench.log.log import Log


def cleanable_range(log: Log, last_clean_offset: int | None, now: int) -> tuple[int, int]:
    """Return the first dirty offset and the first that may not be cleaned; equal: nothing may be.

    Args:
        log: of a compacted topic.
        last_clean_offset: of the cleaner's checkpoint; None if it has none.
        now: ms; `min.compaction.lag.ms` is measured by it.

    Kafka: LogCleanerManager.cleanableOffsets, calculateCleanableBytes (4.2)
    """
    segments = log.local.segments
    active = segments.active.base_offset
    first_dirty = log.log_start_offset if last_clean_offset is None else last_clean_offset
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset
    bounds = [log.last_stable_offset, active]
    lag = log.config.min_compaction_lag_ms
    if lag > 0 and first_dirty <= active:
        too_new = (
            segment.base_offset
            for segment in segments.non_active_from(first_dirty)
            if segment.largest_timestamp > now - lag
        )
        bounds += [next(too_new, active)]
    bound = max(first_dirty, min(bounds))
    if bound >= active:
        return first_dirty, max(first_dirty, active)
    segment = segments.floor(bound)
    start = bound if segment is None else segment.base_offset
    return first_dirty, max(first_dirty, start)

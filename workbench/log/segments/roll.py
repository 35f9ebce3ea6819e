"""Whether the active segment is full.

Kafka: RollParams, LogSegment.shouldRoll (4.2)
"""

from workbench.config.log_config import LogConfig
from workbench.log.segments.segment import LogSegment, fits
from workbench.runtime.times import with_hours


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

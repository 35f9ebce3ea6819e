"""Whether the active segment is full.

Kafka: RollParams, LogSegment.shouldRoll (4.2)
"""

from typing import NamedTuple

from workbench.log.segment import LogSegment
from workbench.log.segment_reading import fits


class RollParams(NamedTuple):
    """What a segment is asked with whether it is full.

    Attributes:
        max_segment_ms: `segment.ms`, or `max.compaction.lag.ms` where that is less and counts.
        max_segment_bytes: `segment.bytes`.
        max_timestamp: largest of the records to be appended, ms.
        max_offset: last of them.
        size: theirs, in bytes.
        now: ms.

    Kafka: RollParams (4.2)
    """

    max_segment_ms: int
    max_segment_bytes: int
    max_timestamp: int
    max_offset: int
    size: int
    now: int


def why_roll(segment: LogSegment, params: RollParams) -> str | None:
    """Return why records must go to a new segment; None if they may come to this one.

    Kafka: LogSegment.shouldRoll (4.2)
    """
    size, limit = segment.size, params.max_segment_bytes
    if size > limit - params.size:
        return f"{size} + {params.size} bytes are more than segment.bytes = {limit}"
    if size > 0:
        waited = segment.time_waited_for_roll(params.now, params.max_timestamp)
        if waited > params.max_segment_ms - segment.roll_jitter_ms:
            jitter = f" - jitter {segment.roll_jitter_ms}" if segment.roll_jitter_ms else ""
            return f"{waited} ms since its first batch, more than {params.max_segment_ms}{jitter}"
    if segment.offset_index.is_full:
        return f"the offset index is full with {segment.offset_index.entries} entries"
    if segment.time_index.is_full:
        return f"the time index is full with {segment.time_index.entries} entries"
    if not fits(params.max_offset, segment.base_offset):
        return f"offset {params.max_offset} is too far from base offset {segment.base_offset}"
    return None

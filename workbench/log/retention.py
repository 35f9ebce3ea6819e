"""Which segments retention deletes, and why the others stay.

The rules are asked in Kafka's order: log start offset, size, time. Each goes through the segments
from the oldest and stops at the first that it keeps.

Kafka: UnifiedLog.deleteOldSegments, deletableSegments (4.2)
"""

from collections.abc import Callable
from typing import NamedTuple

from workbench.log.config import LogConfig
from workbench.log.segment import LogSegment


class RetentionVerdict(NamedTuple):
    """What one rule says of one segment.

    Attributes:
        rule: "log start offset", "retention.bytes" or "retention.ms".
        segment: asked about.
        is_deleted: whether it goes.
        reason: why, with the numbers.
        value: what was compared: an offset, bytes or ms.
        threshold: what it was compared with.
    """

    rule: str
    segment: LogSegment
    is_deleted: bool
    reason: str
    value: int
    threshold: int


class LogState(NamedTuple):
    """What retention asks of a log.

    Attributes:
        segments: ascending.
        log_start_offset, log_end_offset, high_watermark: of the log.
        config: of the topic.
        now: ms since the epoch.
    """

    segments: list[LogSegment]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    config: LogConfig
    now: int


Rule = Callable[[LogState], list[RetentionVerdict]]
_Judge = Callable[[LogSegment, LogSegment | None], tuple[bool, str, int, int]]


def rules_for(config: LogConfig) -> list[Rule]:
    """Return the rules that count for a topic, in the order in which they are asked.

    Kafka: UnifiedLog.deleteOldSegments (4.2)
    """
    return [by_log_start, by_size, by_time] if config.delete else [by_log_start]


def all_verdicts(state: LogState) -> list[RetentionVerdict]:
    """Return what every rule says, one after the other, each of what the rules before it leave.

    Kafka: UnifiedLog.deleteOldSegments (4.2)
    """
    verdicts: list[RetentionVerdict] = []
    for rule in rules_for(state.config):
        found = rule(state)
        verdicts += found
        gone = [verdict.segment for verdict in found if verdict.is_deleted]
        if gone:
            left = state.segments[len(gone) :]
            start = left[0].base_offset if left else state.log_end_offset
            start = max(start, state.log_start_offset)
            state = state._replace(segments=left, log_start_offset=start)
    return verdicts


def by_log_start(state: LogState) -> list[RetentionVerdict]:
    """Judge the segments by the log start offset: what lies before it whole goes.

    Kafka: UnifiedLog.deleteLogStartOffsetBreachedSegments (4.2)
    """
    start = state.log_start_offset

    def judge(segment: LogSegment, following: LogSegment | None) -> tuple[bool, str, int, int]:
        if following is None:
            reason = "it is the active segment, and the log start offset never removes that"
            return False, reason, segment.base_offset, start
        base = following.base_offset
        breached = base <= start
        relation = "at or below" if breached else "above"
        reason = f"the next segment begins at {base}, {relation} the log start offset {start}"
        return breached, reason, base, start

    return _judge(state, "log start offset", judge)


def by_size(state: LogState) -> list[RetentionVerdict]:
    """Judge the segments by `retention.bytes`: they go while the log stays at least that large.

    Kafka: UnifiedLog.deleteRetentionSizeBreachedSegments (4.2)
    """
    limit = state.config.retention_bytes
    size = sum(segment.size for segment in state.segments)
    if limit < 0 or size < limit:
        return []

    def judge(segment: LogSegment, _following: LogSegment | None) -> tuple[bool, str, int, int]:
        nonlocal size
        left = size - segment.size
        breached = left >= limit
        reason = (
            f"the log has {size:,} bytes, {left:,} without the {segment.size:,} of this segment: "
            f"{'not less' if breached else 'less'} than retention.bytes = {limit:,}"
        )
        if breached:
            size = left
        return breached, reason, left, limit

    return _judge(state, "retention.bytes", judge)


def by_time(state: LogState) -> list[RetentionVerdict]:
    """Judge the segments by `retention.ms`, held against their largest timestamp.

    Kafka: UnifiedLog.deleteRetentionMsBreachedSegments (4.2)
    """
    limit = state.config.retention_ms
    if limit < 0:
        return []

    def judge(segment: LogSegment, _following: LogSegment | None) -> tuple[bool, str, int, int]:
        largest = segment.largest_timestamp
        age = state.now - largest
        what = "largest timestamp"
        if segment.max_timestamp_so_far.timestamp < 0:
            what = "file's time (no record has a timestamp)"
        reason = f"its {what} {largest} is {age:,} ms ago, "
        if age < 0:
            reason = f"its {what} {largest} is {-age:,} ms in the future, "
        reason += f"{'more' if age > limit else 'not more'} than retention.ms = {limit:,}"
        return age > limit, reason, age, limit

    return _judge(state, "retention.ms", judge)


def _judge(state: LogState, rule: str, judge: _Judge) -> list[RetentionVerdict]:
    """Ask of each segment from the oldest, until one stays; that one is the last of the list."""
    verdicts = []
    followers = [*state.segments[1:], None]
    for segment, following in zip(state.segments, followers, strict=False):  # no segments: one more
        upper = state.log_end_offset if following is None else following.base_offset
        if state.high_watermark < upper:
            reason = f"it reaches up to {upper}, the high watermark is {state.high_watermark}"
            kept = False
            verdict = RetentionVerdict(rule, segment, kept, reason, state.high_watermark, upper)
        else:
            verdict = RetentionVerdict(rule, segment, *judge(segment, following))
            if verdict.is_deleted and following is None and segment.size == 0:
                reason = "it is the active segment and empty"
                verdict = verdict._replace(is_deleted=False, reason=reason)
        verdicts.append(verdict)
        if not verdict.is_deleted:
            break
    return verdicts

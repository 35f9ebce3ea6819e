"""Which segments retention deletes, and why the others are kept.

The rules apply in Kafka's order: log start offset, size, time. Each checks the segments from the
oldest and stops at the first that it keeps.

Kafka: UnifiedLog.deleteOldSegments, deletableSegments (4.2)
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.log_config import LogConfig
from workbench.log.segments.log_segments import total_size
from workbench.log.segments.segment import LogSegment
from workbench.runtime.times import age_text, ms_and_time, ms_text

LOG_START: Final = "log start offset"


class RetentionVerdict(NamedTuple):
    """The verdict of one rule on one segment.

    Attributes:
        rule: "log start offset", "retention.bytes" or "retention.ms"; where a remote tier has the
            segments, "local.retention.bytes" or "local.retention.ms".
        segment: the segment.
        is_deleted: whether the rule deletes it.
        reason: why, with the numbers.
        value: the compared value: an offset, bytes or ms.
        threshold: the value that it was compared with.
    """

    rule: str
    segment: LogSegment
    is_deleted: bool
    reason: str
    value: int
    threshold: int


class LogState(NamedTuple):
    """The state of a log that retention checks.

    Attributes:
        segments: the segments, ascending.
        log_start_offset, log_end_offset, high_watermark: the log's offsets.
        config: the topic's configuration.
        now: ms since the epoch.
        rules: how brokers of the version that is assumed behave.
        highest_remote_offset: the last offset that the remote tier has, -1 for none; None: there is
            no tier. With one, only what it has is deleted, and the log start offset stays.
        is_retained: see `LogContext`.
    """

    segments: list[LogSegment]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    config: LogConfig
    now: int
    rules: BrokerRules = MODELED_RULES
    highest_remote_offset: int | None = None
    is_retained: bool = True

    @property
    def is_tiered(self) -> bool:
        """Whether segments are deleted here because the remote tier has them."""
        return self.highest_remote_offset is not None and self.config.copies_to_remote

    @property
    def size_limit(self) -> "RetentionLimit":
        """What limits the bytes of the log here."""
        if self.is_tiered:
            return RetentionLimit("local.retention.bytes", self.config.local_retention("bytes"))
        return RetentionLimit("retention.bytes", self.config.retention_bytes)

    @property
    def time_limit(self) -> "RetentionLimit":
        """What limits the age of segments here."""
        if self.is_tiered:
            return RetentionLimit("local.retention.ms", self.config.local_retention("ms"))
        return RetentionLimit("retention.ms", self.config.retention_ms)

    @property
    def limits_age(self) -> bool:
        """Whether segments are deleted by their age."""
        return self.time_limit.value >= 0 or not self.rules.knows_unlimited_age


class RetentionLimit(NamedTuple):
    """What limits a log: the configuration's name, and its value; -1 for no limit."""

    name: str
    value: int


Rule = Callable[[LogState], list[RetentionVerdict]]
_Judge = Callable[[LogSegment, LogSegment | None], tuple[bool, str, int, int]]


def rules_for(config: LogConfig, broker: BrokerRules = MODELED_RULES) -> list[Rule]:
    """Return the rules for a topic, in the order in which they apply.

    Kafka: UnifiedLog.deleteOldSegments (4.2)
    """
    always: list[Rule] = [by_log_start] if broker.deletes_below_start else []
    return [*always, by_size, by_time] if config.delete else always


def all_verdicts(state: LogState) -> list[RetentionVerdict]:
    """Return the verdicts of all rules in order, each on the segments that earlier rules kept.

    Kafka: UnifiedLog.deleteOldSegments (4.2)
    """
    verdicts: list[RetentionVerdict] = []
    for rule in rules_for(state.config, state.rules) if state.is_retained else ():
        found = rule(state)
        verdicts += found
        gone = [verdict.segment for verdict in found if verdict.is_deleted]
        if gone and (not state.is_tiered or rule is by_log_start):
            left = state.segments[len(gone) :]
            start = left[0].base_offset if left else state.log_end_offset
            start = max(start, state.log_start_offset)
            state = state._replace(segments=left, log_start_offset=start)
        elif gone:
            state = state._replace(segments=state.segments[len(gone) :])
    return verdicts


def by_log_start(state: LogState) -> list[RetentionVerdict]:
    """Judge the segments by the log start offset: those entirely before it are deleted.

    Kafka: UnifiedLog.deleteLogStartOffsetBreachedSegments (4.2)
    """
    start = state.log_start_offset

    def judge(segment: LogSegment, following: LogSegment | None) -> tuple[bool, str, int, int]:
        if following is None:
            reason = (
                "the segment is active, and the log start offset never deletes the active segment"
            )
            return False, reason, segment.base_offset, start
        base = following.base_offset
        breached = base <= start
        relation = "at or below" if breached else "above"
        reason = f"the next segment begins at {base}, {relation} the log start offset {start}"
        return breached, reason, base, start

    return _judge(state, LOG_START, judge)


def by_size(state: LogState) -> list[RetentionVerdict]:
    """Judge the segments by `retention.bytes`: delete while the log keeps at least that size.

    With a remote tier, `local.retention.bytes` decides.

    Kafka: UnifiedLog.deleteRetentionSizeBreachedSegments (4.2)
    """
    name, limit = state.size_limit
    size = total_size(state.segments)
    if limit < 0 or size < limit:
        return []

    def judge(segment: LogSegment, _following: LogSegment | None) -> tuple[bool, str, int, int]:
        nonlocal size
        left = size - segment.size
        breached = left >= limit
        reason = (
            f"the log has {size:,} bytes, {left:,} without the {segment.size:,} of this segment: "
            f"{'not less' if breached else 'less'} than {name} = {limit:,}"
        )
        if breached:
            size = left
        return breached, reason, left, limit

    return _judge(state, name, judge)


def by_time(state: LogState) -> list[RetentionVerdict]:
    """Judge the segments by `retention.ms`, compared with the age of their largest timestamp.

    With a remote tier, `local.retention.ms` decides.

    Kafka: UnifiedLog.deleteRetentionMsBreachedSegments (4.2)
    """
    name, limit = state.time_limit
    if limit < 0 and state.rules.knows_unlimited_age:
        return []
    more = ", which a broker before 0.9 does not take as no limit" if limit < 0 else ""

    def judge(segment: LogSegment, _following: LogSegment | None) -> tuple[bool, str, int, int]:
        largest = segment.largest_timestamp
        age = state.now - largest
        what = "largest timestamp"
        if state.rules.retains_by_file_time:
            what = "file time"
        elif segment.goes_by_file_time:
            what = "file time (no record has a timestamp)"
        reason = (
            f"the segment's {what} {ms_and_time(largest)} is {age_text(age)}, "
            f"{'' if age > limit else 'not '}above {name} = {ms_text(limit)}{more}"
        )
        return age > limit, reason, age, limit

    return _judge(state, name, judge)


def _waits(state: LogState, upper: int) -> str:
    """Return what a segment up to an offset waits for; empty if the remote tier has it.

    Kafka: UnifiedLog.isSegmentEligibleForDeletion (4.0)
    """
    if not state.is_tiered or upper - 1 <= (state.highest_remote_offset or 0):
        return ""
    if upper == state.log_end_offset:
        return "it is active: a broker rolls it, and deletes it once the remote tier has it"
    return "a broker deletes it once the remote tier has it"


def _judge(state: LogState, rule: str, judge: _Judge) -> list[RetentionVerdict]:
    """Judge segments from the oldest until one is kept; that one is the last of the list."""
    verdicts = []
    followers = [*state.segments[1:], None]
    for segment, following in zip(state.segments, followers, strict=False):  # no segments: one more
        upper = state.log_end_offset if following is None else following.base_offset
        keeps = state.rules.keeps_above_high_watermark
        if keeps and state.high_watermark < upper:
            reason = f"the segment reaches {upper}, above the high watermark {state.high_watermark}"
            kept = False
            verdict = RetentionVerdict(rule, segment, kept, reason, state.high_watermark, upper)
        else:
            verdict = RetentionVerdict(rule, segment, *judge(segment, following))
            if verdict.is_deleted and following is None and segment.size == 0:
                reason = "the segment is active and empty"
                verdict = verdict._replace(is_deleted=False, reason=reason)
            if verdict.is_deleted and rule != LOG_START and (waits := _waits(state, upper)):
                reason = f"{verdict.reason}; {waits}"
                verdict = verdict._replace(is_deleted=False, reason=reason)
        verdicts.append(verdict)
        if not verdict.is_deleted:
            break
    return verdicts

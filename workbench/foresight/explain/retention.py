"""Explain for every segment why retention deletes it, keeps it, or stops before it.

The engine's own rules decide; each stops at the first segment that it keeps. The rows also say what
the last rule, `retention.ms`, would decide for the later segments.

Kafka: UnifiedLog.deleteOldSegments (4.2)
"""

from collections.abc import Iterator
from typing import Final

from workbench.foresight.explain.rule_verdict import RuleVerdict, odd_timestamp, time_or_never
from workbench.log.retention import LogState, RetentionVerdict, all_verdicts, by_time
from workbench.log.segments.segment import LogSegment

LOG_START: Final = "log start offset"
SIZE: Final = "retention.bytes"
TIME: Final = "retention.ms"

_KAFKA: Final = {
    LOG_START: "UnifiedLog.deleteLogStartOffsetBreachedSegments",
    SIZE: "UnifiedLog.deleteRetentionSizeBreachedSegments",
    TIME: "UnifiedLog.deleteRetentionMsBreachedSegments",
}
_POLICY: Final = "UnifiedLog.deleteOldSegments"


def explain_retention(state: LogState, policy_source: str) -> list[RuleVerdict]:
    """Return retention's verdicts on a log and on each of its segments, in its own order.

    Args:
        state: the log's state.
        policy_source: the source of its `cleanup.policy`, as text.
    """
    verdicts = all_verdicts(state)
    rows = [_policy(state, policy_source)]
    gone: set[int] = set()
    in_force = [LOG_START] if state.rules.deletes_below_start else []
    if state.config.delete:
        in_force += [SIZE] * (state.config.retention_bytes >= 0)
        in_force += [TIME] * (state.config.retention_ms >= 0)
    for rule in (LOG_START, SIZE, TIME) if state.config.delete else (LOG_START,):
        if rule == LOG_START and rule not in in_force:
            continue
        asked = [verdict for verdict in verdicts if verdict.rule == rule]
        if not asked and rule != LOG_START:
            rows.append(_off(state, rule, gone))
            continue
        rows += _rows(state, rule, asked, gone, tells_rest=in_force[-1:] == [rule])
        gone |= {verdict.segment.base_offset for verdict in asked if verdict.is_deleted}
    return rows


def _policy(state: LogState, source: str) -> RuleVerdict:
    policy = ",".join(sorted(state.config.cleanup_policy)) or "none"
    if state.config.delete:
        reason = f"segments are deleted by age and by size ({source})"
        return RuleVerdict("cleanup.policy", "allows", policy, "delete", reason, _POLICY)
    reason = f"segments are deleted only below the log start offset ({source})"
    return RuleVerdict("cleanup.policy", "limits", policy, "delete", reason, _POLICY)


def _off(state: LogState, rule: str, gone: set[int]) -> RuleVerdict:
    """Say why a rule judges no segment."""
    limit = state.config.retention_bytes if rule == SIZE else state.config.retention_ms
    if limit < 0:
        reason = f"{rule} = {limit} sets no limit"
        return RuleVerdict(rule, "kept", None, limit, reason, _KAFKA[rule])
    size = sum(one.size for one in state.segments if one.base_offset not in gone)
    reason = f"the log has {size:,} bytes, less than {rule} = {limit:,}"
    if rule == TIME:
        reason = "the rules before it deleted every segment"
    return RuleVerdict(rule, "kept", size, limit, reason, _KAFKA[rule])


def _rows(
    state: LogState,
    rule: str,
    asked: list[RetentionVerdict],
    gone: set[int],
    *,
    tells_rest: bool,
) -> Iterator[RuleVerdict]:
    """Yield a rule's verdict on each segment; if ``tells_rest``, even past the one it stops at."""
    by_base = {verdict.segment.base_offset: verdict for verdict in asked}
    stopper = asked[-1].segment.base_offset if asked and not asked[-1].is_deleted else None
    due = 0
    for segment in state.segments:
        base = segment.base_offset
        if base in gone:
            continue
        if rule == TIME:
            due = max(due, segment.largest_timestamp + state.config.retention_ms + 1)
        verdict = by_base.get(base)
        if verdict is not None:
            yield RuleVerdict(
                rule,
                "deleted" if verdict.is_deleted else "kept",
                verdict.value,
                verdict.threshold,
                verdict.reason + (odd_timestamp(segment) if rule == TIME else ""),
                _KAFKA[rule],
                base,
                time_or_never(due) if rule == TIME and due > state.now else None,
            )
        elif stopper is not None and tells_rest:
            reason = f"the rule stops at segment {stopper}, which is kept"
            reason += _by_itself(state, rule, segment)
            waits = time_or_never(due) if rule == TIME and due > state.now else None
            yield RuleVerdict(rule, "not asked", None, None, reason, _KAFKA[rule], base, waits)


def _by_itself(state: LogState, rule: str, segment: LogSegment) -> str:
    """Return what `retention.ms` would decide for a segment if it were the oldest."""
    if rule != TIME:
        return ""
    at = state.segments.index(segment)
    verdict = by_time(state._replace(segments=state.segments[at:]))[0]
    fate = "deleted" if verdict.is_deleted else "kept"
    return f"; on its own, this segment would be {fate}: {verdict.reason}"

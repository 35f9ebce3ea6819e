"""Say of every segment why retention deletes it, keeps it, or does not come to it.

The engine's own rules are asked; they stop at the first segment that they keep. What the last of
them, `retention.ms`, would say of the segments behind it, if it came to them, is told too.

Kafka: UnifiedLog.deleteOldSegments (4.2)
"""

from collections.abc import Iterator
from typing import Final

from workbench.log.retention import LogState, RetentionVerdict, all_verdicts, by_time
from workbench.log.rule_verdict import RuleVerdict
from workbench.log.segment import LogSegment

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
    """Return what retention says of a log and of each of its segments, in the order it asks.

    Args:
        state: of the log.
        policy_source: where its `cleanup.policy` is told, in words.
    """
    verdicts = all_verdicts(state)
    rows = [_policy(state, policy_source)]
    gone: set[int] = set()
    in_force = [LOG_START]
    if state.config.delete:
        in_force += [SIZE] * (state.config.retention_bytes >= 0)
        in_force += [TIME] * (state.config.retention_ms >= 0)
    for rule in (LOG_START, SIZE, TIME) if state.config.delete else (LOG_START,):
        asked = [verdict for verdict in verdicts if verdict.rule == rule]
        if not asked and rule != LOG_START:
            rows.append(_off(state, rule, gone))
            continue
        rows += _rows(state, rule, asked, gone, tells_rest=rule == in_force[-1])
        gone |= {verdict.segment.base_offset for verdict in asked if verdict.is_deleted}
    return rows


def _policy(state: LogState, source: str) -> RuleVerdict:
    policy = ",".join(sorted(state.config.cleanup_policy)) or "none"
    if state.config.delete:
        reason = f"segments go by age and by size ({source})"
        return RuleVerdict("cleanup.policy", "allows", policy, "delete", reason, _POLICY)
    reason = f"segments go only where the log start offset is past them ({source})"
    return RuleVerdict("cleanup.policy", "limits", policy, "delete", reason, _POLICY)


def _off(state: LogState, rule: str, gone: set[int]) -> RuleVerdict:
    """Say why a rule asks of no segment."""
    size = sum(one.size for one in state.segments if one.base_offset not in gone)
    limit = state.config.retention_bytes if rule == SIZE else state.config.retention_ms
    if limit < 0:
        reason = "there is no limit"
        return RuleVerdict(rule, "kept", None, limit, reason, _KAFKA[rule])
    reason = f"the log has {size:,} bytes, less than {rule} = {limit:,}"
    return RuleVerdict(rule, "kept", size, limit, reason, _KAFKA[rule])


def _rows(
    state: LogState,
    rule: str,
    asked: list[RetentionVerdict],
    gone: set[int],
    *,
    tells_rest: bool,
) -> Iterator[RuleVerdict]:
    """Yield what a rule says of each segment; of those it does not come to if ``tells_rest``."""
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
                verdict.reason,
                _KAFKA[rule],
                base,
                due if rule == TIME and due > state.now else None,
            )
        elif stopper is not None and tells_rest:
            reason = f"segment {stopper} before it stays" + _by_itself(state, rule, segment)
            waits = due if rule == TIME and due > state.now else None
            yield RuleVerdict(rule, "not asked", None, None, reason, _KAFKA[rule], base, waits)


def _by_itself(state: LogState, rule: str, segment: LogSegment) -> str:
    """Return what `retention.ms` would say of a segment if it were the oldest."""
    if rule != TIME:
        return ""
    at = state.segments.index(segment)
    verdict = by_time(state._replace(segments=state.segments[at:]))[0]
    fate = "it would go" if verdict.is_deleted else "it would stay, too"
    return f"; by itself {fate}: {verdict.reason}"

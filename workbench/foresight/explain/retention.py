"""Explain for every segment why retention deletes it, keeps it, or stops before it.

The engine's own rules decide; each stops at the first segment that it keeps. The rows also say what
the last rule, `retention.ms`, would decide for the later segments.

Kafka: UnifiedLog.deleteOldSegments (4.2)
"""

from collections.abc import Iterator
from typing import Final

from workbench.foresight.explain.rule_verdict import odd_timestamp, rule_row, time_or_never
from workbench.log.retention import LOG_START, LogState, RetentionVerdict, all_verdicts, by_time
from workbench.log.segments.segment import LogSegment
from workbench.tables.foresight import RuleRow

_BY_SIZE: Final = "UnifiedLog.deleteRetentionSizeBreachedSegments"
_BY_TIME: Final = "UnifiedLog.deleteRetentionMsBreachedSegments"
_KAFKA: Final = {
    LOG_START: "UnifiedLog.deleteLogStartOffsetBreachedSegments",
    "retention.bytes": _BY_SIZE,
    "local.retention.bytes": _BY_SIZE,
    "retention.ms": _BY_TIME,
    "local.retention.ms": _BY_TIME,
}
_POLICY: Final = "UnifiedLog.deleteOldSegments"
_NO_CLEANER: Final = (
    "log.cleaner.enable = false: only the cleaner deletes segments of a topic whose cleanup.policy "
    "has compact, so nothing is deleted"
)
WOULD_BE_DELETED: Final = "on its own, this segment would be deleted"
"""Part of the reason of a segment that is not asked about."""


def explain_retention(state: LogState, policy_source: str) -> list[RuleRow]:
    """Return retention's verdicts on a log and on each of its segments, in its own order.

    Args:
        state: the log's state.
        policy_source: the source of its `cleanup.policy`, as text.
    """
    verdicts = all_verdicts(state)
    rows = [_policy(state, policy_source)]
    if not state.is_retained:
        return [*rows, _without_cleaner()]
    gone: set[int] = set()
    by_age = state.size_limit, state.time_limit
    in_force = [LOG_START] if state.rules.deletes_below_start else []
    if state.config.delete:
        in_force += [each.name for each in by_age if each.value >= 0]
        if not state.rules.knows_unlimited_age and by_age[1].value < 0:
            in_force.append(by_age[1].name)
    for rule in (
        (LOG_START, *(each.name for each in by_age)) if state.config.delete else (LOG_START,)
    ):
        if rule == LOG_START and rule not in in_force:
            continue
        asked = [verdict for verdict in verdicts if verdict.rule == rule]
        if not asked and rule != LOG_START:
            rows.append(_off(state, rule, gone))
            continue
        rows += _rows(state, rule, asked, gone, tells_rest=in_force[-1:] == [rule])
        gone |= {verdict.segment.base_offset for verdict in asked if verdict.is_deleted}
    return rows


def _policy(state: LogState, source: str) -> RuleRow:
    policy = ",".join(sorted(state.config.cleanup_policy)) or "none"
    if state.config.delete:
        reason = f"segments are deleted by age and by size ({source})"
        if state.is_tiered:
            reason += (
                "; those that the remote tier has are deleted here by local.retention.*, and each "
                "segment that is not active is taken as copied; what retention.* deletes in the "
                "tier is left out"
            )
        return rule_row("cleanup.policy", "allows", policy, "delete", reason, _POLICY)
    reason = f"segments are deleted only below the log start offset ({source})"
    return rule_row("cleanup.policy", "limits", policy, "delete", reason, _POLICY)


def _without_cleaner() -> RuleRow:
    kafka = "LogManager.cleanupLogs"
    return rule_row("log.cleaner.enable", "blocks", "false", "true", _NO_CLEANER, kafka)


def _off(state: LogState, rule: str, gone: set[int]) -> RuleRow:
    """Say why a rule judges no segment."""
    is_size = rule == state.size_limit.name
    limit = state.size_limit.value if is_size else state.time_limit.value
    if limit < 0 and (is_size or not state.limits_age):
        reason = f"{rule} = {limit} sets no limit"
        return rule_row(rule, "kept", None, limit, reason, _KAFKA[rule])
    size = sum(one.size for one in state.segments if one.base_offset not in gone)
    reason = f"the log has {size:,} bytes, less than {rule} = {limit:,}"
    if not is_size:
        reason = "the rules before it deleted every segment"
    return rule_row(rule, "kept", size, limit, reason, _KAFKA[rule])


def _rows(
    state: LogState,
    rule: str,
    asked: list[RetentionVerdict],
    gone: set[int],
    *,
    tells_rest: bool,
) -> Iterator[RuleRow]:
    """Yield a rule's verdict on each segment; if ``tells_rest``, even past the one it stops at."""
    limit = state.time_limit
    is_time = rule == limit.name
    by_base = {verdict.segment.base_offset: verdict for verdict in asked}
    stopper = asked[-1].segment.base_offset if asked and not asked[-1].is_deleted else None
    due = 0
    for segment in state.segments:
        base = segment.base_offset
        if base in gone:
            continue
        if is_time:
            due = max(due, segment.largest_timestamp + limit.value + 1)
        verdict = by_base.get(base)
        if verdict is not None:
            yield rule_row(
                rule,
                "deleted" if verdict.is_deleted else "kept",
                verdict.value,
                verdict.threshold,
                verdict.reason + (odd_timestamp(segment) if is_time else ""),
                _KAFKA[rule],
                segment=base,
                due=time_or_never(due) if is_time and due > state.now else None,
            )
        elif stopper is not None and tells_rest:
            reason = f"the rule stops at segment {stopper}, which is kept"
            reason += _by_itself(state, rule, segment)
            waits = time_or_never(due) if is_time and due > state.now else None
            yield rule_row(
                rule, "not asked", None, None, reason, _KAFKA[rule], segment=base, due=waits
            )


def _by_itself(state: LogState, rule: str, segment: LogSegment) -> str:
    """Return what `retention.ms` would decide for a segment if it were the oldest."""
    if rule != state.time_limit.name:
        return ""
    at = state.segments.index(segment)
    verdict = by_time(state._replace(segments=state.segments[at:]))[0]
    fate = WOULD_BE_DELETED if verdict.is_deleted else "on its own, this segment would be kept"
    return f"; {fate}: {verdict.reason}"

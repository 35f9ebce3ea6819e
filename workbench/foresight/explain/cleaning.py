"""Explain why a log is cleaned or not: one row per rule, from the cleaner's own checks.

Kafka: LogCleanerManager.grabFilthiestCompactedLog (4.2)
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from workbench.cleaner.schedule.log_to_clean import (
    ACTIVE_SEGMENT,
    FIRST_UNSTABLE,
    MIN_COMPACTION_LAG,
    LogToClean,
    dirty_since,
    log_to_clean,
    place_of,
)
from workbench.config.broker_config import BrokerConfig
from workbench.config.broker_rules import BrokerRules
from workbench.files.names import CLEANER_OFFSETS
from workbench.foresight.explain.rule_verdict import odd_timestamp, rule_row, time_or_never
from workbench.layout.integers import INT64_MAX
from workbench.log.log import Log
from workbench.log.segments.segment import LogSegment
from workbench.runtime.times import age_text, ms_text
from workbench.tables.foresight import RuleRow, Word

_MANAGER: Final = "LogCleanerManager."
_GRAB: Final = f"{_MANAGER}grabFilthiestCompactedLog"
_OFFSETS: Final = f"{_MANAGER}cleanableOffsets"


class Policy(NamedTuple):
    """The cleanup policy of a log, as far as is known.

    Attributes:
        is_compacted: whether the log is taken to be compacted.
        text: the value of `cleanup.policy`; None if no source names it.
        source: the source of that value, as text.
    """

    is_compacted: bool
    text: str | None
    source: str


def earliest_cleaning(log: Log, last_clean_offset: int | None, now: int) -> int | None:
    """Return when a log can be cleaned at the earliest if nothing is written; ms, None: never.

    Time alone changes two things: segments become older than `min.compaction.lag.ms`, and their
    first batches older than `max.compaction.lag.ms`. Both only ever make a log dirtier.
    """

    def is_due(moment: int) -> bool:
        found = log_to_clean(log, last_clean_offset, moment)
        return found.total_bytes > 0 and found.cleanable_bytes > 0 and found.is_cleanable

    first_dirty = log_to_clean(log, last_clean_offset, now).first_dirty_offset
    since = dirty_since(log, first_dirty)
    config = log.config
    moments = {
        segment.largest_timestamp + config.min_compaction_lag_ms
        for segment in log.local.segments.non_active_from(first_dirty)
    }
    if since is not None:
        moments.add(since + config.max_compaction_lag_ms + 1)
    later = [now, *sorted(moment for moment in moments if now < moment <= INT64_MAX)]
    at = bisect_left(later, x=True, key=is_due)
    return later[at] if at < len(later) else None


def explain_cleaning(
    found: LogToClean,
    last_clean_offset: int | None,
    now: int,
    *,
    broker: BrokerConfig,
    policy: Policy,
    order: Sequence[LogToClean] = (),
    problem: str | None = None,
    ended: str = "",
) -> list[RuleRow]:
    """Return the verdict of each rule about a log, in the order in which Kafka asks.

    Args:
        found: the log.
        last_clean_offset: the cleaner checkpoint's offset; None if it does not name the log.
        now: ms.
        broker: its configuration.
        policy: whether the log is compacted.
        order: the compacted logs of the broker that are due now, in the order of their cleaning.
        problem: why cleaning it would fail; empty if it would succeed; None: nothing to try.
        ended: why the cleaner does not come to it; empty if it does.
    """
    rules = _Rules(found, last_clean_offset, now)
    return [
        _cleaner(broker),
        _policy(policy),
        rule_row(
            "paused or in progress", "unknown", None, None,
            "only a running broker knows whether cleaning the log is paused or in progress; "
            "after a start it is neither",
            f"{_MANAGER}inProgress",
        ),
        _uncleanable(problem, found.log.context.rules, ended),
        rules.checkpoint(),
        *rules.bounds(),
        rules.bytes(),
        rules.ratio(),
        *([rules.max_lag()] if found.log.context.rules.has_max_lag else []),
        rules.order(order, policy),
    ]  # fmt: skip


def explain_uncleanable(
    broker: BrokerConfig, policy: Policy, problem: str, rules: BrokerRules
) -> list[RuleRow]:
    """Return the rows for a log whose dirty section cannot be determined."""
    return [_cleaner(broker), _policy(policy), _uncleanable(problem, rules)]


def _cleaner(broker: BrokerConfig) -> RuleRow:
    is_on = broker.log_cleaner_enable
    count = broker.log_cleaner_threads
    origin = broker.origins.get("log.cleaner.enable")
    reason = f"the broker's cleaner has {count} thread{'s' * (count > 1)}"
    if origin == CLEANER_OFFSETS:
        reason += f": {CLEANER_OFFSETS} shows that it had one, which is not the default before 0.9"
    if not is_on and origin:
        reason = (
            "log.cleaner.enable = false: the broker has no cleaner "
            "(4.1 deprecates this setting; 5.0 always has a cleaner)"
        )
    elif not is_on:
        reason = "log.cleaner.enable = false, the default before 0.9: the broker has no cleaner"
    verdict: Word = "allows" if is_on else "blocks"
    value = str(is_on).lower()
    return rule_row(
        "log.cleaner.enable",
        verdict,
        value,
        "true",
        reason,
        "LogManager.startupWithConfigOverrides",
    )


def _policy(policy: Policy) -> RuleRow:
    if policy.text is None and not policy.is_compacted:
        reason = (
            "cleanup.policy is not known, and Kafka's default is delete; give the configuration"
        )
        return rule_row("cleanup.policy", "unknown", None, "compact", reason, _GRAB)
    verdict: Word = "allows" if policy.is_compacted else "blocks"
    reason = f"cleanup.policy = {policy.text} ({policy.source})"
    return rule_row("cleanup.policy", verdict, policy.text, "compact", reason, _GRAB)


def _uncleanable(problem: str | None, rules: BrokerRules, ended: str = "") -> RuleRow:
    kafka = f"{_MANAGER}isUncleanablePartition"
    if ended:
        return rule_row("uncleanable", "blocks", "yes", "no", ended, kafka)
    if problem is None:
        reason = "the log has nothing to clean, so cleaning cannot fail"
        return rule_row("uncleanable", "allows", None, "no", reason, kafka)
    if not problem:
        reason = "cleaning the log would succeed; a running broker may remember an earlier failure"
        return rule_row("uncleanable", "allows", "no", "no", reason, kafka)
    does = "skips the log" if rules.marks_uncleanable else "ends, and cleans no other log,"
    reason = f"cleaning fails, and the cleaner {does} until the broker restarts: {problem}"
    return rule_row("uncleanable", "blocks", "yes", "no", reason, kafka)


class _Rules:
    """The rules that look at one log."""

    def __init__(self, found: LogToClean, last_clean_offset: int | None, now: int) -> None:
        self._found = found
        self._log = found.log
        self._last_clean_offset = last_clean_offset
        self._now = now

    def checkpoint(self) -> RuleRow:
        """Say whether the cleaner's checkpoint is trusted."""
        offsets, start = self._found.offsets, self._log.log_start_offset
        name = CLEANER_OFFSETS
        verdict: Word = "allows"
        if offsets.reset_reason:
            reason = f"the checkpoint is ignored ({offsets.reset_reason}): the whole log is dirty"
        elif self._last_clean_offset is None:
            reason = "the checkpoint does not name the log: the whole log is dirty"
        else:
            reason = f"the log is clean below offset {offsets.first_dirty_offset}"
            end = self._log.log_end_offset
            if offsets.first_dirty_offset > end:
                verdict = "blocks"
                reason += (
                    f", beyond the log end offset {end}: before 2.3 nothing is cleaned until the "
                    f"log is longer; without its line in {name} the whole log is dirty"
                )
        return rule_row(name, verdict, self._last_clean_offset, start, reason, _OFFSETS)

    def bounds(self) -> list[RuleRow]:
        """Say at which offset each rule stops the cleaner."""
        offsets = self._found.offsets
        dirty, least = offsets.first_dirty_offset, offsets.least_bound
        lag = self._log.config.min_compaction_lag_ms
        rows = []
        for bound in offsets.bounds:
            verdict: Word
            if bound.offset <= dirty:
                verdict = "blocks"
            else:
                verdict = "limits" if bound == least else "allows"
            reason = f"the cleaner stops at offset {bound.offset}"
            value, threshold, due = bound.offset, dirty, None
            if bound.name == ACTIVE_SEGMENT:
                active = self._log.active_segment
                reason += f": the active segment ({active.size:,} bytes) is never cleaned"
            elif bound.name == MIN_COMPACTION_LAG:
                largest = self._segment(bound.offset).largest_timestamp
                value, threshold, due = self._now - largest, lag, time_or_never(largest + lag)
                reason += (
                    f": its segment's largest timestamp is {age_text(value)}, "
                    f"below min.compaction.lag.ms = {ms_text(lag)}"
                    f"{odd_timestamp(self._segment(bound.offset))}"
                )
            else:
                reason += f", the {bound.name}"
            rows.append(rule_row(bound.name, verdict, value, threshold, reason, _OFFSETS, due=due))
        has_lag = self._log.context.rules.has_min_lag
        if has_lag and all(bound.name != MIN_COMPACTION_LAG for bound in offsets.bounds):
            reason = f"every dirty segment is at least min.compaction.lag.ms = {ms_text(lag)} old"
            if lag <= 0:
                reason = f"min.compaction.lag.ms = {lag} sets no lag"
            rows.append(rule_row(MIN_COMPACTION_LAG, "allows", None, lag, reason, _OFFSETS))
        return rows

    def _segment(self, base_offset: int) -> LogSegment:
        segment = self._log.local.segments.floor(base_offset)
        assert segment is not None
        return segment

    def bytes(self) -> RuleRow:
        """Say how much of the log can be cleaned."""
        found = self._found
        start, end = found.first_dirty_offset, found.first_uncleanable_offset
        kafka = f"{_MANAGER}calculateCleanableBytes"
        if found.cleanable_bytes:
            reason = f"the segments from offset {start} to {end} are dirty"
            return rule_row("cleanable bytes", "allows", found.cleanable_bytes, 0, reason, kafka)
        reason = f"there is no complete segment between offsets {start} and {end}"
        return rule_row("cleanable bytes", "blocks", 0, 0, reason, kafka)

    def ratio(self) -> RuleRow:
        """Say whether enough of the log is dirty."""
        found, limit = self._found, self._log.config.min_cleanable_dirty_ratio
        clean, dirty = found.clean_bytes, found.cleanable_bytes
        is_over = found.cleanable_ratio > limit
        ratio = round(found.cleanable_ratio, 6)
        reason = (
            f"{dirty:,} of {found.total_bytes:,} bytes are dirty: a ratio of {ratio:g}, "
            f"{'' if is_over else 'not '}above min.cleanable.dirty.ratio = {limit:g}"
        )
        if not is_over and limit < 1:
            missing = int(clean * limit / (1 - limit)) + 1 - dirty
            reason += (
                f"; {missing:,} more dirty bytes outside the active segment would exceed the ratio"
            )
        elif not is_over:
            reason += "; no dirty ratio exceeds 1"
        verdict: Word = "allows" if is_over else "blocks"
        return rule_row("min.cleanable.dirty.ratio", verdict, ratio, limit, reason, _GRAB)

    def max_lag(self) -> RuleRow:
        """Say whether the log is overdue, so that it is cleaned whatever its dirty ratio."""
        found, limit = self._found, self._log.config.max_compaction_lag_ms
        name, kafka = "max.compaction.lag.ms", f"{_MANAGER}maxCompactionDelay"
        since = dirty_since(self._log, found.first_dirty_offset)
        if since is None:
            reason = "no segment before the active one is dirty"
            return rule_row(name, "allows", None, limit, reason, kafka)
        waited = self._now - since
        if since + limit >= INT64_MAX:
            reason = "max.compaction.lag.ms sets no limit"
            return rule_row(name, "allows", waited, limit, reason, kafka)
        if found.needs_compaction_now:
            delay = found.compaction_delay_ms
            reason = (
                f"the log became due {ms_text(delay, ' ms')} ago, so its dirty ratio is ignored"
            )
            return rule_row(name, "demands", waited, limit, reason, kafka)
        reason = (
            f"the oldest dirty batch is {age_text(waited)}, "
            f"not above max.compaction.lag.ms = {ms_text(limit)}"
        )
        return rule_row(name, "allows", waited, limit, reason, kafka, due=since + limit + 1)

    def order(self, order: Sequence[LogToClean], policy: Policy) -> RuleRow:
        """Say when the cleaner reaches the log."""
        found = place_of(self._log.topic_partition, order)
        if policy.is_compacted and found is not None:
            place, before, tied = found
            names = ", ".join(map(str, before[:_NAMED]))
            reason = f"the log is cleaned after {names}" if before else "the log is the dirtiest"
            if len(before) > _NAMED:
                reason += f" and {len(before) - _NAMED} more"
            if tied:
                others = "1 other is" if tied == 1 else f"{tied:,} others are"
                reason += f"{TIED}{others} equally dirty, and any of them may be cleaned before it"
            return rule_row("order", "allows", place, len(order), reason, _GRAB)
        if not policy.is_compacted:
            reason = "the cleaner skips logs that are not compacted"
            return rule_row("order", "blocks", None, len(order), reason, _GRAB)
        due = earliest_cleaning(self._log, self._last_clean_offset, self._now)
        reason = f"this log is not due for cleaning now (other logs that are due: {len(order)})"
        if due is None:
            config = self._log.config
            never = config.min_cleanable_dirty_ratio >= 1
            never &= config.max_compaction_lag_ms >= INT64_MAX
            least = self._found.offsets.least_bound
            held = least.offset if least.name == FIRST_UNSTABLE else None
            reason += f"; {NEVER if never else what_changes(held)}"
        return rule_row("order", "blocks", None, len(order), reason, _GRAB, due=due)


NEVER: Final = "with this configuration it never is: no dirty ratio is above 1"


def what_changes(unstable: object | None) -> str:
    """Return what lets a log be cleaned that is not due at any time.

    Args:
        unstable: the first unstable offset, where the cleaner stops; None: no transaction is open.
    """
    if unstable is None:
        return "that changes only when something is written"
    return (
        f"the cleaner stops at offset {unstable}, where a transaction is open: that can change "
        "when it ends, and when something is written"
    )


TIED: Final = "; "
"""What is before the equally dirty logs, in the reason of a log's place."""
_NAMED: Final = 3  # logs that are named in a sentence

"""Decide when a committed offset expires, and by which rule.

Kafka: OffsetExpirationConditionImpl, ClassicGroup.offsetExpirationCondition,
ConsumerGroup.offsetExpirationCondition (4.2); OffsetManager.deleteExpiredOffsets (0.8.2)
"""

from typing import Final, NamedTuple

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.groups import Group
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.layout.integers import INT64_MAX

EXPLICIT: Final = "the commit carries its own expire time"
SINCE_COMMIT: Final = "retention since the commit"
SINCE_EMPTY: Final = "retention since the group became empty"
UNSUBSCRIBED: Final = "retention since the commit: no member subscribes to the topic"
SUBSCRIBED: Final = "never: a member subscribes to the topic"
PENDING: Final = "never while a transaction that commits the partition is open"
REBALANCING: Final = "never while the group rebalances"
NOT_EMPTY: Final = "never while the group has members"
UNREADABLE: Final = "never: a member's subscription cannot be read"


class Expiry(NamedTuple):
    """The expiry of an offset.

    Attributes:
        at: the time, ms; None: never while the group is unchanged.
        rule: the rule of Kafka that decides.
    """

    at: int | None
    rule: str

    def is_over(self, now: int, era: CoordinatorEra) -> bool:
        """Return whether the clean-up job of a broker removes the offset at a time."""
        if self.at is None:
            return False
        return self.at < now if era is CoordinatorEra.BEFORE_2_1 else self.at <= now


def expiry_of(
    group: Group,
    topic: str,
    committed: OffsetAndMetadata,
    *,
    era: CoordinatorEra,
    retention_ms: int,
    is_pending: bool = False,
) -> Expiry:
    """Return when a committed offset expires if nothing more happens to its group.

    Args:
        group: the group that committed.
        topic: the topic of the commit.
        committed: the commit.
        era: the coordinator's era.
        retention_ms: `offsets.retention.minutes` in ms.
        is_pending: whether an open transaction commits the same partition.
    """
    explicit, commit = committed.expire_timestamp, committed.commit_timestamp
    if era is CoordinatorEra.BEFORE_2_1:
        if explicit is not None:
            return Expiry(explicit, EXPLICIT)
        return _after(commit, retention_ms, SINCE_COMMIT)
    if is_pending:
        return Expiry(None, PENDING)
    base, rule = _base(group, topic, commit)
    if base is None:
        return Expiry(None, rule)
    if explicit is not None:
        return Expiry(explicit, EXPLICIT)
    return _after(base, retention_ms, rule)


def _after(base: int, retention_ms: int, rule: str) -> Expiry:
    """Return when retention ends; None beyond 64 bits."""
    at = base + retention_ms
    return Expiry(at if at <= INT64_MAX else None, rule)


def _base(group: Group, topic: str, commit: int) -> tuple[int | None, str]:
    """Return the time that retention starts from, and the rule; None: nothing expires."""
    topics = group.subscribed_topics
    if not isinstance(group, ClassicGroup):
        is_subscribed = topics is not None and topic in topics
        return (None, SUBSCRIBED) if is_subscribed else (commit, UNSUBSCRIBED)
    if group.kind == "simple":
        return commit, SINCE_COMMIT
    if group.state == "Empty":
        stamp = group.state_timestamp
        return (commit, SINCE_COMMIT) if stamp is None else (stamp, SINCE_EMPTY)
    if group.state != "Stable":
        return None, REBALANCING
    if group.protocol_type != "consumer":
        return None, NOT_EMPTY
    if topics is None:
        return None, UNREADABLE
    return (None, SUBSCRIBED) if topic in topics else (commit, UNSUBSCRIBED)

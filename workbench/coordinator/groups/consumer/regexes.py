"""The regular expressions that members of consumer groups subscribe to, and their topics.

A heartbeat that brings a new expression is answered before it is resolved: that happens right after
it, as a change of its own.

Kafka: GroupMetadataManager.maybeUpdateRegularExpressions, refreshRegularExpressions,
handleRegularExpressionsResult (4.2)
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import NamedTuple

from workbench.coordinator.groups.classic.java_hash_map import text_order
from workbench.coordinator.groups.classic.timer import CoordinatorTimer
from workbench.coordinator.groups.consumer import records
from workbench.coordinator.groups.consumer.member import ConsumerMember
from workbench.coordinator.groups.consumer.subscriptions import Subscriptions
from workbench.coordinator.groups.consumer.topics import AssignableTopics
from workbench.coordinator.groups.groups import Group, ModernGroup
from workbench.coordinator.runtime.id_pattern import IdPattern
from workbench.coordinator.runtime.records import (
    CoordinatorRecord,
    CoordinatorResult,
    nothing_to_write,
)
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode

_LEAST_BETWEEN_MS = 10_000  # two times of resolving


class RegexChange(NamedTuple):
    """What a heartbeat changes.

    Attributes:
        is_changed: whether the member has another expression.
        is_resolved: whether what that resolves to is known already.
        is_dropped: whether no member has the former one anymore.
    """

    is_changed: bool = False
    is_resolved: bool = False
    is_dropped: bool = False


class Regexes:
    """Resolves regular expressions.

    Args:
        groups: group id → group; shared with what replays records.
        clock: the time.
        timer: runs what is due later.
        topics: the topics.
        refresh_interval_ms: the time after which they are resolved again at the latest.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        clock: Clock,
        timer: CoordinatorTimer,
        topics: AssignableTopics,
        refresh_interval_ms: int,
    ) -> None:
        self._groups = groups
        self._clock = clock
        self._timer = timer
        self._topics = topics
        self._refresh_interval_ms = refresh_interval_ms

    def update(
        self,
        group: ModernGroup,
        member: ConsumerMember,
        updated: ConsumerMember,
        written: list[CoordinatorRecord],
    ) -> RegexChange:
        """Take over the expression of a heartbeat; resolve those of the group if it is time.

        Args:
            group: the group.
            member, updated: the member before and after the heartbeat.
            written: receives the tombstone of an expression that no member has anymore.

        Raises:
            CoordinatorError: INVALID_REGULAR_EXPRESSION.
        """
        subscribed = _subscribed(group)
        old, new = member.regex, updated.regex
        change, must_resolve = RegexChange(), False
        if old != new:
            is_dropped = bool(old) and subscribed[old] == 1
            if old and is_dropped:
                written.append(records.regular_expression_tombstone(group.group_id, old))
            is_resolved = new in group.regexes and subscribed[new] > 0 if new else bool(old)
            if new and not subscribed[new]:
                self._check(new)
                must_resolve = True
            change = RegexChange(True, is_resolved, is_dropped)  # noqa: FBT003 - its first field
        if not must_resolve and not subscribed:
            return change
        key = f"{group.group_id}-regex"
        known = next(iter(group.regexes.values()), None)
        now = self._clock.now()
        if self._timer.is_scheduled(key):
            return change
        if known is not None and now <= known["timestamp"] + _LEAST_BETWEEN_MS:
            return change
        if old:
            subscribed[old] -= 1
        if new:
            subscribed[new] += 1
        wanted = [regex for regex, count in subscribed.items() if count > 0 and regex]
        must_resolve |= len(wanted) != len(group.regexes)
        version = 0 if known is None else known["version"]
        must_resolve |= version < self._topics.version_with_new_topics
        must_resolve |= known is None or now > known["timestamp"] + self._refresh_interval_ms
        if must_resolve and wanted:
            self._timer.schedule(key, 0, partial(self._resolve, group.group_id, wanted))
        return change

    def _check(self, regex: str) -> None:
        """Check an expression, and that it takes a second at most for all topics.

        Raises:
            CoordinatorError: INVALID_REGULAR_EXPRESSION.
        """
        try:
            _cached(regex).matching(self._topics.image.names)
        except ValueError as error:
            raise ErrorCode.INVALID_REGULAR_EXPRESSION.error(
                f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}."
            ) from error

    def _resolve(self, group_id: str, regexes: Iterable[str]) -> CoordinatorResult[None]:
        """Return the records of what expressions resolve to, and of the epoch that follows."""
        group = self._groups.get(group_id)
        if not isinstance(group, ModernGroup) or group.kind != "consumer":
            return nothing_to_write()
        subscribed, written = _subscribed(group), list[CoordinatorRecord]()
        now, version = self._clock.now(), self._topics.image.version
        resolved = {regex: fields["topics"] for regex, fields in group.regexes.items()}
        is_changed = False
        for regex in text_order(regexes):
            if subscribed[regex]:
                try:
                    names = _cached(regex).matching(self._topics.image.names)
                except ValueError:  # with the topics that there are now; it keeps those it had
                    names = resolved.get(regex, [])
                topics = sorted(names, key=lambda name: name.encode("utf-16-be"))
                is_changed |= set(topics) != set(resolved.get(regex, ()))
                resolved[regex] = topics
                value = {"topics": topics, "version": version, "timestamp": now}
                written.append(records.regular_expression(group_id, regex, value))
        members = [ConsumerMember.of(each) for each in group.members.values()]
        metadata_hash = self._topics.group_hash(Subscriptions(members, resolved).topics)
        if is_changed or metadata_hash != group.metadata_hash:
            written.append(records.group_epoch(group_id, group.epoch + 1, metadata_hash))
        return CoordinatorResult(written, None)


def _subscribed(group: ModernGroup) -> Counter[str | None]:
    """Return expression → how many members have it."""
    found = ((each.metadata or {}).get("subscribedTopicRegex") for each in group.members.values())
    return Counter(regex for regex in found if regex)


@lru_cache(maxsize=16)
def _cached(regex: str) -> IdPattern:
    return IdPattern(regex)  # which also remembers how it matches

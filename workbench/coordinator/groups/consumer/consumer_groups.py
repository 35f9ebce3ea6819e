"""The consumer groups of one partition of `__consumer_offsets`: what each heartbeat changes.

A heartbeat is answered from the group as the records made it; what it changes is returned as
records, whose replay changes the group. So a served group is the loaded one.

Kafka: GroupMetadataManager.consumerGroupHeartbeat and what it calls (4.2)
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.joining import new_uuid
from workbench.coordinator.groups.classic.messages import RequestContext
from workbench.coordinator.groups.classic.state import EMPTY
from workbench.coordinator.groups.classic.steps import Steps
from workbench.coordinator.groups.classic.timer import CoordinatorTimer
from workbench.coordinator.groups.consumer import records
from workbench.coordinator.groups.consumer.config import ConsumerGroupConfig
from workbench.coordinator.groups.consumer.member import (
    LEFT,
    LEFT_FOR_A_WHILE,
    NOTHING,
    UNREVOKED,
    Assignment,
    ConsumerMember,
)
from workbench.coordinator.groups.consumer.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from workbench.coordinator.groups.consumer.reconciling import Reconciliation
from workbench.coordinator.groups.consumer.regexes import Regexes
from workbench.coordinator.groups.consumer.subscriptions import Subscriptions, topics_of
from workbench.coordinator.groups.consumer.targets import new_targets, target_of
from workbench.coordinator.groups.consumer.topics import AssignableTopics
from workbench.coordinator.groups.groups import Group, ModernGroup, as_consumer_group
from workbench.coordinator.runtime.records import (
    CoordinatorRecord,
    CoordinatorResult,
    nothing_to_write,
)
from workbench.errors import CoordinatorError
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Observer

Records = list[CoordinatorRecord]


@dataclass(frozen=True, slots=True)
class _Joined:
    """The member that a heartbeat is about.

    Attributes:
        member: the member before the heartbeat.
        replaced: the id of the static member that it takes the place of.
    """

    member: ConsumerMember
    replaced: str | None = None


class ConsumerGroups:
    """The consumer groups of a partition. Not thread-safe: one operation at a time.

    Args:
        groups: group id → group of any kind; shared with what replays records.
        clock: the time.
        timer: runs what is due later.
        config: limits and intervals.
        topics: the topics.
        observer: receives a step when a member is added or removed.
        make_uuid: makes the member ids of clients that choose none.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        clock: Clock,
        timer: CoordinatorTimer,
        config: ConsumerGroupConfig,
        topics: AssignableTopics,
        *,
        observer: Observer | None = None,
        make_uuid: Callable[[], str] = new_uuid,
    ) -> None:
        self._groups = groups
        self._timer = timer
        self._config = config
        self._topics = topics
        self._step = Steps(observer)
        self._make_uuid = make_uuid
        self._regexes = Regexes(groups, clock, timer, topics, config.regex_refresh_interval_ms)

    def heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """Let a member join, remain, or leave.

        Args:
            context: the client.
            request: the heartbeat, which `check_heartbeat` has let through.

        Raises:
            CoordinatorError: nothing changes.

        Kafka: GroupMetadataManager.consumerGroupHeartbeat (4.2)
        """
        if request.member_epoch in (LEFT, LEFT_FOR_A_WHILE):
            return self._leave(request)
        written: Records = []
        group = self._group(request, written)
        if len(group.members) >= self._config.max_size and request.member_id not in group.members:
            raise ErrorCode.GROUP_MAX_SIZE_REACHED.error(
                "The consumer group has reached its maximum capacity of "
                f"{self._config.max_size} members."
            )
        joined = self._joined(group, request, request.member_id or self._make_uuid(), written)
        member = joined.member
        updated = _updated(member, context, request)
        if updated != member:
            written.append(records.member_metadata(group.group_id, updated))
        has_new_names = updated.topics != member.topics
        regex = self._regexes.update(group, member, updated, written)
        members = {name: ConsumerMember.of(each) for name, each in group.members.items()}
        if joined.replaced is not None:
            members.pop(joined.replaced, None)
        members[updated.member_id] = updated
        dropped = [member.regex] if regex.is_dropped and member.regex else []
        subscriptions = Subscriptions.of(group, members.values(), dropped, updated.assignor)
        must_bump = group.epoch == 0 or has_new_names or regex.is_resolved
        epoch = self._epoch(group, subscriptions, written, must_bump=must_bump)
        replaced = {} if joined.replaced is None else {updated.member_id: joined.replaced}
        if epoch > group.assignment_epoch:
            made, targets = new_targets(
                group, epoch, members, subscriptions, self._topics, replaced
            )
            written += made
            target = targets.get(updated.member_id, NOTHING)
        else:
            target = target_of(group, joined.replaced or updated.member_id)
        has_changed = has_new_names or regex.is_changed
        target_epoch = max(epoch, group.assignment_epoch)
        updated = self._reconciled(
            group, updated, target_epoch, target, request.owned, written, has_changed=has_changed
        )
        self._begin_session(group.group_id, updated.member_id)
        is_changed = updated.assigned != member.assigned
        return CoordinatorResult(
            written,
            ConsumerGroupHeartbeatResponse(
                updated.member_id,
                updated.epoch,
                self._config.heartbeat_interval_of(group.group_id),
                updated.assigned
                if request.member_epoch == 0 or request.is_full or is_changed
                else None,
            ),
        )

    def _group(self, request: ConsumerGroupHeartbeatRequest, written: Records) -> ModernGroup:
        """Return the group of a heartbeat; a join creates it, even from an empty classic group.

        Kafka: GroupMetadataManager.getOrMaybeCreateConsumerGroup (4.2)
        """
        name, joins = request.group_id, request.member_epoch == 0
        group = self._groups.get(name)
        if group is None:
            if not joins:
                raise ErrorCode.GROUP_ID_NOT_FOUND.error(f"Consumer group {name} not found.")
            return ModernGroup(name, "consumer")
        if joins and isinstance(group, ClassicGroup) and group.state is EMPTY:
            written += group.tombstones()
            return ModernGroup(name, "consumer")
        return as_consumer_group(name, group)

    def _epoch(
        self,
        group: ModernGroup,
        subscriptions: Subscriptions,
        written: Records,
        *,
        must_bump: bool,
    ) -> int:
        """Return the group's epoch: a new one if subscriptions or topics have changed.

        Kafka: GroupMetadataManager.updateSubscriptionMetadata (4.2)
        """
        epoch, metadata_hash = group.epoch, self._topics.group_hash(subscriptions.topics)
        if must_bump or metadata_hash != group.metadata_hash:
            epoch += 1
            written.append(records.group_epoch(group.group_id, epoch, metadata_hash))
        if group.topics:
            written.append(records.partition_metadata_tombstone(group.group_id))
        return epoch

    # the sender of a heartbeat

    def _joined(
        self,
        group: ModernGroup,
        request: ConsumerGroupHeartbeatRequest,
        member_id: str,
        written: Records,
    ) -> _Joined:
        """Return the member that sends a heartbeat.

        Kafka: GroupMetadataManager.getOrMaybeSubscribeDynamicConsumerGroupMember,
        getOrMaybeSubscribeStaticConsumerGroupMember (4.2)
        """
        joins = request.member_epoch == 0
        if request.instance_id is None:
            member = _member(group, member_id, creates=joins)
            _check_epoch(member, request)
            self._tell_added(group, member_id)
            return _Joined(member)
        existing = _static_member(group, request.instance_id)
        if not joins:
            member = _own_static_member(existing, request, member_id)
            _check_epoch(member, request)
            return _Joined(member)
        self._tell_added(group, member_id)
        if existing is None:
            return _Joined(_member(group, member_id, creates=True))
        if existing.classic is None and existing.epoch != LEFT_FOR_A_WHILE:
            raise ErrorCode.UNRELEASED_INSTANCE_ID.error(
                f"Static member {member_id} with instance id {request.instance_id} cannot join the "
                f"group because the instance id is owned by {existing.member_id} member."
            )
        member = replace(existing, member_id=member_id, epoch=0, previous_epoch=0)
        name = group.group_id
        written += records.member_tombstones(name, existing.member_id)
        written.append(records.member_metadata(name, member))
        target = target_of(group, existing.member_id)
        written.append(records.target_assignment(name, member_id, target))
        written.append(records.current_assignment(name, member))
        return _Joined(member, existing.member_id)

    def _tell_added(self, group: ModernGroup, member_id: str) -> None:
        if member_id not in group.members:
            reason = "a client joins the consumer group"
            self._step("member added", group.group_id, reason, member=member_id)

    # what it gets

    def _reconciled(
        self,
        group: ModernGroup,
        member: ConsumerMember,
        target_epoch: int,
        target: Assignment,
        owned: Assignment | None,
        written: Records,
        *,
        has_changed: bool,
    ) -> ConsumerMember:
        """Return the member with its next assignment.

        Kafka: GroupMetadataManager.maybeReconcile (4.2)
        """
        if not has_changed and member.is_reconciled_to(target_epoch):
            return member
        held = {
            (topic_id, number)
            for each in map(ConsumerMember.of, group.members.values())
            for assignment in (each.assigned, each.revoking)
            for topic_id, numbers in assignment.items()
            for number in numbers
        }
        reconciliation = Reconciliation(
            target_epoch,
            target,
            self._topics.ids_of(topics_of(member, group)),
            has_changed,
            lambda topic_id, number: (topic_id, number) in held,
            owned,
        )
        moved = reconciliation.next(member)
        if moved != member:
            written.append(records.current_assignment(group.group_id, moved))
            if moved.state == UNREVOKED:
                self._begin_rebalance(group.group_id, moved)
            else:
                self._timer.cancel(_rebalance_key(group.group_id, member.member_id))
        return moved

    # members that leave

    def _leave(
        self, request: ConsumerGroupHeartbeatRequest
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """Kafka: GroupMetadataManager.consumerGroupLeave (4.2)."""
        group = self._consumer_group(request.group_id)
        response = ConsumerGroupHeartbeatResponse(request.member_id, request.member_epoch)
        if request.instance_id is None:
            member = _member(group, request.member_id, creates=False)
            return CoordinatorResult(self._removal(group, [member], "the client left"), response)
        existing = _static_member(group, request.instance_id)
        member = _own_static_member(existing, request, request.member_id)
        if request.member_epoch == LEFT_FOR_A_WHILE:
            away = replace(member, epoch=LEFT_FOR_A_WHILE, revoking=NOTHING)
            return CoordinatorResult([records.current_assignment(group.group_id, away)], response)
        return CoordinatorResult(self._removal(group, [member], "the client left"), response)

    def _consumer_group(self, group_id: str) -> ModernGroup:
        return as_consumer_group(group_id, self._groups.get(group_id))

    def _removal(
        self, group: ModernGroup, gone: Collection[ConsumerMember], reason: str
    ) -> Records:
        """Return the records that remove members.

        Kafka: GroupMetadataManager.consumerGroupFenceMembers (4.2)
        """
        name = group.group_id
        written = [each for m in gone for each in records.member_tombstones(name, m.member_id)]
        names = {member.member_id for member in gone}
        left = [ConsumerMember.of(m) for each, m in group.members.items() if each not in names]
        kept = {member.regex for member in left}
        dropped = list(dict.fromkeys(m.regex for m in gone if m.regex and m.regex not in kept))
        written += [records.regular_expression_tombstone(name, each) for each in dropped]
        topics = Subscriptions.of(group, left, dropped).topics
        metadata_hash = self._topics.group_hash(topics)
        written.append(records.group_epoch(name, group.epoch + 1, metadata_hash))
        for member in gone:
            self._timer.cancel(_session_key(name, member.member_id))
            self._timer.cancel(_rebalance_key(name, member.member_id))
            self._step("member removed", name, reason, member=member.member_id)
        return written

    # timeouts

    def on_loaded(self) -> None:
        """Begin the sessions of all members.

        Kafka: GroupMetadataManager.onLoaded (4.2)
        """
        for group in self._groups.values():
            if isinstance(group, ModernGroup) and group.kind == "consumer":
                for member in map(ConsumerMember.of, group.members.values()):
                    self._begin_session(group.group_id, member.member_id)
                    if member.state == UNREVOKED:
                        self._begin_rebalance(group.group_id, member)

    def _begin_session(self, group_id: str, member_id: str) -> None:
        timeout = self._config.session_timeout_of(group_id)
        expire = partial(self._expire, group_id, member_id, "its session timed out", None)
        self._timer.schedule(_session_key(group_id, member_id), timeout, expire)

    def _begin_rebalance(self, group_id: str, member: ConsumerMember) -> None:
        reason = f"it gave up no partitions within {member.rebalance_timeout_ms} ms"
        expire = partial(self._expire, group_id, member.member_id, reason, member.epoch)
        key = _rebalance_key(group_id, member.member_id)
        self._timer.schedule(key, member.rebalance_timeout_ms, expire)

    def _expire(
        self, group_id: str, member_id: str, reason: str, epoch: int | None
    ) -> CoordinatorResult[None]:
        """Remove a member; with an epoch, only if it is still in it.

        Kafka: GroupMetadataManager.consumerGroupFenceMemberOperation (4.2)
        """
        try:
            group = self._consumer_group(group_id)
            member = _member(group, member_id, creates=False)
        except CoordinatorError:
            return nothing_to_write()
        if epoch is not None and member.epoch != epoch:
            return nothing_to_write()
        return CoordinatorResult(self._removal(group, [member], reason), None)


def _session_key(group_id: str, member_id: str) -> str:
    return f"consumer-session-{group_id}-{member_id}"


def _rebalance_key(group_id: str, member_id: str) -> str:
    return f"consumer-rebalance-{group_id}-{member_id}"


def _member(group: ModernGroup, member_id: str, *, creates: bool) -> ConsumerMember:
    found = group.members.get(member_id)
    if found is not None:
        return ConsumerMember.of(found)
    if not creates:
        raise ErrorCode.UNKNOWN_MEMBER_ID.error(
            f"Member {member_id} is not a member of group {group.group_id}."
        )
    return ConsumerMember(member_id)


def _static_member(group: ModernGroup, instance_id: str) -> ConsumerMember | None:
    for member in group.members.values():
        if (member.metadata or {}).get("instanceId") == instance_id:
            return ConsumerMember.of(member)
    return None


def _own_static_member(
    existing: ConsumerMember | None, request: ConsumerGroupHeartbeatRequest, member_id: str
) -> ConsumerMember:
    """Return the static member with an instance id, if the client is that member.

    Kafka: GroupMetadataManager.throwIfStaticMemberIsUnknown, throwIfInstanceIdIsFenced (4.2)
    """
    if existing is None:
        raise ErrorCode.UNKNOWN_MEMBER_ID.error(f"Instance id {request.instance_id} is unknown.")
    if existing.member_id != member_id:
        raise ErrorCode.FENCED_INSTANCE_ID.error(
            f"Static member {member_id} with instance id {request.instance_id} was fenced by "
            f"member {existing.member_id}."
        )
    return existing


def _check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
    """Check the epoch of a heartbeat; one before is taken from a client that missed an answer.

    Kafka: GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid (4.2)
    """
    received = request.member_epoch
    if received in (0, member.epoch):
        return
    is_retry = (
        received < member.epoch
        and received == member.previous_epoch
        and request.owned is not None
        and all(
            numbers <= member.assigned.get(topic_id, frozenset())
            for topic_id, numbers in request.owned.items()
        )
    )
    if not is_retry:
        order = "greater" if received > member.epoch else "smaller"
        raise ErrorCode.FENCED_MEMBER_EPOCH.error(
            f"The consumer group member has a {order} member epoch ({received}) than the one known "
            f"by the group coordinator ({member.epoch}). The member must abandon all its "
            "partitions and rejoin."
        )


def _updated(
    member: ConsumerMember, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember:
    """Return a member with what its client says now."""
    told: Mapping[str, object] = {
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": None
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        "assignor": request.assignor,
        "topics": None if request.topics is None else frozenset(request.topics),
        "regex": request.regex,
    }
    changes = {name: value for name, value in told.items() if value is not None}
    return replace(
        member,
        client_id=context.client_id,
        client_host=context.client_address,
        classic=None,
        **changes,  # type: ignore[arg-type] # the names are those of the fields
    )

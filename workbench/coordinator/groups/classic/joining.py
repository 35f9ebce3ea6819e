"""Joins of classic groups: new clients, pending ids, known members, static members that come back.

Kafka: GroupMetadataManager.classicGroupJoinToClassicGroup and what it calls (4.2)
"""

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import (
    UNKNOWN_MEMBER_ID,
    JoinGroupRequest,
    JoinGroupResponse,
    RequestContext,
    complete,
)
from workbench.coordinator.groups.classic.rebalance import Rebalances
from workbench.coordinator.groups.classic.records import group_metadata_record
from workbench.coordinator.groups.classic.state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from workbench.coordinator.groups.classic.steps import Steps
from workbench.coordinator.runtime.append_errors import answer_to
from workbench.coordinator.runtime.records import CoordinatorResult, nothing_to_write
from workbench.errors import GroupStateError
from workbench.runtime.error_codes import ErrorCode

REQUIRES_KNOWN_MEMBER_ID: Final = 4
"""Since this version of JoinGroup a client without an id gets one first."""

SUPPORTS_SKIPPING_ASSIGNMENT: Final = 9
"""Since this version of JoinGroup the answer can make a leader skip the assignment."""

Waiting = Future[JoinGroupResponse]


def new_uuid() -> str:
    """Return a random UUID, the second part of a member id."""
    return str(uuid.uuid4())


class Joins:
    """Decides about joins.

    Args:
        rebalances: what a join may begin or end.
        config: limits.
        steps: receives what is decided.
        make_uuid: makes the random part of member ids.
    """

    def __init__(
        self,
        rebalances: Rebalances,
        config: ClassicGroupConfig,
        steps: Steps,
        make_uuid: Callable[[], str] = new_uuid,
    ) -> None:
        self._rebalances = rebalances
        self._config = config
        self._step = steps
        self._make_uuid = make_uuid

    def join(
        self,
        context: RequestContext,
        request: JoinGroupRequest,
        group: ClassicGroup,
        waiting: Waiting,
    ) -> CoordinatorResult[None]:
        """Let a client join; ``waiting`` is answered at once or when the join phase ends."""
        member_id = request.member_id
        is_unknown = member_id == UNKNOWN_MEMBER_ID
        if not self._accepts(group, member_id):
            group.remove(member_id)
            reason = f"the group has {self._config.max_size} members, group.max.size"
            error = ErrorCode.GROUP_MAX_SIZE_REACHED
            return self._refuse(group, waiting, UNKNOWN_MEMBER_ID, error, reason)
        if group.state is DEAD:
            reason = "the group is being removed"
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return self._refuse(group, waiting, member_id, error, reason)
        if not group.supports(request.protocol_type, request.protocols):
            reason = "type or protocols of the member are not those of the group"
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            return self._refuse(group, waiting, member_id, error, reason)
        if is_unknown:
            return self._join_new(context, request, group, waiting)
        return self._join_existing(context, request, group, waiting)

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        """Return whether there is room; while members join, those that wait are counted.

        Kafka: GroupMetadataManager.acceptJoiningMember (4.2)
        """
        if group.state in (EMPTY, DEAD):
            return True
        member = group.members.get(member_id)
        if group.state is PREPARING_REBALANCE:
            is_waiting = member is not None and member.awaiting_join is not None
            return is_waiting or group.awaiting_join < self._config.max_size
        return member is not None or len(group.members) < self._config.max_size

    def _refuse(
        self,
        group: ClassicGroup,
        waiting: Waiting,
        member_id: str,
        error: ErrorCode,
        reason: str,
    ) -> CoordinatorResult[None]:
        complete(waiting, JoinGroupResponse(member_id=member_id, error=error))
        self._step("request refused", group, reason, error=error.name, member=member_id)
        return nothing_to_write()

    # clients without a member id

    def _join_new(
        self,
        context: RequestContext,
        request: JoinGroupRequest,
        group: ClassicGroup,
        waiting: Waiting,
    ) -> CoordinatorResult[None]:
        instance_id = request.group_instance_id
        name = context.client_id if instance_id is None else instance_id
        member_id = f"{name}-{self._make_uuid()}"
        if instance_id is not None:
            known = group.static_members.get(instance_id)
            if known is None:
                return self._add(context, request, group, member_id, waiting)
            return self._replace_static(context, request, group, (known, member_id), waiting)
        if context.request_version < REQUIRES_KNOWN_MEMBER_ID:
            return self._add(context, request, group, member_id, waiting)
        group.pending_join_members.add(member_id)
        self._rebalances.expect_heartbeat(group, member_id, request.session_timeout_ms)
        error = ErrorCode.MEMBER_ID_REQUIRED
        complete(waiting, JoinGroupResponse(member_id=member_id, error=error))
        reason = f"the id is kept for {request.session_timeout_ms} ms, the session timeout"
        self._step("member id required", group, reason, member=member_id)
        return nothing_to_write()

    def _add(
        self,
        context: RequestContext,
        request: JoinGroupRequest,
        group: ClassicGroup,
        member_id: str,
        waiting: Waiting,
    ) -> CoordinatorResult[None]:
        """Add a member, and begin or end a join phase.

        Kafka: GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin (4.2)
        """
        member = ClassicGroupMember(
            member_id,
            request.group_instance_id,
            context.client_id,
            context.client_address,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            request.protocols,
            is_new=True,
        )
        if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
            group.new_member_added = True
        group.add(member, waiting)
        patience = self._config.new_member_join_timeout_ms
        self._rebalances.reschedule_heartbeat(group, member, patience)
        reason = f"a new member; its client's reason: {_reason(request)}"
        self._step("member added", group, reason, member=member_id, leader=group.leader)
        return self._rebalances.prepare_or_complete(group, f"new member {member_id}")

    # known members

    def _join_existing(
        self,
        context: RequestContext,
        request: JoinGroupRequest,
        group: ClassicGroup,
        waiting: Waiting,
    ) -> CoordinatorResult[None]:
        member_id = request.member_id
        if member_id in group.pending_join_members:
            if request.group_instance_id is not None:
                raise GroupStateError(
                    f"group {group.group_id}: the pending member {member_id} joins with instance "
                    f"id {request.group_instance_id}"
                )
            return self._add(context, request, group, member_id, waiting)
        error = group.validate_member(member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            answer = JoinGroupResponse(member_id=member_id, error=error, protocol_name=None)
            complete(waiting, answer)
            reason = "member id and instance id are not those of a member"
            self._step("request refused", group, reason, error=error.name, member=member_id)
            return nothing_to_write()
        member = group.members[member_id]
        why = self._why_rejoin(group, member, request)
        if why is not None:
            return self._update(request, group, member, waiting, why)
        complete(waiting, group.joined(member_id))
        reason = "nothing has changed for the member, so this generation continues"
        self._step("member answered", group, reason, member=member_id)
        return nothing_to_write()

    def _why_rejoin(
        self, group: ClassicGroup, member: ClassicGroupMember, request: JoinGroupRequest
    ) -> str | None:
        """Return why a join of a known member needs a rebalance; None: it does not."""
        if group.state is PREPARING_REBALANCE:
            return f"{member.member_id} joins the rebalance"
        if group.state is STABLE and group.is_leader(member.member_id):
            return f"the leader {member.member_id} joins again"
        if member.supported_protocols != request.protocols:
            return f"{member.member_id} joins with other protocols or metadata"
        return None

    def _update(
        self,
        request: JoinGroupRequest,
        group: ClassicGroup,
        member: ClassicGroupMember,
        waiting: Waiting,
        why: str,
    ) -> CoordinatorResult[None]:
        group.update(
            member,
            request.protocols,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            waiting,
        )
        reason = f"{why}; its client's reason: {_reason(request)}"
        self._step("member rejoined", group, reason, member=member.member_id)
        return self._rebalances.prepare_or_complete(group, why)

    # static members that come back

    def _replace_static(
        self,
        context: RequestContext,
        request: JoinGroupRequest,
        group: ClassicGroup,
        ids: tuple[str, str],
        waiting: Waiting,
    ) -> CoordinatorResult[None]:
        """Give a static member its new id; a stable group with the same protocol remains stable.

        Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin (4.2)
        """
        old_id, new_id = ids
        instance_id = request.group_instance_id
        assert instance_id is not None
        leader_before = group.leader
        member = group.replace_static_member(instance_id, old_id, new_id)
        self._rebalances.reschedule_heartbeat(group, member)
        before = (
            member.supported_protocols,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
        )
        group.update(
            member,
            request.protocols,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            waiting,
        )
        reason = f"instance id {instance_id} belonged to {old_id}"
        self._step("static member replaced", group, reason, member=new_id)
        if group.state is COMPLETING_REBALANCE:
            return self._rebalances.prepare(group, f"the static member {instance_id} has a new id")
        if group.state is not STABLE:
            return self._rebalances.maybe_complete_join_phase(group)
        if group.select_protocol() != (group.protocol or ""):
            why = f"the static member {instance_id} changes the protocol that is chosen"
            return self._rebalances.prepare_or_complete(group, why)

        def restore(error: ErrorCode) -> None:
            group.update(member, *before, None)
            old = group.replace_static_member(instance_id, new_id, old_id)
            self._rebalances.reschedule_heartbeat(group, old)
            answer = JoinGroupResponse(
                UNKNOWN_MEMBER_ID,
                error,
                group.generation,
                group.protocol_type,
                group.protocol,
                leader_before,
            )
            complete(waiting, answer)
            reason = f"storing the group failed: {error.name}"
            self._step("static member restored", group, reason, member=old_id)

        def stored(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                restore(answer_to(error))
                return
            if group.state is PREPARING_REBALANCE and group.is_leader(new_id):
                return  # the rebalance that began meanwhile answers
            answer = group.joined(new_id, skips_assignment=group.is_leader(new_id))
            if context.request_version < SUPPORTS_SKIPPING_ASSIGNMENT:
                # The old leader is named, so that the client does not assign.
                answer = JoinGroupResponse(
                    new_id,
                    ErrorCode.NONE,
                    group.generation,
                    group.protocol_type,
                    group.protocol,
                    leader_before,
                )
            group.complete_join(member, answer)
            reason = "the group is stored with the new id; nothing else has changed"
            self._step("member answered", group, reason, member=new_id)

        kept = {each.member_id: each.assignment for each in group.members.values()}
        return CoordinatorResult([group_metadata_record(group, kept)], None, on_append=stored)


def _reason(request: JoinGroupRequest) -> str:
    return request.reason or "not provided"

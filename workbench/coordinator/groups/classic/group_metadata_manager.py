"""The classic groups of one partition of `__consumer_offsets`: what each request does to them.

Each operation returns the records to write (`CoordinatorResult`); the caller writes them, then
reports the append. Joins and syncs are answered through the future that they bring.

Kafka: GroupMetadataManager (4.2)
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial

from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.joining import Joins, new_uuid
from workbench.coordinator.groups.classic.messages import (
    UNKNOWN_MEMBER_ID,
    DescribedGroup,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListedGroup,
    MemberIdentity,
    MemberResponse,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
    complete,
)
from workbench.coordinator.groups.classic.rebalance import ClassicGroups, Rebalances
from workbench.coordinator.groups.classic.records import empty_group_metadata_record
from workbench.coordinator.groups.classic.state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from workbench.coordinator.groups.classic.steps import Steps
from workbench.coordinator.groups.classic.timer import CoordinatorTimer
from workbench.coordinator.groups.groups import Group
from workbench.coordinator.runtime.append_errors import answer_to
from workbench.coordinator.runtime.records import CoordinatorResult, nothing_to_write
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.several import several
from workbench.runtime.steps import Observer

_NOT_FOUND_IS_AN_ERROR = 6  # since this version of DescribeGroups


class GroupMetadataManager:
    """The groups of a partition. Not thread-safe: one operation at a time.

    Args:
        groups: group id → group of any kind; shared with what replays records.
        clock: gives the time of state changes.
        timer: runs what is due later.
        config: limits and delays; None: Kafka's defaults.
        observer: receives a `Step` for each decision, of `steps.KINDS`.
        make_uuid: makes the random part of member ids.

    Attributes:
        groups: the classic groups.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        clock: Clock,
        timer: CoordinatorTimer,
        config: ClassicGroupConfig | None = None,
        *,
        observer: Observer | None = None,
        make_uuid: Callable[[], str] = new_uuid,
    ) -> None:
        self.groups = ClassicGroups(groups)
        self.config = ClassicGroupConfig() if config is None else config
        self._clock = clock
        self._step = Steps(observer)
        self._rebalances = Rebalances(self.groups, clock, timer, self.config, self._step)
        self._joins = Joins(self._rebalances, self.config, self._step, make_uuid)

    # requests of members

    def join(
        self,
        context: RequestContext,
        request: JoinGroupRequest,
        waiting: "Future[JoinGroupResponse]",
    ) -> CoordinatorResult[None]:
        """Let a client join a group; one without member id creates a missing group.

        The record of a new group is written even if the join is refused.

        Args:
            context: the client.
            request: the join.
            waiting: is answered at once, or when the join phase ends.

        Raises:
            GroupStateError: a pending member joins with an instance id.

        Kafka: GroupMetadataManager.classicGroupJoin (4.2)
        """
        group = self.groups.get(request.group_id)
        if group is None and request.member_id != UNKNOWN_MEMBER_ID:
            error = ErrorCode.UNKNOWN_MEMBER_ID
            complete(waiting, JoinGroupResponse(member_id=request.member_id, error=error))
            self._refused(request.group_id, error, request.member_id)
            return nothing_to_write()
        is_new = group is None
        if group is None:
            group = ClassicGroup(request.group_id, self._clock.now())
            self.groups.put(group)
            self._step("group created", group, "no group has this id")
        result = self._joins.join(context, request, group, waiting)
        if not is_new or result.records:
            return result
        stored = partial(self._new_group_stored, group, waiting)
        return CoordinatorResult([empty_group_metadata_record(group)], None, on_append=stored)

    def _new_group_stored(
        self, group: ClassicGroup, waiting: "Future[JoinGroupResponse]", error: ErrorCode
    ) -> None:
        if error is ErrorCode.NONE:
            return
        answer = answer_to(error)
        # A record that was not replicated in time is in the log, so the group is kept.
        is_forgotten = error is not ErrorCode.REQUEST_TIMED_OUT
        if is_forgotten:
            self.groups.remove(group)
        reason = "the new group is forgotten" if is_forgotten else "the new group is in the log"
        self._step("group not stored", group, reason, error=answer.name)
        complete(waiting, JoinGroupResponse(error=answer))

    def sync(
        self, request: SyncGroupRequest, waiting: "Future[SyncGroupResponse]"
    ) -> CoordinatorResult[None]:
        """Give a member its assignment; the leader's request brings all of them.

        Args:
            request: the sync.
            waiting: is answered at once, or when the leader's assignments are stored.

        Kafka: GroupMetadataManager.classicGroupSync (4.2)
        """
        group = self.groups.get(request.group_id)
        error = self._error_of_sync(group, request)
        if error is not ErrorCode.NONE:
            complete(waiting, SyncGroupResponse(error))
            self._refused(group or request.group_id, error, request.member_id)
            return nothing_to_write()
        assert group is not None
        member = group.members[request.member_id]
        if group.state is STABLE:
            self._rebalances.synced(group, member.member_id)
            answer = SyncGroupResponse(
                ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment
            )
            complete(waiting, answer)
            reason = "the group is stable, so the member gets its assignment at once"
            self._step("member answered", group, reason, member=member.member_id)
            return nothing_to_write()
        member.awaiting_sync = waiting
        self._rebalances.synced(group, member.member_id)
        if not group.is_leader(member.member_id):
            reason = f"the leader {group.leader} has not assigned yet"
            self._step("sync waits", group, reason, member=member.member_id)
            return nothing_to_write()
        assignments = dict(request.assignments)
        return self._rebalances.store_assignments(group, member.member_id, assignments)

    def _error_of_sync(self, group: ClassicGroup | None, request: SyncGroupRequest) -> ErrorCode:
        """Return why a sync is refused.

        Kafka: GroupMetadataManager.validateSyncGroup (4.2)
        """
        if group is None or group.state is EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if group.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.validate_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        believed = (request.protocol_type, group.protocol_type)
        chosen = (request.protocol_name, group.protocol)
        for theirs, ours in (believed, chosen):
            if theirs is not None and ours is not None and theirs != ours:
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if group.state is PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def heartbeat(self, request: HeartbeatRequest) -> CoordinatorResult[ErrorCode]:
        """Extend the session of a member; the response is an `ErrorCode`.

        While the group prepares a rebalance, the answer is REBALANCE_IN_PROGRESS; this
        extends the session, too.

        Kafka: GroupMetadataManager.classicGroupHeartbeat (4.2)
        """
        group = self.groups.get(request.group_id)
        error = self._error_of_heartbeat(group, request)
        if error not in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._refused(group or request.group_id, error, request.member_id)
            return CoordinatorResult([], error)
        assert group is not None
        member = group.members[request.member_id]
        self._rebalances.reschedule_heartbeat(group, member)
        reason = f"{member.session_timeout_ms} ms from now"
        self._step("session extended", group, reason, member=member.member_id)
        return CoordinatorResult([], error)

    def _error_of_heartbeat(
        self, group: ClassicGroup | None, request: HeartbeatRequest
    ) -> ErrorCode:
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if group.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.validate_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_preparing = group.state is PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE

    def leave(
        self, group_id: str, members: Iterable[MemberIdentity]
    ) -> CoordinatorResult[LeaveGroupResponse]:
        """Remove members that leave; the response is a `LeaveGroupResponse`.

        Args:
            group_id: the group.
            members: by member id; static ones by instance id with an empty member id.

        Kafka: GroupMetadataManager.classicGroupLeave (4.2)
        """
        group = self.groups.get(group_id)
        if group is None:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            self._refused(group_id, unknown, UNKNOWN_MEMBER_ID)
            answers = (MemberResponse(each[0], each[1], unknown) for each in members)
            return CoordinatorResult([], LeaveGroupResponse(members=tuple(answers)))
        if group.state is DEAD:
            return CoordinatorResult([], LeaveGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        outcomes = tuple(
            MemberResponse(each.member_id, each.group_instance_id, self._leave_one(group, each))
            for each in members
        )
        result: CoordinatorResult[None] = nothing_to_write()
        if any(outcome.error is ErrorCode.NONE for outcome in outcomes):
            if group.state in (STABLE, COMPLETING_REBALANCE):
                result = self._rebalances.prepare_or_complete(group, "members left")
            elif group.state is PREPARING_REBALANCE:
                result = self._rebalances.maybe_complete_join_phase(group)
        answer = LeaveGroupResponse(members=outcomes)
        return CoordinatorResult(result.records, answer, on_append=result.on_append)

    def _leave_one(self, group: ClassicGroup, leaving: MemberIdentity) -> ErrorCode:
        member_id, instance_id, reason = leaving
        if member_id == UNKNOWN_MEMBER_ID:
            known = None if instance_id is None else group.static_members.get(instance_id)
            if known is None:
                self._refused(group, ErrorCode.UNKNOWN_MEMBER_ID, member_id)
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = known
        elif member_id in group.pending_join_members:
            group.remove(member_id)
            self._rebalances.forget(group, member_id)
            why = "the client gives the id back before it has joined"
            self._step("member removed", group, why, member=member_id)
            return ErrorCode.NONE
        else:
            error = group.validate_member(member_id, instance_id)
            if error is not ErrorCode.NONE:
                self._refused(group, error, member_id)
                return error
        self._rebalances.forget(group, member_id)
        why = f"the member leaves; its client's reason: {reason or 'not provided'}"
        self._rebalances.dismiss(group, group.members[member_id], why)
        return ErrorCode.NONE

    def _refused(self, group: ClassicGroup | str, error: ErrorCode, member_id: str) -> None:
        self._step("request refused", group, error.name, error=error.name, member=member_id)

    # requests of administrators

    def describe_group(self, group_id: str, request_version: int = 6) -> DescribedGroup:
        """Return what an admin client sees of a group.

        Args:
            group_id: the group.
            request_version: of DescribeGroups; before 6 a missing group is just "Dead".

        Kafka: GroupMetadataManager.describeGroups (4.2)
        """
        group = self.groups.get(group_id)
        return missing_group(group_id, request_version) if group is None else group.describe()

    def list_groups(self, states: Iterable[str] = ()) -> list[ListedGroup]:
        """Return the groups, of these states if any are given; upper and lower case are equal.

        Kafka: GroupMetadataManager.listGroups (4.2)
        """
        wanted = {state.strip().lower() for state in several(states)}
        return [
            group.listed() for group in self.groups if not wanted or group.state.lower() in wanted
        ]

    def extend_session(self, group_id: str, member_id: str) -> None:
        """Begin a member's session again, as its plain commit of offsets does.

        Kafka: OffsetMetadataManager.validateOffsetCommit (4.2)
        """
        group = self.groups.get(group_id)
        if group is None or group.state not in (STABLE, PREPARING_REBALANCE):
            return
        member = group.members.get(member_id)
        if member is not None:
            self._rebalances.reschedule_heartbeat(group, member)
            self._step("session extended", group, "the member commits offsets", member=member_id)

    # load and unload

    def on_loaded(self) -> None:
        """Begin the sessions of all members; a group above the largest size rebalances.

        Kafka: GroupMetadataManager.onLoaded (4.2)
        """
        for group in self.groups:
            for member in group.members.values():
                self._rebalances.reschedule_heartbeat(group, member)
            if len(group.members) > self.config.max_size:
                reason = f"{len(group.members)} members are more than {self.config.max_size}"
                self._rebalances.prepare(group, reason)

    def on_unloaded(self) -> None:
        """Leave the groups: every join and sync that waits is answered `NOT_COORDINATOR`.

        Kafka: GroupMetadataManager.onUnloaded (4.2)
        """
        error = ErrorCode.NOT_COORDINATOR
        for group in self.groups:
            group.transition_to(DEAD, self._clock.now())
            is_joining = group.previous_state is PREPARING_REBALANCE
            for member in group.members.values():
                if is_joining:
                    name = member.member_id
                    group.complete_join(member, JoinGroupResponse(member_id=name, error=error))
                elif group.previous_state in (COMPLETING_REBALANCE, STABLE):
                    group.complete_sync(member, SyncGroupResponse(error))
            reason = "waiting members ask for the new coordinator"
            self._step("group unloaded", group, reason)


def missing_group(group_id: str, request_version: int, *, is_other: bool = False) -> DescribedGroup:
    """Return what an admin client sees of a group that is not a classic one.

    Args:
        group_id: its name.
        request_version: of DescribeGroups; before 6 a missing group is just "Dead".
        is_other: whether it is a group of another kind, and not missing.
    """
    if request_version < _NOT_FOUND_IS_AN_ERROR:
        return DescribedGroup(group_id, DEAD)
    reason = "is not a classic group" if is_other else "not found"
    error = ErrorCode.GROUP_ID_NOT_FOUND
    return DescribedGroup(group_id, DEAD, error, message=f"Group {group_id} {reason}.")

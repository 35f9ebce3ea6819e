"""Rebalances of classic groups: from the first member that must join to the assignments.

A rebalance is prepared, its join phase ends when every member waits or time is up, and a new
generation waits for its leader's assignment. Four timers move it on: a member's session, the join
phase, the sync phase, and the patience of a new member.

Kafka: GroupMetadataManager, the part of classic groups (4.2)
"""

from collections.abc import Iterator
from functools import partial

from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import (
    UNKNOWN_MEMBER_ID,
    JoinGroupResponse,
    SyncGroupResponse,
)
from workbench.coordinator.groups.classic.records import group_metadata_record
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
from workbench.errors import GroupStateError
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.words import plural


def heartbeat_key(group_id: str, member_id: str) -> str:
    """Return the key of a member's session timeout."""
    return f"heartbeat-{group_id}-{member_id}"


def join_key(group_id: str) -> str:
    """Return the key of the end of a group's join phase."""
    return f"join-{group_id}"


def sync_key(group_id: str) -> str:
    """Return the key of the end of a group's sync phase."""
    return f"sync-{group_id}"


class ClassicGroups:
    """The classic groups among all groups of a partition; what is another group is not here.

    Args:
        groups: group id → group of any kind; shared with what replays records.
    """

    def __init__(self, groups: dict[str, Group]) -> None:
        self._groups = groups

    def get(self, group_id: str) -> ClassicGroup | None:
        """Return a classic group; None: there is none, or it is of another kind."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def put(self, group: ClassicGroup) -> None:
        """Put in a group."""
        self._groups[group.group_id] = group

    def remove(self, group: ClassicGroup) -> None:
        """Take out a group, unless another one has its name now."""
        if self._groups.get(group.group_id) is group:
            del self._groups[group.group_id]

    def __iter__(self) -> Iterator[ClassicGroup]:
        return (each for each in self._groups.values() if isinstance(each, ClassicGroup))


class Rebalances:
    """Moves groups through their rebalances.

    Args:
        groups: the groups of the partition.
        clock: gives the time of state changes.
        timer: runs what is due later.
        config: limits and delays.
        steps: receives what is decided.
    """

    def __init__(
        self,
        groups: ClassicGroups,
        clock: Clock,
        timer: CoordinatorTimer,
        config: ClassicGroupConfig,
        steps: Steps,
    ) -> None:
        self._groups = groups
        self._clock = clock
        self._timer = timer
        self._config = config
        self._step = steps

    # the join phase

    def prepare_or_complete(self, group: ClassicGroup, reason: str) -> CoordinatorResult[None]:
        """Begin a rebalance if the state allows it; otherwise end the join phase if it can end.

        Kafka: GroupMetadataManager.maybePrepareRebalanceOrCompleteJoin (4.2)
        """
        if group.can_rebalance:
            return self.prepare(group, reason)
        return self.maybe_complete_join_phase(group)

    def prepare(self, group: ClassicGroup, reason: str) -> CoordinatorResult[None]:
        """Begin a rebalance: syncs that wait are refused, and the members must join again.

        The first rebalance of an empty group waits for more members.

        Kafka: GroupMetadataManager.prepareRebalance (4.2)
        """
        if group.state is COMPLETING_REBALANCE:
            self.reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync_members.clear()
        self._timer.cancel(sync_key(group.group_id))
        is_initial = group.state is EMPTY
        if is_initial:
            delay = self._config.initial_rebalance_delay_ms
            remaining = max(group.rebalance_timeout_ms - delay, 0)
            self._delay_initial(group, delay, remaining)
        group.transition_to(PREPARING_REBALANCE, self._clock.now())
        self._step("rebalance prepared", group, reason, members=len(group.members))
        return nothing_to_write() if is_initial else self._complete_or_wait(group)

    def _complete_or_wait(self, group: ClassicGroup) -> CoordinatorResult[None]:
        if group.has_all_members_joined:
            return self.complete_join(group)
        self._wait_for_members(group)
        return nothing_to_write()

    def _wait_for_members(self, group: ClassicGroup) -> None:
        timeout = group.rebalance_timeout_ms
        self._timer.schedule(
            join_key(group.group_id), timeout, partial(self._end_join_phase, group.group_id)
        )
        reason = f"the members have {timeout} ms, the longest rebalance timeout, to join"
        self._step("join phase waits", group, reason, **_joined(group))

    def _end_join_phase(self, group_id: str) -> CoordinatorResult[None]:
        group = self._groups.get(group_id)
        return nothing_to_write() if group is None else self.complete_join(group)

    def _delay_initial(self, group: ClassicGroup, delay: int, remaining: int) -> None:
        self._timer.schedule(
            join_key(group.group_id),
            delay,
            partial(self._end_initial_delay, group.group_id, delay, remaining),
        )
        reason = f"more members may come within {delay} ms"
        self._step("initial rebalance delayed", group, reason, remaining_ms=remaining)

    def _end_initial_delay(
        self, group_id: str, delay: int, remaining: int
    ) -> CoordinatorResult[None]:
        """End the join phase of an empty group, or wait again if members came.

        Kafka: GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule (4.2)
        """
        group = self._groups.get(group_id)
        if group is None:
            return nothing_to_write()
        if not group.new_member_added or remaining == 0:
            return self.complete_join(group)
        group.new_member_added = False
        self._delay_initial(
            group,
            min(self._config.initial_rebalance_delay_ms, remaining),
            max(remaining - delay, 0),
        )
        return nothing_to_write()

    def maybe_complete_join_phase(self, group: ClassicGroup) -> CoordinatorResult[None]:
        """End the join phase if every member waits; that of an empty group runs its time.

        Kafka: GroupMetadataManager.maybeCompleteJoinPhase (4.2)
        """
        if group.state is not PREPARING_REBALANCE:
            return nothing_to_write()
        if group.previous_state is EMPTY:
            reason = "the first rebalance of an empty group waits for its delay to end"
        elif not group.has_all_members_joined:
            reason = "not all members have joined"
        else:
            return self.complete_join(group)
        self._step("join phase waits", group, reason, **_joined(group))
        return nothing_to_write()

    def complete_join(self, group: ClassicGroup) -> CoordinatorResult[None]:
        """End the join phase: remove members that did not join, begin a generation, answer joins.

        Static members remain without joining. If no member joined, the phase begins again.

        Kafka: GroupMetadataManager.completeClassicGroupJoin (4.2)
        """
        self._timer.cancel(join_key(group.group_id))
        late = [m for m in group.members.values() if m.awaiting_join is None and not m.is_static]
        for member in late:
            self._drop(group, member.member_id, "the member did not join within the join phase")
        if group.state is DEAD:
            return nothing_to_write()
        leader = group.leader
        has_leader = group.maybe_elect_new_joined_leader()
        if has_leader and group.leader != leader:
            reason = f"the leader {leader} did not join within the join phase"
            self._step("leader elected", group, reason, member=group.leader)
        if not has_leader and group.members:
            self._wait_for_members(group)
            return nothing_to_write()
        group.init_next_generation(self._clock.now())
        if group.state is EMPTY:
            reason = "no member is left; an empty group is stored"
            self._step("group emptied", group, reason)
            on_append = partial(self._empty_stored, group)
            return CoordinatorResult([group_metadata_record(group, {})], None, on_append=on_append)
        self._begin_generation(group)
        return nothing_to_write()

    def _begin_generation(self, group: ClassicGroup) -> None:
        reason = f"{group.protocol} has the most votes of {plural(len(group.members), 'member')}"
        self._step(
            "generation formed",
            group,
            reason,
            leader=group.leader,
            protocol=group.protocol,
            members=len(group.members),
        )
        for member in group.members.values():
            group.complete_join(member, group.joined(member.member_id))
            self.reschedule_heartbeat(group, member)
            member.is_new = False
            group.pending_sync_members.add(member.member_id)
        self._timer.schedule(
            sync_key(group.group_id),
            group.rebalance_timeout_ms,
            partial(self._expire_pending_sync, group.group_id, group.generation),
        )

    def _empty_stored(self, group: ClassicGroup, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            reason = "the previous generation in the log becomes active again after a restart"
            self._step("group not stored", group, reason, error=answer_to(error).name)

    # the sync phase

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """Note that a member has synced; the last one ends the sync phase.

        Kafka: GroupMetadataManager.removePendingSyncMember (4.2)
        """
        group.pending_sync_members.discard(member_id)
        if group.state in (COMPLETING_REBALANCE, STABLE) and not group.pending_sync_members:
            self._timer.cancel(sync_key(group.group_id))

    def _expire_pending_sync(self, group_id: str, generation_id: int) -> CoordinatorResult[None]:
        """Remove the members that have not synced in time, static ones too, and rebalance.

        Kafka: GroupMetadataManager.expirePendingSync (4.2)
        """
        group = self._groups.get(group_id)
        if group is None or generation_id != group.generation:
            return nothing_to_write()
        if group.state not in (COMPLETING_REBALANCE, STABLE) or not group.pending_sync_members:
            return nothing_to_write()
        late = sorted(group.pending_sync_members)
        for member_id in late:
            self._drop(group, member_id, "the member did not sync within the rebalance timeout")
        return self.prepare(group, f"{plural(len(late), 'member')} did not sync in time")

    def store_assignments(
        self, group: ClassicGroup, member_id: str, assignments: dict[str, bytes]
    ) -> CoordinatorResult[None]:
        """Store the group with the leader's assignments, then give each member its own.

        Args:
            group: the group, in `COMPLETING_REBALANCE`.
            member_id: the leader.
            assignments: member id → assignment; members that it lacks get an empty one.
        """
        missing = [name for name in group.members if name not in assignments]
        assignments |= dict.fromkeys(missing, b"")
        reason = "the group is stored with the assignments"
        if missing:
            reason += f"; members without one get an empty one: {', '.join(missing)}"
        self._step("assignment received", group, reason, member=member_id)
        generation = group.generation

        def stored(error: ErrorCode) -> None:
            if group.state is not COMPLETING_REBALANCE or group.generation != generation:
                return
            if error is ErrorCode.NONE:
                self._become_stable(group, assignments)
                return
            answer = answer_to(error)
            reason = "the waiting members get the error, and the group rebalances"
            self._step("group not stored", group, reason, error=answer.name)
            self.reset_assignments(group, answer)
            self.prepare_or_complete(group, f"storing the assignments failed: {answer.name}")

        return CoordinatorResult(
            [group_metadata_record(group, assignments)], None, on_append=stored
        )

    def _become_stable(self, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        self._propagate(group, ErrorCode.NONE)
        group.transition_to(STABLE, self._clock.now())
        reason = "the record of the group is written"
        self._step("group stable", group, reason, members=len(group.members))

    def reset_assignments(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Forget the assignments and answer the waiting syncs with an error.

        Raises:
            GroupStateError: the group does not wait for assignments.

        Kafka: GroupMetadataManager.resetAndPropagateAssignmentWithError (4.2)
        """
        if group.state is not COMPLETING_REBALANCE:
            raise GroupStateError(f"group {group.group_id}: no assignment is awaited")
        for member in group.members.values():
            member.assignment = b""
        self._propagate(group, error)

    def _propagate(self, group: ClassicGroup, error: ErrorCode) -> None:
        is_right = error is ErrorCode.NONE
        for member in group.members.values():
            answer = SyncGroupResponse(
                error,
                group.protocol_type if is_right else None,
                group.protocol if is_right else None,
                member.assignment,
            )
            if group.complete_sync(member, answer):
                self.reschedule_heartbeat(group, member)

    # sessions

    def reschedule_heartbeat(
        self, group: ClassicGroup, member: ClassicGroupMember, timeout_ms: int | None = None
    ) -> None:
        """Begin a member's session timeout again.

        Args:
            group, member: the member of a group.
            timeout_ms: ms; None: the member's session timeout.

        Kafka: GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat (4.2)
        """
        timeout = member.session_timeout_ms if timeout_ms is None else timeout_ms
        self.expect_heartbeat(group, member.member_id, timeout)

    def expect_heartbeat(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Remove a member, or a pending id, unless it shows up within ``timeout_ms``."""
        self._timer.schedule(
            heartbeat_key(group.group_id, member_id),
            timeout_ms,
            partial(self._expire_heartbeat, group.group_id, member_id),
        )

    def _expire_heartbeat(self, group_id: str, member_id: str) -> CoordinatorResult[None]:
        """Remove a member whose session timed out, or an id with which no client joined.

        Kafka: GroupMetadataManager.expireClassicGroupMemberHeartbeat (4.2)
        """
        group = self._groups.get(group_id)
        if group is None or group.state is DEAD:
            return nothing_to_write()
        if member_id in group.pending_join_members:
            return self._expire_pending(group, member_id)
        member = group.members.get(member_id)
        if member is None or member.has_satisfied_heartbeat:
            return nothing_to_write()
        self.dismiss(group, member, "no heartbeat within the session timeout")
        if group.state in (STABLE, COMPLETING_REBALANCE):
            return self.prepare_or_complete(group, f"the session of {member_id} timed out")
        return self._complete_if_all_joined(group)

    def _expire_pending(self, group: ClassicGroup, member_id: str) -> CoordinatorResult[None]:
        group.remove(member_id)
        reason = "no join with this id within the session timeout"
        self._step("member removed", group, reason, member=member_id)
        return self._complete_if_all_joined(group)

    def _complete_if_all_joined(self, group: ClassicGroup) -> CoordinatorResult[None]:
        if group.state is PREPARING_REBALANCE and group.has_all_members_joined:
            return self.complete_join(group)
        return nothing_to_write()

    def dismiss(self, group: ClassicGroup, member: ClassicGroupMember, reason: str) -> None:
        """Remove a member; a join of it that waits is answered, so that the client can retry."""
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        group.complete_join(member, JoinGroupResponse(member_id=UNKNOWN_MEMBER_ID, error=unknown))
        leader = group.leader
        group.remove(member.member_id)
        self._step("member removed", group, reason, member=member.member_id)
        self._tell_leader(group, leader)

    def forget(self, group: ClassicGroup, member_id: str) -> None:
        """Cancel the session timeout of a member or a pending id."""
        self._timer.cancel(heartbeat_key(group.group_id, member_id))

    def _drop(self, group: ClassicGroup, member_id: str, reason: str) -> None:
        leader = group.leader
        group.remove(member_id)
        self.forget(group, member_id)
        self._step("member removed", group, reason, member=member_id)
        self._tell_leader(group, leader)

    def _tell_leader(self, group: ClassicGroup, before: str | None) -> None:
        if group.leader is not None and group.leader != before:
            reason = f"the leader {before} is gone"
            self._step("leader elected", group, reason, member=group.leader)


def _joined(group: ClassicGroup) -> dict[str, int]:
    """Return how many members the join phase waits for."""
    return {
        "members": len(group.members),
        "joined": group.awaiting_join,
        "pending": len(group.pending_join_members),
    }

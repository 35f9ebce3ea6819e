"""A classic group: its state, members, generation and leader, as records or a coordinator make it.

A reader has the group that a broker has just loaded: no record says whether the members are still
alive.

Kafka: ClassicGroup (4.2)
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Final, Literal

from workbench.coordinator.groups.classic.java_hash_map import JavaHashMap
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import (
    Committer,
    DescribedGroup,
    DescribedMember,
    JoinedMember,
    JoinGroupResponse,
    ListedGroup,
    Protocol,
    SyncGroupResponse,
    complete,
    group_not_found,
)
from workbench.coordinator.groups.classic.state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    VALID_PREVIOUS_STATES,
    ClassicGroupState,
)
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import SUBSCRIPTION, TYPES
from workbench.errors import CorruptRecordError, GroupStateError, InvalidTransitionError
from workbench.runtime.error_codes import ErrorCode

CONSUMER: Final = "consumer"
"""The protocol type of consumers."""

GROUP_METADATA: Final = 2
"""Type of the record of a classic group."""

_VERSION: Final = struct.Struct(">h")


class ClassicGroup:
    """A group of the classic protocol, or one that only commits offsets (a simple one).

    Not thread-safe: the coordinator of its partition runs one operation at a time.

    Args:
        group_id: its name.
        state_timestamp: when the state began, ms; None: unknown, as records before Kafka 2.1 do
            not say.
        state: the first state.

    Attributes:
        previous_state: the state before this one; of a new group `DEAD`.
        generation: rises with each completed rebalance, also with one that empties the group.
        protocol_type: "consumer", "connect", …; empty for a simple group.
        protocol: the protocol of this generation: of consumers the assignor; None without members.
        leader: the id of the member that assigns.
        members: member id → member.
        static_members: instance id → member id.
        pending_join_members: ids that were given out and have not joined yet.
        pending_sync_members: members of this generation that have not synced yet.
        subscribed_topics: topics of all consumers; None: unknown.
        new_member_added: a member came while the first rebalance waits for more.
        awaiting_join: the number of members whose join waits for an answer.
        record_offset: the offset of the record that the group was read from; None: it was not.
        record_timestamp: the timestamp of that record, ms.
    """

    __slots__ = (
        "_supported", "awaiting_join", "generation", "group_id", "leader", "members",
        "new_member_added", "pending_join_members", "pending_sync_members", "previous_state",
        "protocol", "protocol_type", "record_offset", "record_timestamp", "state",
        "state_timestamp", "static_members", "subscribed_topics",
    )  # fmt: skip

    def __init__(
        self,
        group_id: str,
        state_timestamp: int | None = None,
        state: ClassicGroupState = ClassicGroupState.EMPTY,
    ) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = ClassicGroupState.DEAD
        self.state_timestamp = state_timestamp
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: JavaHashMap[ClassicGroupMember] = JavaHashMap()
        self.static_members: dict[str, str] = {}
        self.pending_join_members: set[str] = set()
        self.pending_sync_members: set[str] = set()
        self.subscribed_topics: frozenset[str] | None = None
        self.new_member_added = False
        self.awaiting_join = 0
        self.record_offset: int | None = None
        self.record_timestamp: int | None = None
        self._supported: defaultdict[str, int] = defaultdict(int)

    # what it has in common with the groups of KIP-848

    @property
    def kind(self) -> Literal["classic", "simple"]:
        """Whether it is a simple group: one that only commits."""
        return "classic" if self.protocol_type else "simple"

    @property
    def epoch(self) -> None:
        """None: classic groups have a generation."""

    @property
    def assignment_epoch(self) -> None:
        """None, as `epoch`."""

    def without_members(self) -> "ClassicGroup":
        """Return what the expiry of offsets depends on: a group of the same state and topics."""
        copy = ClassicGroup(self.group_id, self.state_timestamp, self.state)
        copy.generation, copy.protocol_type = self.generation, self.protocol_type
        copy.subscribed_topics = self.subscribed_topics
        return copy

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic; True where a consumer's cannot be read.

        Kafka: ClassicGroup.isSubscribedToTopic (4.2)
        """
        topics = self.subscribed_topics
        return self.protocol_type == CONSUMER if topics is None else topic in topics

    def validate_offset_commit(self, committer: Committer) -> None:
        """Check whether the group takes a commit.

        Raises:
            CoordinatorError: it does not.

        Kafka: ClassicGroup.validateOffsetCommit (4.2), GroupCoordinator.validateOffsetCommit (2.8)
        """
        state = self.state
        if state is DEAD:
            raise ErrorCode.COORDINATOR_NOT_AVAILABLE.error(f"group {self.group_id!r} is dead")
        is_outside = committer.generation < 0
        if is_outside and state is EMPTY:
            return
        name, instance = committer.member_id, committer.group_instance_id
        if not is_outside or name or instance is not None:
            self._require_member(name, instance)
            if committer.generation != self.generation:
                raise ErrorCode.ILLEGAL_GENERATION.error(
                    f"generation {committer.generation}, expected {self.generation}"
                )
        elif not committer.is_transactional:
            raise ErrorCode.UNKNOWN_MEMBER_ID.error(
                f"group {self.group_id!r} is {state}: only its members commit"
            )
        if not committer.is_transactional and state is COMPLETING_REBALANCE:
            raise ErrorCode.REBALANCE_IN_PROGRESS.error(f"group {self.group_id!r} is rebalancing")

    def _require_member(self, member_id: str, group_instance_id: str | None) -> None:
        error = self.validate_member(member_id, group_instance_id)
        if error is ErrorCode.FENCED_INSTANCE_ID:
            owner = self.static_members[group_instance_id or ""]
            raise error.error(f"{owner!r} has instance id {group_instance_id!r}")
        if error is not ErrorCode.NONE:
            is_static = group_instance_id is not None
            if is_static and group_instance_id not in self.static_members:
                raise error.error(f"no member has instance id {group_instance_id!r}")
            raise error.error(f"group {self.group_id!r} has no member {member_id!r}")

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:  # noqa: ARG002 - a classic group asks for no member
        """Check whether offsets of the group may be fetched.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: the group is dead.

        Kafka: ClassicGroup.validateOffsetFetch (4.2)
        """
        if self.state is DEAD:
            raise group_not_found(self.group_id, "is dead")

    def validate_offset_delete(self) -> None:
        """Check whether offsets of the group may be deleted.

        Raises:
            CoordinatorError: they must not.

        Kafka: ClassicGroup.validateOffsetDelete (4.2)
        """
        if self.state is DEAD:
            raise group_not_found(self.group_id, "is dead")
        if self.state is not EMPTY and self.protocol_type != CONSUMER:
            raise ErrorCode.NON_EMPTY_GROUP.error(f"group {self.group_id!r} is {self.state}")

    def validate_delete_group(self) -> None:
        """Check whether the group may be deleted.

        Raises:
            CoordinatorError: it must not.

        Kafka: ClassicGroup.validateDeleteGroup (4.2)
        """
        if self.state is DEAD:
            raise group_not_found(self.group_id, "is dead")
        if self.state is not EMPTY:
            raise ErrorCode.NON_EMPTY_GROUP.error(f"group {self.group_id!r} is {self.state}")

    def tombstones(self) -> Iterator[CoordinatorRecord]:
        """Yield the record that removes the group.

        Kafka: ClassicGroup.createGroupTombstoneRecords (4.2)
        """
        yield encode_record(TYPES[GROUP_METADATA], GROUP_METADATA, {"group": self.group_id})

    # members

    @property
    def has_all_members_joined(self) -> bool:
        """Whether every member waits for the end of the join phase, and no id is pending."""
        return self.awaiting_join == len(self.members) and not self.pending_join_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members, ms."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_leader(self, member_id: str) -> bool:
        """Return whether a member leads the group."""
        return self.leader == member_id

    def add(
        self, member: ClassicGroupMember, waiting: "Future[JoinGroupResponse] | None" = None
    ) -> None:
        """Add a member; the first one leads.

        Args:
            member: the member.
            waiting: its join, if that waits for an answer.

        Raises:
            GroupStateError: the instance id is taken, or type or protocols do not fit the group's.
        """
        if member.group_instance_id is not None:
            if member.group_instance_id in self.static_members:
                raise GroupStateError(
                    f"group {self.group_id}: instance id {member.group_instance_id} is taken"
                )
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.protocol_type != member.protocol_type or not self.supports(
            member.protocol_type, member.supported_protocols
        ):
            raise GroupStateError(
                f"group {self.group_id}: member {member.member_id} supports no protocol of the "
                "group"
            )
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._count(member.supported_protocols, 1)
        self._await_join(member, waiting)
        self.pending_join_members.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending id; another member leads if the leader goes."""
        removed = self.members.pop(member_id, None)
        if removed is not None:
            self._count(removed.supported_protocols, -1)
            self._await_join(removed, None)
            if removed.group_instance_id is not None:
                self.static_members.pop(removed.group_instance_id, None)
        if self.is_leader(member_id):
            self.leader = next(iter(self.members), None)
        self.pending_join_members.discard(member_id)
        self.pending_sync_members.discard(member_id)

    def update(
        self,
        member: ClassicGroupMember,
        protocols: tuple[Protocol, ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        waiting: "Future[JoinGroupResponse] | None",
    ) -> None:
        """Take over what a member says when it joins again."""
        self._count(member.supported_protocols, -1)
        member.supported_protocols = protocols
        self._count(protocols, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._await_join(member, waiting)

    def _await_join(
        self, member: ClassicGroupMember, waiting: "Future[JoinGroupResponse] | None"
    ) -> None:
        self.awaiting_join += (waiting is not None) - (member.awaiting_join is not None)
        member.awaiting_join = waiting

    def replace_static_member(
        self, group_instance_id: str, old_member_id: str, new_member_id: str
    ) -> ClassicGroupMember:
        """Give a static member a new id; requests that wait under the old one are fenced.

        Returns:
            The member under its new id, with its assignment, and the lead if the old one led.

        Raises:
            ValueError: there is no such member.
        """
        old = self.members.pop(old_member_id, None)
        if old is None:
            raise ValueError(f"group {self.group_id}: there is no member {old_member_id}")
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.complete_join(
            old, JoinGroupResponse(member_id=old_member_id, error=fenced, protocol_name=None)
        )
        self.complete_sync(old, SyncGroupResponse(error=fenced))
        new = ClassicGroupMember(
            new_member_id,
            old.group_instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocol_type,
            old.supported_protocols,
            old.assignment,
        )
        self.members[new_member_id] = new
        if self.is_leader(old_member_id):
            self.leader = new_member_id
        self.static_members[group_instance_id] = new_member_id
        return new

    def maybe_elect_new_joined_leader(self) -> bool:
        """Let a member lead that has joined, if the leader has not.

        Returns:
            Whether the group has a leader that has joined.
        """
        if self.leader is None:
            return False
        if self.members[self.leader].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader = member.member_id
                return True
        return False

    def validate_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Return `NONE` if the ids belong to a member, and to the same one."""
        if group_instance_id is not None:
            existing = self.static_members.get(group_instance_id)
            if existing is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if existing != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # state

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance can begin in this state."""
        return self.state in VALID_PREVIOUS_STATES[PREPARING_REBALANCE]

    def transition_to(self, state: ClassicGroupState, now: int) -> None:
        """Change the state, at a time in ms.

        Raises:
            InvalidTransitionError: the state must not follow the present one.
        """
        allowed = VALID_PREVIOUS_STATES[state]
        if self.state not in allowed:
            raise InvalidTransitionError(
                f"group {self.group_id}: {state} must not follow {self.state} "
                f"(expected {' or '.join(sorted(allowed))})"
            )
        self.previous_state, self.state = self.state, state
        self.state_timestamp = now

    def init_next_generation(self, now: int) -> None:
        """Begin a generation: with a protocol if there are members, otherwise as an empty group.

        Args:
            now: the time, ms.

        Raises:
            InvalidTransitionError: no rebalance is being prepared.
        """
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.transition_to(COMPLETING_REBALANCE if self.members else EMPTY, now)
        self.pending_sync_members.clear()

    # protocols

    def _count(self, protocols: tuple[Protocol, ...], by: int) -> None:
        for protocol in protocols:
            self._supported[protocol.name] += by

    def supports(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        """Return whether a member with these protocols fits the group.

        An empty group takes any; otherwise type and at least one protocol are all members'.
        """
        if self.state is EMPTY:
            return bool(protocol_type) and bool(protocols)
        return protocol_type == self.protocol_type and any(
            self._supported[protocol.name] == len(self.members) for protocol in protocols
        )

    def select_protocol(self) -> str:
        """Return the protocol with the most votes among those that all members support.

        Raises:
            GroupStateError: there are no members.
            ValueError: no protocol is supported by all.
        """
        if not self.members:
            raise GroupStateError(
                f"group {self.group_id}: an empty group has no protocol to choose"
            )
        candidates = {name for name, n in self._supported.items() if n == len(self.members)}
        votes: JavaHashMap[int] = JavaHashMap()
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics of all consumers; None: not consumers, or one cannot be read."""
        if self.protocol_type != CONSUMER:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        topics: set[str] = set()
        for subscription in {each.metadata(self.protocol) for each in self.members.unordered()}:
            found = _topics(subscription)
            if found is None:
                return None
            topics |= found
        return frozenset(topics)

    # answers

    def complete_join(self, member: ClassicGroupMember, answer: JoinGroupResponse) -> bool:
        """Answer the join of a member, if one waits."""
        waiting = member.awaiting_join
        if waiting is None:
            return False
        self._await_join(member, None)
        complete(waiting, answer)
        return True

    def complete_sync(self, member: ClassicGroupMember, answer: SyncGroupResponse) -> bool:
        """Answer the sync of a member, if one waits."""
        waiting, member.awaiting_sync = member.awaiting_sync, None
        if waiting is None:
            return False
        complete(waiting, answer)
        return True

    def joined(self, member_id: str, *, skips_assignment: bool = False) -> JoinGroupResponse:
        """Return what a member of this generation is answered; the leader gets all members."""
        return JoinGroupResponse(
            member_id=member_id,
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.leader,
            skip_assignment=skips_assignment,
            members=self.current_members() if self.is_leader(member_id) else (),
        )

    def current_members(self) -> tuple[JoinedMember, ...]:
        """Return the members with what they say for the chosen protocol.

        Raises:
            GroupStateError: the group is dead or prepares a rebalance.
        """
        if self.state in (DEAD, PREPARING_REBALANCE):
            raise GroupStateError(f"group {self.group_id}: no members can be named in {self.state}")
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        )

    def describe(self) -> DescribedGroup:
        """Return what an admin client sees; the protocol and metadata in `STABLE` alone."""
        is_stable = self.state is STABLE
        return DescribedGroup(
            self.group_id,
            self.state,
            protocol_type=self.protocol_type,
            protocol=(self.protocol or "") if is_stable else "",
            members=tuple(
                DescribedMember(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    member.metadata(self.protocol) if is_stable else b"",
                    member.assignment,
                )
                for member in self.members.values()
            ),
        )

    def listed(self) -> ListedGroup:
        """Return its line in a listing."""
        return ListedGroup(self.group_id, self.protocol_type, self.state)

    def fields(self) -> dict[str, Any]:
        """Return the fields of its record; each member's metadata is that of its first choice."""
        return {
            "protocolType": self.protocol_type,
            "generation": self.generation,
            "protocol": self.protocol,
            "leader": self.leader,
            "currentStateTimestamp": -1 if self.state_timestamp is None else self.state_timestamp,
            "members": [
                {
                    "memberId": member.member_id,
                    "clientId": member.client_id,
                    "groupInstanceId": member.group_instance_id,
                    "clientHost": member.client_host,
                    "rebalanceTimeout": member.rebalance_timeout_ms,
                    "sessionTimeout": member.session_timeout_ms,
                    "subscription": member.subscription,
                    "assignment": member.assignment,
                }
                for member in self.members.values()
            ],
        }


def _topics(subscription: bytes) -> set[str] | None:
    """Return the topics of a subscription; every version begins as version 0 does."""
    if len(subscription) < _VERSION.size or _VERSION.unpack_from(subscription)[0] < 0:
        return None
    try:
        fields, _ = SUBSCRIPTION.decode(subscription, 0, _VERSION.size)
    except CorruptRecordError:
        return None
    return set(fields["topics"])

"""Groups of KIP-848 as their records make them: consumer, share and streams groups; any group.

A coordinator that serves such a group changes it by its records alone, so a served group is the
loaded one. States have the names that an admin client shows.

Kafka: ConsumerGroup, ShareGroup, StreamsGroup, Group (4.2)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.java_hash_map import text_order
from workbench.coordinator.groups.classic.messages import (
    NO_GENERATION,
    Committer,
    ListedGroup,
    group_not_found,
)
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import TYPES
from workbench.runtime.error_codes import ErrorCode

ModernKind = Literal["consumer", "share", "streams"]
Fields = Mapping[str, Any]

_PARTITION_STATES: Final = {0: "Stable", 1: "UnrevokedPartitions", 2: "UnreleasedPartitions"}
_TASK_STATES: Final = {1: "Stable", 2: "UnrevokedTasks", 3: "UnreleasedTasks"}
MEMBER_STATES: Final[Mapping[ModernKind, Mapping[int, str]]] = {
    "consumer": _PARTITION_STATES,
    "share": _PARTITION_STATES,
    "streams": _TASK_STATES,
}
"""Kind of a group → states of its members by number; others are "Unknown"."""

_FIRST_OF_KIP_848: Final = 9  # version of OffsetCommit that knows member epochs
_TOMBSTONES: Final[Mapping[ModernKind, tuple[int, ...]]] = {
    "consumer": (8, 7, 6, 5, 16, 4, 3),
    "share": (14, 13, 12, 10, 15, 11),
    "streams": (22, 21, 20, 19, 17, 23),
}
"""Types of records in the order of their tombstones; those of members come once for each member."""
_OF_MEMBERS: Final = frozenset({5, 7, 8, 10, 13, 14, 19, 21, 22})
_OF_REGEX: Final = 16

DEFAULT_ASSIGNOR: Final = "uniform"
"""First of `group.consumer.assignors` unless configured."""


def preferred_assignor(asked: Iterable[str | None], own: str | None = None) -> str:
    """Return the assignor that most members ask for, otherwise the default.

    Args:
        asked: the assignor that each member asks for.
        own: the one that the member asks for whose heartbeat changes the group. Of two that as
            many ask for, it comes first if no other member does: in Java's map it is put in again.

    Kafka: ConsumerGroup.computePreferredServerAssignor (4.2)
    """
    counts = Counter(name for name in asked if name is not None)
    names = text_order(counts)
    if own is not None and counts[own] == 1:
        names = [own, *names]
    return max(names, key=lambda name: counts[name], default=DEFAULT_ASSIGNOR)


@dataclass(slots=True)
class ModernMember:
    """A member of a consumer, share or streams group.

    Attributes:
        member_id: its name.
        kind: the kind of its group.
        metadata: the fields of the member's own record; None: only its assignment is in the log.
        current: the fields of its current assignment; None: no assignment yet.
    """

    member_id: str
    kind: ModernKind
    metadata: Fields | None = None
    current: Fields | None = None

    @property
    def epoch(self) -> int:
        """The epoch that the member has reached; -2: a static member that left for a while."""
        return 0 if self.current is None else int(self.current["memberEpoch"])

    @property
    def state(self) -> str:
        """The member's progress with its assignment."""
        if self.current is None:
            return "Stable"
        return MEMBER_STATES[self.kind].get(self.current["state"], "Unknown")

    @property
    def uses_classic_protocol(self) -> bool:
        """Whether its client still joins, syncs and sends heartbeats as in a classic group."""
        return (self.metadata or {}).get("classicMemberMetadata") is not None

    def check_epoch(self, epoch: int, *, is_transactional: bool = False) -> None:
        """Check the epoch of a request.

        Of a streams group, Kafka also takes an older epoch for partitions that the member had then.

        Raises:
            CoordinatorError: it is another one.

        Kafka: ConsumerGroup.validateMemberEpoch (4.2)
        """
        if epoch == self.epoch:
            return
        is_old = is_transactional or self.uses_classic_protocol
        code = ErrorCode.ILLEGAL_GENERATION if is_old else ErrorCode.STALE_MEMBER_EPOCH
        raise code.error(f"member epoch {epoch}, expected {self.epoch}")

    def has_reached(self, epoch: int) -> bool:
        """Return whether the member has all that the assignment of ``epoch`` gives it."""
        return self.state == "Stable" and self.epoch == epoch


@dataclass(slots=True)
class ModernGroup:
    """A group whose members get their assignments from the broker.

    Attributes:
        group_id: its name.
        kind: consumer, share or streams.
        epoch: the group's epoch.
        metadata: the fields of the record with the epoch; None: the record is not in the log.
        assignment_epoch: the target assignment's epoch.
        members: the members by id.
        targets: member id → fields of the target assignment.
        regexes: regular expression → fields of what it resolves to.
        topology: fields of a streams group's topology.
        topics: fields of the topics' metadata (4.0), or of a share group's partitions.
        record_offset: the offset of the group's newest record.
        record_timestamp: the timestamp of that record, ms.
        most_members: the largest number of members that it had at a time.
    """

    group_id: str
    kind: ModernKind
    epoch: int = 0
    metadata: Fields | None = None
    assignment_epoch: int = 0
    members: dict[str, ModernMember] = field(default_factory=dict)
    targets: dict[str, Fields] = field(default_factory=dict)
    regexes: dict[str, Fields] = field(default_factory=dict)
    topology: Fields | None = None
    topics: dict[str, Fields] = field(default_factory=dict)
    record_offset: int | None = None
    record_timestamp: int | None = None
    most_members: int = 0

    @property
    def protocol_type(self) -> str:
        """The kind, which a listing of groups shows as the protocol."""
        return self.kind

    @property
    def leader(self) -> None:
        """None: the broker assigns."""

    @property
    def state_timestamp(self) -> None:
        """None: no record says."""

    @property
    def generation(self) -> int:
        """The epoch, which consumers see as the generation."""
        return self.epoch

    @property
    def metadata_hash(self) -> int:
        """The hash of the topics that it subscribes to, as of its epoch; before 4.1 there is none.

        Kafka: ModernGroup.metadataHash (4.2)
        """
        return 0 if self.metadata is None else int(self.metadata.get("metadataHash", 0))

    @property
    def protocol(self) -> str | None:
        """The assignor that most members ask for, otherwise the default; consumer groups alone.

        Kafka: ConsumerGroup.preferredServerAssignor (4.2)
        """
        if self.kind != "consumer":
            return None
        members = self.members.values()
        return preferred_assignor((each.metadata or {}).get("serverAssignor") for each in members)

    @property
    def state(self) -> str:
        """The state that a broker works out from the records.

        Kafka: ConsumerGroup.maybeUpdateGroupState and its siblings (4.2)
        """
        if not self.members:
            return "Empty"
        if self.kind == "share":
            return "Stable"
        if self.kind == "streams" and not self._is_topology_validated:
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.has_reached(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def _is_topology_validated(self) -> bool:
        if self.topology is None or self.metadata is None:
            return False
        return bool(self.topology["epoch"] == self.metadata.get("validatedTopologyEpoch", -1))

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """Topics of all members, and what their regular expressions resolve to.

        Members of a streams group share the topology's.
        """
        topics: set[str] = set()
        for member in self.members.values():
            fields = member.metadata or {}
            topics.update(fields.get("subscribedTopicNames", ()))
            pattern = fields.get("subscribedTopicRegex")
            if pattern in self.regexes:
                topics.update(self.regexes[pattern]["topics"])
        topology = self.topology if self.topology and self.members else {}
        for part in topology.get("subtopologies", ()):
            topics.update(part["sourceTopics"])
            topics.update(topic["name"] for topic in part["repartitionSourceTopics"])
        return frozenset(topics)

    def listed(self) -> ListedGroup:
        """Return its line in a listing."""
        return ListedGroup(self.group_id, self.protocol_type, self.state, self.kind)

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic.

        Kafka: ModernGroup.isSubscribedToTopic (4.2)
        """
        return topic in self.subscribed_topics

    def validate_offset_commit(self, committer: Committer) -> None:
        """Check whether the group takes a commit.

        Raises:
            CoordinatorError: it does not.

        Kafka: ConsumerGroup.validateOffsetCommit and its siblings (4.2)
        """
        self._require_offsets()
        if committer.generation < 0 and not self.members:
            return
        is_anonymous = (
            committer.generation == NO_GENERATION
            and not committer.member_id
            and committer.group_instance_id is None
        )
        if committer.is_transactional and is_anonymous:
            return
        member = self._member(committer.member_id)
        is_modern = committer.is_transactional or committer.api_version >= _FIRST_OF_KIP_848
        if not is_modern and not member.uses_classic_protocol:
            raise ErrorCode.UNSUPPORTED_VERSION.error(
                f"version {committer.api_version} of OffsetCommit knows no member epochs"
            )
        member.check_epoch(committer.generation, is_transactional=committer.is_transactional)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Check whether a member may fetch offsets; without member id and epoch anybody may.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: the group has no offsets; otherwise the fetch is
                refused.

        Kafka: ConsumerGroup.validateOffsetFetch and its siblings (4.2)
        """
        self._require_offsets()
        if member_id is not None or member_epoch >= 0:
            self._member(member_id or "").check_epoch(member_epoch)

    def validate_offset_delete(self) -> None:
        """Check whether offsets of the group may be deleted.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: it has none.

        Kafka: ConsumerGroup.validateOffsetDelete and its siblings (4.2)
        """
        self._require_offsets()

    def validate_delete_group(self) -> None:
        """Check whether the group may be deleted.

        Raises:
            CoordinatorError: it has members.

        Kafka: ConsumerGroup.validateDeleteGroup and its siblings (4.2)
        """
        if self.state != "Empty":
            raise ErrorCode.NON_EMPTY_GROUP.error(f"group {self.group_id!r} is {self.state}")

    def _require_offsets(self) -> None:
        if self.kind == "share":
            raise group_not_found(self.group_id, "is a share group, which commits no offsets")

    def _member(self, name: str) -> ModernMember:
        member = self.members.get(name)
        if member is None:
            raise ErrorCode.UNKNOWN_MEMBER_ID.error(
                f"group {self.group_id!r} has no member {name!r}"
            )
        return member

    def tombstones(self) -> Iterator[CoordinatorRecord]:
        """Yield the records that remove the group, in Kafka's order.

        Kafka: ConsumerGroup.createGroupTombstoneRecords and its siblings (4.2)
        """
        for type_id in _TOMBSTONES[self.kind]:
            for fields in self._keys(type_id):
                yield encode_record(TYPES[type_id], type_id, fields)

    def _keys(self, type_id: int) -> Iterator[dict[str, Any]]:
        name = {"groupId": self.group_id}
        if type_id in _OF_MEMBERS:
            yield from ({**name, "memberId": member} for member in self.members)
        elif type_id == _OF_REGEX:
            yield from ({**name, "regularExpression": pattern} for pattern in self.regexes)
        else:
            yield name


Group = ClassicGroup | ModernGroup


def as_consumer_group(group_id: str, group: Group | None) -> ModernGroup:
    """Return a group if it is a consumer group of KIP-848.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND.

    Kafka: GroupMetadataManager.consumerGroup (4.2)
    """
    if group is None:
        raise ErrorCode.GROUP_ID_NOT_FOUND.error(f"Group {group_id} not found.")
    if isinstance(group, ModernGroup) and group.kind == "consumer":
        return group
    raise ErrorCode.GROUP_ID_NOT_FOUND.error(f"Group {group_id} is not a consumer group.")

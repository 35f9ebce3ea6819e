"""Groups as the records of `__consumer_offsets` make them: classic, consumer, share and streams.

States have the names that an admin client shows. A state is that of a broker which has just loaded
the group: no record says whether the members are still alive.

Kafka: ClassicGroup, ConsumerGroup, ShareGroup, StreamsGroup (4.2)
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from workbench.coordinator.groups.classic.java_hash_map import text_order
from workbench.runtime.error_codes import ErrorCode

ModernKind = Literal["consumer", "share", "streams"]
Kind = Literal["classic", "simple", "consumer", "share", "streams"]
Fields = Mapping[str, Any]

_PARTITION_STATES: Final = {0: "Stable", 1: "UnrevokedPartitions", 2: "UnreleasedPartitions"}
_TASK_STATES: Final = {1: "Stable", 2: "UnrevokedTasks", 3: "UnreleasedTasks"}
MEMBER_STATES: Final[Mapping[ModernKind, Mapping[int, str]]] = {
    "consumer": _PARTITION_STATES,
    "share": _PARTITION_STATES,
    "streams": _TASK_STATES,
}
"""Kind of a group → states of its members by number; others are "Unknown"."""


DEFAULT_ASSIGNOR: Final = "uniform"
"""First of `group.consumer.assignors` unless configured."""


def preferred_assignor(asked: Iterable[str | None], own: str | None = None) -> str:
    """Return the assignor that most members ask for, otherwise the default.

    Args:
        asked: the assignor that each member asks for.
        own: the one that the member asks for whose heartbeat changes the group. Of two that as
            many ask for, it comes first if nobody else does: in Java's map it is put in again.

    Kafka: ConsumerGroup.computePreferredServerAssignor (4.2)
    """
    counts = Counter(name for name in asked if name is not None)
    names = text_order(counts)
    if own is not None and counts[own] == 1:
        names = [own, *names]
    return max(names, key=lambda name: counts[name], default=DEFAULT_ASSIGNOR)


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """A member of a classic group.

    Attributes:
        member_id, client_id, client_host: the member's id, the client's id and its host.
        group_instance_id: the id of a static member.
        rebalance_timeout, session_timeout: ms.
        subscription, assignment: decoded for consumers, otherwise bytes.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int
    subscription: dict[str, Any] | bytes
    assignment: dict[str, Any] | bytes

    @classmethod
    def of_record(cls, fields: Fields) -> "ClassicMember":
        """Return a member of a group's record; one without rebalance timeout has the session's."""
        rebalance = fields.get("rebalanceTimeout", -1)
        return cls(
            fields["memberId"],
            fields.get("groupInstanceId"),
            fields["clientId"],
            fields["clientHost"],
            fields["sessionTimeout"] if rebalance == -1 else rebalance,
            fields["sessionTimeout"],
            fields["subscription"],
            fields["assignment"],
        )


class Served(NamedTuple):
    """What a group is while a coordinator serves it, beyond its record.

    Attributes:
        state: the state, of which a record knows only Stable and Empty.
        subscribed_topics: topics of all members when the generation began; None: unknown.
    """

    state: str
    subscribed_topics: frozenset[str] | None


@dataclass(slots=True)
class ClassicGroup:
    """A group of the classic protocol, or one that only commits offsets (a simple one).

    Attributes:
        group_id: its name.
        protocol_type: "consumer", "connect", …; empty for a simple group.
        generation: the generation of the last completed rebalance; 0 for a simple group.
        protocol: the chosen assignor; None while the group is empty.
        leader: its member id.
        state_timestamp: when the generation was formed or the group became empty, ms; None:
            unknown.
        members: the members in the record's order.
        record_offset: the offset of the group's record; None: only commits name the group.
        record_timestamp: the timestamp of that record, ms.
        served: what only the coordinator that serves the group knows; None: nobody does.
    """

    group_id: str
    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = None
    leader: str | None = None
    state_timestamp: int | None = None
    members: list[ClassicMember] = field(default_factory=list)
    record_offset: int | None = None
    record_timestamp: int | None = None
    served: Served | None = None

    @classmethod
    def of_record(
        cls, group_id: str, fields: Fields, offset: int | None, timestamp: int | None
    ) -> "ClassicGroup":
        """Return the group in a record of type 2."""
        stamp = fields.get("currentStateTimestamp", -1)
        return cls(
            group_id,
            fields["protocolType"],
            fields["generation"],
            fields["protocol"],
            fields["leader"],
            None if stamp == -1 else stamp,
            [ClassicMember.of_record(member) for member in fields["members"]],
            offset,
            timestamp,
        )

    @property
    def epoch(self) -> None:
        """None: classic groups have a generation."""

    @property
    def assignment_epoch(self) -> None:
        """None, as `epoch`."""

    @property
    def kind(self) -> Kind:
        """Whether it is a simple group: one that only commits."""
        return "classic" if self.protocol_type else "simple"

    @property
    def state(self) -> str:
        """Stable or Empty from records, because a rebalance is never stored; any if served."""
        if self.served is not None:
            return self.served.state
        return "Stable" if self.members else "Empty"

    @property
    def subscribed_topics(self) -> frozenset[str] | None:
        """Topics of all members; None where a subscription cannot be read, so no topic expires."""
        if self.served is not None:
            return self.served.subscribed_topics
        if self.protocol_type != "consumer":
            return None
        topics: set[str] = set()
        for member in self.members:
            if not isinstance(member.subscription, dict):
                return None
            topics.update(member.subscription["topics"])
        return frozenset(topics)


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
    def subscribed_topics(self) -> frozenset[str] | None:
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

"""A member of a consumer group as its two records make it.

Kafka: ConsumerGroupMember, MemberState (4.2)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.coordinator.groups.classic.java_hash_map import (
    in_hash_order,
    number_hash,
    uuid_hash,
)
from workbench.coordinator.groups.groups import Fields, ModernMember

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2
"""States of a member, by number; others are unknown."""
LEFT, LEFT_FOR_A_WHILE = -1, -2
"""Member epochs of those that leave; a static member can come back."""

Assignment = Mapping[str, frozenset[int]]
"""Topic id → partitions, never empty."""
NOTHING: Final[Assignment] = {}


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """A member.

    Attributes:
        member_id: its id.
        epoch, previous_epoch: the epoch that it has reached, and the one before.
        state: `STABLE`, `UNREVOKED` (it must give up partitions) or `UNRELEASED` (it waits for
            some).
        instance_id: the id of a static member.
        rack_id: where it is.
        rebalance_timeout_ms: the time to give up partitions; -1: not received yet.
        client_id, client_host: the client.
        topics: the topics that it subscribes to by name.
        regex: the regular expression of others; None or empty: none.
        assignor: the assignor that it asks for.
        assigned: the partitions that it has.
        revoking: those that it must give up.
        classic: the fields of a member that speaks the classic protocol.
    """

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    assignor: str | None = None
    assigned: Assignment = field(default_factory=dict)
    revoking: Assignment = field(default_factory=dict)
    classic: Fields | None = None

    @classmethod
    def of(cls, member: ModernMember) -> "ConsumerMember":
        """Return a member of a group."""
        metadata: Fields = member.metadata or {}
        current: Fields = member.current or {}
        return cls(
            member.member_id,
            current.get("memberEpoch", 0),
            current.get("previousMemberEpoch", -1),
            current.get("state", STABLE),
            metadata.get("instanceId"),
            metadata.get("rackId"),
            metadata.get("rebalanceTimeoutMs", -1),
            metadata.get("clientId", ""),
            metadata.get("clientHost", ""),
            frozenset(metadata.get("subscribedTopicNames", ())),
            metadata.get("subscribedTopicRegex", ""),
            metadata.get("serverAssignor"),
            assignment_of(current.get("assignedPartitions", ())),
            assignment_of(current.get("partitionsPendingRevocation", ())),
            metadata.get("classicMemberMetadata"),
        )

    def metadata(self) -> dict[str, Any]:
        """Return the fields of the record of what the client says."""
        return {
            "instanceId": self.instance_id,
            "rackId": self.rack_id,
            "clientId": self.client_id,
            "clientHost": self.client_host,
            "subscribedTopicNames": sorted(self.topics, key=lambda name: name.encode("utf-16-be")),
            "subscribedTopicRegex": self.regex,
            "rebalanceTimeoutMs": self.rebalance_timeout_ms,
            "serverAssignor": self.assignor,
            "classicMemberMetadata": self.classic,
        }

    def current(self) -> dict[str, Any]:
        """Return the fields of the record of the current assignment."""
        return {
            "memberEpoch": self.epoch,
            "previousMemberEpoch": self.previous_epoch,
            "state": self.state,
            "assignedPartitions": fields_of(self.assigned),
            "partitionsPendingRevocation": fields_of(self.revoking),
        }

    def is_reconciled_to(self, epoch: int) -> bool:
        """Return whether the member has all that the assignment of an epoch gives it."""
        return self.state == STABLE and self.epoch == epoch


def assignment_of(topics: Iterable[Fields]) -> Assignment:
    """Return the assignment in the fields of a record or request."""
    return {each["topicId"]: frozenset(each["partitions"]) for each in topics if each["partitions"]}


def fields_of(assignment: Assignment, *, is_ascending: bool = False) -> list[dict[str, Any]]:
    """Return the fields of an assignment, in the order of a broker's maps.

    Args:
        assignment: the assignment.
        is_ascending: whether partitions ascend, as those of the range assignor.
    """
    return [
        {
            "topicId": topic_id,
            "partitions": sorted(assignment[topic_id])
            if is_ascending
            else in_hash_order(sorted(assignment[topic_id]), number_hash),
        }
        for topic_id in in_hash_order(assignment, uuid_hash)
    ]

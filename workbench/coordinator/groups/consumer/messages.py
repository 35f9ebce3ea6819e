"""What a member of a consumer group asks, and what it is answered.

Kafka: ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse (4.2)
"""

from dataclasses import dataclass
from typing import NamedTuple

from workbench.coordinator.groups.consumer.member import Assignment


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeatRequest:
    """A heartbeat; what is None is as the last heartbeat said.

    Attributes:
        group_id, member_id: the group, and the id that the member chose.
        member_epoch: the epoch that it has reached; 0 joins, -1 and -2 leave.
        instance_id: the id of a static member.
        rack_id: where the client is.
        rebalance_timeout_ms: the time that it needs to give up partitions; -1: as before.
        topics: the topics that it subscribes to.
        regex: the regular expression of topics that it subscribes to.
        assignor: the assignor that it asks for.
        owned: the partitions that it has.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Assignment | None = None

    @property
    def is_full(self) -> bool:
        """Whether the heartbeat says everything, so that the answer has the assignment."""
        has_subscription = self.topics is not None or self.regex is not None
        return self.rebalance_timeout_ms != -1 and has_subscription and self.owned is not None


class ConsumerGroupHeartbeatResponse(NamedTuple):
    """The answer to a heartbeat.

    Attributes:
        member_id: the member.
        member_epoch: the epoch that it has reached, or with which it left.
        interval_ms: when the next heartbeat is due; 0 after leaving.
        assignment: what it has; None: as before.
    """

    member_id: str
    member_epoch: int
    interval_ms: int = 0
    assignment: Assignment | None = None

"""A member of a classic group.

Kafka: ClassicGroupMember (4.2)
"""

from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, field

from workbench.coordinator.groups.classic.messages import (
    JoinGroupResponse,
    Protocol,
    SyncGroupResponse,
)


@dataclass(slots=True, eq=False)
class ClassicGroupMember:
    """A member.

    Attributes:
        member_id: the id that the coordinator gave.
        group_instance_id: the id of a static member.
        client_id, client_host: the client's id and its address.
        rebalance_timeout_ms, session_timeout_ms: ms.
        protocol_type: that of its group.
        supported_protocols: in its order of preference.
        assignment: what the leader last assigned.
        awaiting_join: the join that waits for an answer.
        awaiting_sync: the sync that waits for an answer.
        is_new: it has not been in a generation yet, so it sends no heartbeats.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    supported_protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    awaiting_join: "Future[JoinGroupResponse] | None" = field(default=None, repr=False)
    awaiting_sync: "Future[SyncGroupResponse] | None" = field(default=None, repr=False)
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        """Whether it has an instance id."""
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether it counts as alive without a heartbeat: its join or sync waits for others."""
        if self.is_new:
            return False
        return self.awaiting_join is not None or self.awaiting_sync is not None

    @property
    def subscription(self) -> bytes:
        """What it says for its first choice; of a stored group for the group's protocol."""
        return self.supported_protocols[0].metadata if self.supported_protocols else b""

    def metadata(self, protocol: str | None) -> bytes:
        """Return what the member says for a protocol.

        Raises:
            ValueError: it does not support the protocol.
        """
        for each in self.supported_protocols:
            if each.name == protocol:
                return each.metadata
        raise ValueError(f"member {self.member_id} does not support protocol {protocol}")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the candidate that the member prefers.

        Raises:
            ValueError: it supports none of them.
        """
        for each in self.supported_protocols:
            if each.name in candidates:
                return each.name
        raise ValueError(f"member {self.member_id} supports none of {sorted(candidates)}")

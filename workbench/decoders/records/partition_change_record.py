"""PartitionChangeRecord in versions 0 to 2; `make messages` writes it."""

from typing import NotRequired, TypedDict


class PartitionChangeRecord(TypedDict):
    """Kafka: PartitionChangeRecord (4.3)."""

    partitionId: int
    topicId: str
    isr: NotRequired[list[int] | None]
    leader: NotRequired[int]
    replicas: NotRequired[list[int] | None]
    removingReplicas: NotRequired[list[int] | None]
    addingReplicas: NotRequired[list[int] | None]
    leaderRecoveryState: NotRequired[int]
    directories: NotRequired[list[str] | None]
    eligibleLeaderReplicas: NotRequired[list[int] | None]
    lastKnownElr: NotRequired[list[int] | None]

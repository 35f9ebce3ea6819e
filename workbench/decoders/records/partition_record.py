"""PartitionRecord in versions 0 to 2; `make messages` writes it."""

from typing import NotRequired, TypedDict


class PartitionRecord(TypedDict):
    """Kafka: PartitionRecord (4.3)."""

    partitionId: int
    topicId: str
    replicas: list[int]
    isr: list[int]
    removingReplicas: list[int]
    addingReplicas: list[int]
    leader: int
    leaderRecoveryState: NotRequired[int]
    leaderEpoch: int
    partitionEpoch: int
    directories: NotRequired[list[str]]
    eligibleLeaderReplicas: NotRequired[list[int] | None]
    lastKnownElr: NotRequired[list[int] | None]

"""OffsetForLeaderEpochRequest in versions 0 to 4; `make messages` writes it."""

from typing import NotRequired, TypedDict


class OffsetForLeaderPartition(TypedDict):
    """Kafka: OffsetForLeaderEpochRequestData.OffsetForLeaderPartition (4.3)."""

    partition: int
    leaderEpoch: int
    currentLeaderEpoch: NotRequired[int]


class OffsetForLeaderTopic(TypedDict):
    """Kafka: OffsetForLeaderEpochRequestData.OffsetForLeaderTopic (4.3)."""

    topic: str
    partitions: list[OffsetForLeaderPartition]


class OffsetForLeaderEpochRequest(TypedDict):
    """Kafka: OffsetForLeaderEpochRequestData (4.3)."""

    topics: list[OffsetForLeaderTopic]
    replicaId: NotRequired[int]

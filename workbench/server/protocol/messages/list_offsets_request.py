"""ListOffsetsRequest in versions 1 to 11; `make messages` writes it."""

from typing import NotRequired, TypedDict


class ListOffsetsPartition(TypedDict):
    """Kafka: ListOffsetsRequestData.ListOffsetsPartition (4.3)."""

    partitionIndex: int
    timestamp: int
    currentLeaderEpoch: NotRequired[int]


class ListOffsetsTopic(TypedDict):
    """Kafka: ListOffsetsRequestData.ListOffsetsTopic (4.3)."""

    name: str
    partitions: list[ListOffsetsPartition]


class ListOffsetsRequest(TypedDict):
    """Kafka: ListOffsetsRequestData (4.3)."""

    replicaId: int
    topics: list[ListOffsetsTopic]
    isolationLevel: NotRequired[int]
    timeoutMs: NotRequired[int]

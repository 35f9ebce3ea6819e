"""OffsetDeleteRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class OffsetDeleteRequestPartition(TypedDict):
    """Kafka: OffsetDeleteRequestData.OffsetDeleteRequestPartition (4.3)."""

    partitionIndex: int


class OffsetDeleteRequestTopic(TypedDict):
    """Kafka: OffsetDeleteRequestData.OffsetDeleteRequestTopic (4.3)."""

    name: str
    partitions: list[OffsetDeleteRequestPartition]


class OffsetDeleteRequest(TypedDict):
    """Kafka: OffsetDeleteRequestData (4.3)."""

    groupId: str
    topics: list[OffsetDeleteRequestTopic]

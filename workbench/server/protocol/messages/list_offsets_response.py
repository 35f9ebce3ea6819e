"""ListOffsetsResponse in versions 1 to 11; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ListOffsetsPartitionResponse(TypedDict, total=False):
    """Kafka: ListOffsetsResponseData.ListOffsetsPartitionResponse (4.3)."""

    partitionIndex: int
    errorCode: int
    timestamp: int
    offset: int
    leaderEpoch: int


class ListOffsetsTopicResponse(TypedDict, total=False):
    """Kafka: ListOffsetsResponseData.ListOffsetsTopicResponse (4.3)."""

    name: str
    partitions: Sequence[ListOffsetsPartitionResponse]


class ListOffsetsResponse(TypedDict, total=False):
    """Kafka: ListOffsetsResponseData (4.3)."""

    topics: Sequence[ListOffsetsTopicResponse]
    throttleTimeMs: int

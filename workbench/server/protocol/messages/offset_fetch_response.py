"""OffsetFetchResponse in versions 1 to 10; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class OffsetFetchResponsePartition(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponsePartition (4.3)."""

    partitionIndex: int
    committedOffset: int
    metadata: str | None
    errorCode: int
    committedLeaderEpoch: int


class OffsetFetchResponseTopic(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponseTopic (4.3)."""

    name: str
    partitions: Sequence[OffsetFetchResponsePartition]


class OffsetFetchResponsePartitions(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponsePartitions (4.3)."""

    partitionIndex: int
    committedOffset: int
    committedLeaderEpoch: int
    metadata: str | None
    errorCode: int


class OffsetFetchResponseTopics(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponseTopics (4.3)."""

    name: str
    partitions: Sequence[OffsetFetchResponsePartitions]
    topicId: str


class OffsetFetchResponseGroup(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponseGroup (4.3)."""

    groupId: str
    topics: Sequence[OffsetFetchResponseTopics]
    errorCode: int


class OffsetFetchResponse(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData (4.3)."""

    topics: Sequence[OffsetFetchResponseTopic]
    errorCode: int
    throttleTimeMs: int
    groups: Sequence[OffsetFetchResponseGroup]

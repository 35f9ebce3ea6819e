"""DescribeTopicPartitionsResponse in version 0; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DescribeTopicPartitionsResponsePartition(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponsePartition (4.3)."""

    errorCode: int
    partitionIndex: int
    leaderId: int
    leaderEpoch: int
    replicaNodes: Sequence[int]
    isrNodes: Sequence[int]
    eligibleLeaderReplicas: Sequence[int] | None
    lastKnownElr: Sequence[int] | None
    offlineReplicas: Sequence[int]


class DescribeTopicPartitionsResponseTopic(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponseTopic (4.3)."""

    errorCode: int
    name: str | None
    topicId: str
    isInternal: bool
    partitions: Sequence[DescribeTopicPartitionsResponsePartition]
    topicAuthorizedOperations: int


class Cursor(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData.Cursor (4.3)."""

    topicName: str
    partitionIndex: int


class DescribeTopicPartitionsResponse(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData (4.3)."""

    throttleTimeMs: int
    topics: Sequence[DescribeTopicPartitionsResponseTopic]
    nextCursor: Cursor | None

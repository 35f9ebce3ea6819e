"""DescribeQuorumResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ReplicaState(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.ReplicaState (4.3)."""

    replicaId: int
    logEndOffset: int
    lastFetchTimestamp: int
    lastCaughtUpTimestamp: int
    replicaDirectoryId: str


class PartitionData(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.PartitionData (4.3)."""

    partitionIndex: int
    errorCode: int
    leaderId: int
    leaderEpoch: int
    highWatermark: int
    currentVoters: Sequence[ReplicaState]
    observers: Sequence[ReplicaState]
    errorMessage: str | None


class TopicData(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.TopicData (4.3)."""

    topicName: str
    partitions: Sequence[PartitionData]


class Listener(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.Listener (4.3)."""

    name: str
    host: str
    port: int


class Node(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.Node (4.3)."""

    nodeId: int
    listeners: Sequence[Listener]


class DescribeQuorumResponse(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData (4.3)."""

    errorCode: int
    topics: Sequence[TopicData]
    errorMessage: str | None
    nodes: Sequence[Node]

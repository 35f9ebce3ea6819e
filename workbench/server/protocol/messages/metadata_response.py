"""MetadataResponse in versions 0 to 13; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class MetadataResponseBroker(TypedDict, total=False):
    """Kafka: MetadataResponseData.MetadataResponseBroker (4.3)."""

    nodeId: int
    host: str
    port: int
    rack: str | None


class MetadataResponsePartition(TypedDict, total=False):
    """Kafka: MetadataResponseData.MetadataResponsePartition (4.3)."""

    errorCode: int
    partitionIndex: int
    leaderId: int
    replicaNodes: Sequence[int]
    isrNodes: Sequence[int]
    offlineReplicas: Sequence[int]
    leaderEpoch: int


class MetadataResponseTopic(TypedDict, total=False):
    """Kafka: MetadataResponseData.MetadataResponseTopic (4.3)."""

    errorCode: int
    name: str | None
    partitions: Sequence[MetadataResponsePartition]
    isInternal: bool
    topicAuthorizedOperations: int
    topicId: str


class MetadataResponse(TypedDict, total=False):
    """Kafka: MetadataResponseData (4.3)."""

    brokers: Sequence[MetadataResponseBroker]
    topics: Sequence[MetadataResponseTopic]
    controllerId: int
    clusterId: str | None
    throttleTimeMs: int
    clusterAuthorizedOperations: int
    errorCode: int

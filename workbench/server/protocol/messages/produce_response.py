"""ProduceResponse in versions 0 to 13; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class BatchIndexAndErrorMessage(TypedDict, total=False):
    """Kafka: ProduceResponseData.BatchIndexAndErrorMessage (4.3)."""

    batchIndex: int
    batchIndexErrorMessage: str | None


class LeaderIdAndEpoch(TypedDict, total=False):
    """Kafka: ProduceResponseData.LeaderIdAndEpoch (4.3)."""

    leaderId: int
    leaderEpoch: int


class PartitionProduceResponse(TypedDict, total=False):
    """Kafka: ProduceResponseData.PartitionProduceResponse (4.3)."""

    index: int
    errorCode: int
    baseOffset: int
    logAppendTimeMs: int
    logStartOffset: int
    recordErrors: Sequence[BatchIndexAndErrorMessage]
    errorMessage: str | None
    currentLeader: LeaderIdAndEpoch


class TopicProduceResponse(TypedDict, total=False):
    """Kafka: ProduceResponseData.TopicProduceResponse (4.3)."""

    name: str
    partitionResponses: Sequence[PartitionProduceResponse]
    topicId: str


class NodeEndpoint(TypedDict, total=False):
    """Kafka: ProduceResponseData.NodeEndpoint (4.3)."""

    nodeId: int
    host: str
    port: int
    rack: str | None


class ProduceResponse(TypedDict, total=False):
    """Kafka: ProduceResponseData (4.3)."""

    responses: Sequence[TopicProduceResponse]
    throttleTimeMs: int
    nodeEndpoints: Sequence[NodeEndpoint]

"""FetchResponse in versions 4 to 18; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class AbortedTransaction(TypedDict, total=False):
    """Kafka: FetchResponseData.AbortedTransaction (4.3)."""

    producerId: int
    firstOffset: int


class EpochEndOffset(TypedDict, total=False):
    """Kafka: FetchResponseData.EpochEndOffset (4.3)."""

    epoch: int
    endOffset: int


class LeaderIdAndEpoch(TypedDict, total=False):
    """Kafka: FetchResponseData.LeaderIdAndEpoch (4.3)."""

    leaderId: int
    leaderEpoch: int


class SnapshotId(TypedDict, total=False):
    """Kafka: FetchResponseData.SnapshotId (4.3)."""

    endOffset: int
    epoch: int


class PartitionData(TypedDict, total=False):
    """Kafka: FetchResponseData.PartitionData (4.3)."""

    partitionIndex: int
    errorCode: int
    highWatermark: int
    lastStableOffset: int
    abortedTransactions: Sequence[AbortedTransaction] | None
    records: bytes | None
    logStartOffset: int
    preferredReadReplica: int
    divergingEpoch: EpochEndOffset
    currentLeader: LeaderIdAndEpoch
    snapshotId: SnapshotId


class FetchableTopicResponse(TypedDict, total=False):
    """Kafka: FetchResponseData.FetchableTopicResponse (4.3)."""

    topic: str
    partitions: Sequence[PartitionData]
    topicId: str


class NodeEndpoint(TypedDict, total=False):
    """Kafka: FetchResponseData.NodeEndpoint (4.3)."""

    nodeId: int
    host: str
    port: int
    rack: str | None


class FetchResponse(TypedDict, total=False):
    """Kafka: FetchResponseData (4.3)."""

    throttleTimeMs: int
    responses: Sequence[FetchableTopicResponse]
    errorCode: int
    sessionId: int
    nodeEndpoints: Sequence[NodeEndpoint]

"""FetchRequest in versions 4 to 18; `make messages` writes it."""

from typing import NotRequired, TypedDict


class FetchPartition(TypedDict):
    """Kafka: FetchRequestData.FetchPartition (4.3)."""

    partition: int
    fetchOffset: int
    partitionMaxBytes: int
    logStartOffset: NotRequired[int]
    currentLeaderEpoch: NotRequired[int]
    lastFetchedEpoch: NotRequired[int]
    replicaDirectoryId: NotRequired[str]
    highWatermark: NotRequired[int]


class FetchTopic(TypedDict):
    """Kafka: FetchRequestData.FetchTopic (4.3)."""

    topic: NotRequired[str]
    partitions: list[FetchPartition]
    topicId: NotRequired[str]


class ForgottenTopic(TypedDict):
    """Kafka: FetchRequestData.ForgottenTopic (4.3)."""

    topic: NotRequired[str]
    partitions: list[int]
    topicId: NotRequired[str]


class ReplicaState(TypedDict):
    """Kafka: FetchRequestData.ReplicaState (4.3)."""

    replicaId: int
    replicaEpoch: int


class FetchRequest(TypedDict):
    """Kafka: FetchRequestData (4.3)."""

    replicaId: NotRequired[int]
    maxWaitMs: int
    minBytes: int
    maxBytes: int
    isolationLevel: int
    topics: list[FetchTopic]
    sessionId: NotRequired[int]
    sessionEpoch: NotRequired[int]
    forgottenTopicsData: NotRequired[list[ForgottenTopic]]
    rackId: NotRequired[str]
    clusterId: NotRequired[str | None]
    replicaState: NotRequired[ReplicaState]

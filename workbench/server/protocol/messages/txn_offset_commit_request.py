"""TxnOffsetCommitRequest in versions 0 to 5; `make messages` writes it."""

from typing import NotRequired, TypedDict


class TxnOffsetCommitRequestPartition(TypedDict):
    """Kafka: TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition (4.3)."""

    partitionIndex: int
    committedOffset: int
    committedMetadata: str | None
    committedLeaderEpoch: NotRequired[int]


class TxnOffsetCommitRequestTopic(TypedDict):
    """Kafka: TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic (4.3)."""

    name: str
    partitions: list[TxnOffsetCommitRequestPartition]


class TxnOffsetCommitRequest(TypedDict):
    """Kafka: TxnOffsetCommitRequestData (4.3)."""

    transactionalId: str
    groupId: str
    producerId: int
    producerEpoch: int
    topics: list[TxnOffsetCommitRequestTopic]
    generationId: NotRequired[int]
    memberId: NotRequired[str]
    groupInstanceId: NotRequired[str | None]

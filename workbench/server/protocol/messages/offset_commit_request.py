"""OffsetCommitRequest in versions 2 to 10; `make messages` writes it."""

from typing import NotRequired, TypedDict


class OffsetCommitRequestPartition(TypedDict):
    """Kafka: OffsetCommitRequestData.OffsetCommitRequestPartition (4.3)."""

    partitionIndex: int
    committedOffset: int
    committedMetadata: str | None
    committedLeaderEpoch: NotRequired[int]


class OffsetCommitRequestTopic(TypedDict):
    """Kafka: OffsetCommitRequestData.OffsetCommitRequestTopic (4.3)."""

    name: NotRequired[str]
    partitions: list[OffsetCommitRequestPartition]
    topicId: NotRequired[str]


class OffsetCommitRequest(TypedDict):
    """Kafka: OffsetCommitRequestData (4.3)."""

    groupId: str
    generationIdOrMemberEpoch: int
    memberId: str
    retentionTimeMs: NotRequired[int]
    topics: list[OffsetCommitRequestTopic]
    groupInstanceId: NotRequired[str | None]

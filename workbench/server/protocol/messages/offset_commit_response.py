"""OffsetCommitResponse in versions 2 to 10; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class OffsetCommitResponsePartition(TypedDict, total=False):
    """Kafka: OffsetCommitResponseData.OffsetCommitResponsePartition (4.3)."""

    partitionIndex: int
    errorCode: int


class OffsetCommitResponseTopic(TypedDict, total=False):
    """Kafka: OffsetCommitResponseData.OffsetCommitResponseTopic (4.3)."""

    name: str
    partitions: Sequence[OffsetCommitResponsePartition]
    topicId: str


class OffsetCommitResponse(TypedDict, total=False):
    """Kafka: OffsetCommitResponseData (4.3)."""

    topics: Sequence[OffsetCommitResponseTopic]
    throttleTimeMs: int

"""OffsetForLeaderEpochResponse in versions 0 to 4; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class EpochEndOffset(TypedDict, total=False):
    """Kafka: OffsetForLeaderEpochResponseData.EpochEndOffset (4.3)."""

    errorCode: int
    partition: int
    endOffset: int
    leaderEpoch: int


class OffsetForLeaderTopicResult(TypedDict, total=False):
    """Kafka: OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult (4.3)."""

    topic: str
    partitions: Sequence[EpochEndOffset]


class OffsetForLeaderEpochResponse(TypedDict, total=False):
    """Kafka: OffsetForLeaderEpochResponseData (4.3)."""

    topics: Sequence[OffsetForLeaderTopicResult]
    throttleTimeMs: int

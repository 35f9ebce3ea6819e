"""TxnOffsetCommitResponse in versions 0 to 5; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class TxnOffsetCommitResponsePartition(TypedDict, total=False):
    """Kafka: TxnOffsetCommitResponseData.TxnOffsetCommitResponsePartition (4.3)."""

    partitionIndex: int
    errorCode: int


class TxnOffsetCommitResponseTopic(TypedDict, total=False):
    """Kafka: TxnOffsetCommitResponseData.TxnOffsetCommitResponseTopic (4.3)."""

    name: str
    partitions: Sequence[TxnOffsetCommitResponsePartition]


class TxnOffsetCommitResponse(TypedDict, total=False):
    """Kafka: TxnOffsetCommitResponseData (4.3)."""

    throttleTimeMs: int
    topics: Sequence[TxnOffsetCommitResponseTopic]

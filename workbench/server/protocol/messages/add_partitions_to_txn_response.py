"""AddPartitionsToTxnResponse in versions 0 to 5; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class AddPartitionsToTxnPartitionResult(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData.AddPartitionsToTxnPartitionResult (4.3)."""

    partitionIndex: int
    partitionErrorCode: int


class AddPartitionsToTxnTopicResult(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData.AddPartitionsToTxnTopicResult (4.3)."""

    name: str
    resultsByPartition: Sequence[AddPartitionsToTxnPartitionResult]


class AddPartitionsToTxnResult(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData.AddPartitionsToTxnResult (4.3)."""

    transactionalId: str
    topicResults: Sequence[AddPartitionsToTxnTopicResult]


class AddPartitionsToTxnResponse(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData (4.3)."""

    throttleTimeMs: int
    resultsByTopicV3AndBelow: Sequence[AddPartitionsToTxnTopicResult]
    errorCode: int
    resultsByTransaction: Sequence[AddPartitionsToTxnResult]

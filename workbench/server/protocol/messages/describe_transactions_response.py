"""DescribeTransactionsResponse in version 0; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class TopicData(TypedDict, total=False):
    """Kafka: DescribeTransactionsResponseData.TopicData (4.3)."""

    topic: str
    partitions: Sequence[int]


class TransactionState(TypedDict, total=False):
    """Kafka: DescribeTransactionsResponseData.TransactionState (4.3)."""

    errorCode: int
    transactionalId: str
    transactionState: str
    transactionTimeoutMs: int
    transactionStartTimeMs: int
    producerId: int
    producerEpoch: int
    topics: Sequence[TopicData]


class DescribeTransactionsResponse(TypedDict, total=False):
    """Kafka: DescribeTransactionsResponseData (4.3)."""

    throttleTimeMs: int
    transactionStates: Sequence[TransactionState]

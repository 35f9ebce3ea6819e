"""TransactionLogValue in versions 0 to 1; `make messages` writes it."""

from typing import NotRequired, TypedDict


class PartitionsSchema(TypedDict):
    """Kafka: TransactionLogValue.PartitionsSchema (4.3)."""

    topic: str
    partitionIds: list[int]


class TransactionLogValue(TypedDict):
    """Kafka: TransactionLogValue (4.3)."""

    producerId: int
    producerEpoch: int
    transactionTimeoutMs: int
    transactionStatus: int
    transactionPartitions: list[PartitionsSchema] | None
    transactionLastUpdateTimestampMs: int
    transactionStartTimestampMs: int
    previousProducerId: NotRequired[int]
    nextProducerId: NotRequired[int]
    nextProducerEpoch: NotRequired[int]
    clientTransactionVersion: NotRequired[int]

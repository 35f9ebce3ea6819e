"""AddPartitionsToTxnRequest in versions 0 to 5; `make messages` writes it."""

from typing import NotRequired, TypedDict


class AddPartitionsToTxnTopic(TypedDict):
    """Kafka: AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic (4.3)."""

    name: str
    partitions: list[int]


class AddPartitionsToTxnTransaction(TypedDict):
    """Kafka: AddPartitionsToTxnRequestData.AddPartitionsToTxnTransaction (4.3)."""

    transactionalId: str
    producerId: int
    producerEpoch: int
    verifyOnly: bool
    topics: list[AddPartitionsToTxnTopic]


class AddPartitionsToTxnRequest(TypedDict):
    """Kafka: AddPartitionsToTxnRequestData (4.3)."""

    v3AndBelowTransactionalId: NotRequired[str]
    v3AndBelowProducerId: NotRequired[int]
    v3AndBelowProducerEpoch: NotRequired[int]
    v3AndBelowTopics: NotRequired[list[AddPartitionsToTxnTopic]]
    transactions: NotRequired[list[AddPartitionsToTxnTransaction]]

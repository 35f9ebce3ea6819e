"""InitProducerIdRequest in versions 0 to 5; `make messages` writes it."""

from typing import NotRequired, TypedDict


class InitProducerIdRequest(TypedDict):
    """Kafka: InitProducerIdRequestData (4.3)."""

    transactionalId: str | None
    transactionTimeoutMs: int
    producerId: NotRequired[int]
    producerEpoch: NotRequired[int]

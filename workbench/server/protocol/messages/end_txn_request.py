"""EndTxnRequest in versions 0 to 5; `make messages` writes it."""

from typing import TypedDict


class EndTxnRequest(TypedDict):
    """Kafka: EndTxnRequestData (4.3)."""

    transactionalId: str
    producerId: int
    producerEpoch: int
    committed: bool

"""AddOffsetsToTxnRequest in versions 0 to 4; `make messages` writes it."""

from typing import TypedDict


class AddOffsetsToTxnRequest(TypedDict):
    """Kafka: AddOffsetsToTxnRequestData (4.3)."""

    transactionalId: str
    producerId: int
    producerEpoch: int
    groupId: str

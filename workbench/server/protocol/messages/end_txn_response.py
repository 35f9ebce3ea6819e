"""EndTxnResponse in versions 0 to 5; `make messages` writes it."""

from typing import TypedDict


class EndTxnResponse(TypedDict, total=False):
    """Kafka: EndTxnResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    producerId: int
    producerEpoch: int

"""InitProducerIdResponse in versions 0 to 5; `make messages` writes it."""

from typing import TypedDict


class InitProducerIdResponse(TypedDict, total=False):
    """Kafka: InitProducerIdResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    producerId: int
    producerEpoch: int

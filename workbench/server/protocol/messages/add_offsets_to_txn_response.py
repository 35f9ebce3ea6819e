"""AddOffsetsToTxnResponse in versions 0 to 4; `make messages` writes it."""

from typing import TypedDict


class AddOffsetsToTxnResponse(TypedDict, total=False):
    """Kafka: AddOffsetsToTxnResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int

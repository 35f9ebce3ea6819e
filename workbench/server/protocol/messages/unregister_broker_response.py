"""UnregisterBrokerResponse in version 0; `make messages` writes it."""

from typing import TypedDict


class UnregisterBrokerResponse(TypedDict, total=False):
    """Kafka: UnregisterBrokerResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None

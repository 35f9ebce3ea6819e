"""ExpireDelegationTokenResponse in versions 1 to 2; `make messages` writes it."""

from typing import TypedDict


class ExpireDelegationTokenResponse(TypedDict, total=False):
    """Kafka: ExpireDelegationTokenResponseData (4.3)."""

    errorCode: int
    expiryTimestampMs: int
    throttleTimeMs: int

"""RenewDelegationTokenResponse in versions 1 to 2; `make messages` writes it."""

from typing import TypedDict


class RenewDelegationTokenResponse(TypedDict, total=False):
    """Kafka: RenewDelegationTokenResponseData (4.3)."""

    errorCode: int
    expiryTimestampMs: int
    throttleTimeMs: int

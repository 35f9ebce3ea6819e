"""ExpireDelegationTokenRequest in versions 1 to 2; `make messages` writes it."""

from typing import TypedDict


class ExpireDelegationTokenRequest(TypedDict):
    """Kafka: ExpireDelegationTokenRequestData (4.3)."""

    hmac: bytes
    expiryTimePeriodMs: int

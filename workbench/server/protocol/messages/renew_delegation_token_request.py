"""RenewDelegationTokenRequest in versions 1 to 2; `make messages` writes it."""

from typing import TypedDict


class RenewDelegationTokenRequest(TypedDict):
    """Kafka: RenewDelegationTokenRequestData (4.3)."""

    hmac: bytes
    renewPeriodMs: int

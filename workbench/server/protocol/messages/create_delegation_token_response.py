"""CreateDelegationTokenResponse in versions 1 to 3; `make messages` writes it."""

from typing import TypedDict


class CreateDelegationTokenResponse(TypedDict, total=False):
    """Kafka: CreateDelegationTokenResponseData (4.3)."""

    errorCode: int
    principalType: str
    principalName: str
    issueTimestampMs: int
    expiryTimestampMs: int
    maxTimestampMs: int
    tokenId: str
    hmac: bytes
    throttleTimeMs: int
    tokenRequesterPrincipalType: str
    tokenRequesterPrincipalName: str

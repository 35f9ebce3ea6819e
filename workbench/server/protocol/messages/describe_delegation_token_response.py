"""DescribeDelegationTokenResponse in versions 1 to 3; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DescribedDelegationTokenRenewer(TypedDict, total=False):
    """Kafka: DescribeDelegationTokenResponseData.DescribedDelegationTokenRenewer (4.3)."""

    principalType: str
    principalName: str


class DescribedDelegationToken(TypedDict, total=False):
    """Kafka: DescribeDelegationTokenResponseData.DescribedDelegationToken (4.3)."""

    principalType: str
    principalName: str
    issueTimestamp: int
    expiryTimestamp: int
    maxTimestamp: int
    tokenId: str
    hmac: bytes
    renewers: Sequence[DescribedDelegationTokenRenewer]
    tokenRequesterPrincipalType: str
    tokenRequesterPrincipalName: str


class DescribeDelegationTokenResponse(TypedDict, total=False):
    """Kafka: DescribeDelegationTokenResponseData (4.3)."""

    errorCode: int
    tokens: Sequence[DescribedDelegationToken]
    throttleTimeMs: int

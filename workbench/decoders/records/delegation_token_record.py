"""DelegationTokenRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class DelegationTokenRecord(TypedDict):
    """Kafka: DelegationTokenRecord (4.3)."""

    owner: str
    requester: str
    renewers: list[str]
    issueTimestamp: int
    maxTimestamp: int
    expirationTimestamp: int
    tokenId: str

"""RemoveDelegationTokenRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class RemoveDelegationTokenRecord(TypedDict):
    """Kafka: RemoveDelegationTokenRecord (4.3)."""

    tokenId: str

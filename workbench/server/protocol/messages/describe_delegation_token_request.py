"""DescribeDelegationTokenRequest in versions 1 to 3; `make messages` writes it."""

from typing import TypedDict


class DescribeDelegationTokenOwner(TypedDict):
    """Kafka: DescribeDelegationTokenRequestData.DescribeDelegationTokenOwner (4.3)."""

    principalType: str
    principalName: str


class DescribeDelegationTokenRequest(TypedDict):
    """Kafka: DescribeDelegationTokenRequestData (4.3)."""

    owners: list[DescribeDelegationTokenOwner] | None

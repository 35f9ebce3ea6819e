"""CreateDelegationTokenRequest in versions 1 to 3; `make messages` writes it."""

from typing import NotRequired, TypedDict


class CreatableRenewers(TypedDict):
    """Kafka: CreateDelegationTokenRequestData.CreatableRenewers (4.3)."""

    principalType: str
    principalName: str


class CreateDelegationTokenRequest(TypedDict):
    """Kafka: CreateDelegationTokenRequestData (4.3)."""

    renewers: list[CreatableRenewers]
    maxLifetimeMs: int
    ownerPrincipalType: NotRequired[str | None]
    ownerPrincipalName: NotRequired[str | None]

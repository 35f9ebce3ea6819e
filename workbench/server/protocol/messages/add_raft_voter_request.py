"""AddRaftVoterRequest in versions 0 to 1; `make messages` writes it."""

from typing import NotRequired, TypedDict


class Listener(TypedDict):
    """Kafka: AddRaftVoterRequestData.Listener (4.3)."""

    name: str
    host: str
    port: int


class AddRaftVoterRequest(TypedDict):
    """Kafka: AddRaftVoterRequestData (4.3)."""

    clusterId: str | None
    timeoutMs: int
    voterId: int
    voterDirectoryId: str
    listeners: list[Listener]
    ackWhenCommitted: NotRequired[bool]

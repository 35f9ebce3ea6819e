"""RemoveRaftVoterRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class RemoveRaftVoterRequest(TypedDict):
    """Kafka: RemoveRaftVoterRequestData (4.3)."""

    clusterId: str | None
    voterId: int
    voterDirectoryId: str

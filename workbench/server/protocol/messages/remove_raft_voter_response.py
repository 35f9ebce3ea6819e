"""RemoveRaftVoterResponse in version 0; `make messages` writes it."""

from typing import TypedDict


class RemoveRaftVoterResponse(TypedDict, total=False):
    """Kafka: RemoveRaftVoterResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None

"""AddRaftVoterResponse in versions 0 to 1; `make messages` writes it."""

from typing import TypedDict


class AddRaftVoterResponse(TypedDict, total=False):
    """Kafka: AddRaftVoterResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None

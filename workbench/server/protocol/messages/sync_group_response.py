"""SyncGroupResponse in versions 0 to 5; `make messages` writes it."""

from typing import TypedDict


class SyncGroupResponse(TypedDict, total=False):
    """Kafka: SyncGroupResponseData (4.3)."""

    errorCode: int
    assignment: bytes
    throttleTimeMs: int
    protocolType: str | None
    protocolName: str | None

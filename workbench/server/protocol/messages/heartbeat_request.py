"""HeartbeatRequest in versions 0 to 4; `make messages` writes it."""

from typing import NotRequired, TypedDict


class HeartbeatRequest(TypedDict):
    """Kafka: HeartbeatRequestData (4.3)."""

    groupId: str
    generationId: int
    memberId: str
    groupInstanceId: NotRequired[str | None]

"""SyncGroupRequest in versions 0 to 5; `make messages` writes it."""

from typing import NotRequired, TypedDict


class SyncGroupRequestAssignment(TypedDict):
    """Kafka: SyncGroupRequestData.SyncGroupRequestAssignment (4.3)."""

    memberId: str
    assignment: bytes


class SyncGroupRequest(TypedDict):
    """Kafka: SyncGroupRequestData (4.3)."""

    groupId: str
    generationId: int
    memberId: str
    assignments: list[SyncGroupRequestAssignment]
    groupInstanceId: NotRequired[str | None]
    protocolType: NotRequired[str | None]
    protocolName: NotRequired[str | None]

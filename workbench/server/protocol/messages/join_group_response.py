"""JoinGroupResponse in versions 0 to 9; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class JoinGroupResponseMember(TypedDict, total=False):
    """Kafka: JoinGroupResponseData.JoinGroupResponseMember (4.3)."""

    memberId: str
    metadata: bytes
    groupInstanceId: str | None


class JoinGroupResponse(TypedDict, total=False):
    """Kafka: JoinGroupResponseData (4.3)."""

    errorCode: int
    generationId: int
    protocolName: str | None
    leader: str
    memberId: str
    members: Sequence[JoinGroupResponseMember]
    throttleTimeMs: int
    protocolType: str | None
    skipAssignment: bool

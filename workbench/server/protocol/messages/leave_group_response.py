"""LeaveGroupResponse in versions 0 to 5; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class MemberResponse(TypedDict, total=False):
    """Kafka: LeaveGroupResponseData.MemberResponse (4.3)."""

    memberId: str
    groupInstanceId: str | None
    errorCode: int


class LeaveGroupResponse(TypedDict, total=False):
    """Kafka: LeaveGroupResponseData (4.3)."""

    errorCode: int
    throttleTimeMs: int
    members: Sequence[MemberResponse]

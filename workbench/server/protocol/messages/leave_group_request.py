"""LeaveGroupRequest in versions 0 to 5; `make messages` writes it."""

from typing import NotRequired, TypedDict


class MemberIdentity(TypedDict):
    """Kafka: LeaveGroupRequestData.MemberIdentity (4.3)."""

    memberId: str
    groupInstanceId: str | None
    reason: NotRequired[str | None]


class LeaveGroupRequest(TypedDict):
    """Kafka: LeaveGroupRequestData (4.3)."""

    groupId: str
    memberId: NotRequired[str]
    members: NotRequired[list[MemberIdentity]]

"""JoinGroupRequest in versions 0 to 9; `make messages` writes it."""

from typing import NotRequired, TypedDict


class JoinGroupRequestProtocol(TypedDict):
    """Kafka: JoinGroupRequestData.JoinGroupRequestProtocol (4.3)."""

    name: str
    metadata: bytes


class JoinGroupRequest(TypedDict):
    """Kafka: JoinGroupRequestData (4.3)."""

    groupId: str
    sessionTimeoutMs: int
    memberId: str
    protocolType: str
    protocols: list[JoinGroupRequestProtocol]
    rebalanceTimeoutMs: NotRequired[int]
    groupInstanceId: NotRequired[str | None]
    reason: NotRequired[str | None]

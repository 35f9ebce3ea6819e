"""DescribeGroupsResponse in versions 0 to 6; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DescribedGroupMember(TypedDict, total=False):
    """Kafka: DescribeGroupsResponseData.DescribedGroupMember (4.3)."""

    memberId: str
    clientId: str
    clientHost: str
    memberMetadata: bytes
    memberAssignment: bytes
    groupInstanceId: str | None


class DescribedGroup(TypedDict, total=False):
    """Kafka: DescribeGroupsResponseData.DescribedGroup (4.3)."""

    errorCode: int
    groupId: str
    groupState: str
    protocolType: str
    protocolData: str
    members: Sequence[DescribedGroupMember]
    authorizedOperations: int
    errorMessage: str | None


class DescribeGroupsResponse(TypedDict, total=False):
    """Kafka: DescribeGroupsResponseData (4.3)."""

    groups: Sequence[DescribedGroup]
    throttleTimeMs: int

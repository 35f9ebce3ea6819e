"""ListGroupsResponse in versions 0 to 5; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ListedGroup(TypedDict, total=False):
    """Kafka: ListGroupsResponseData.ListedGroup (4.3)."""

    groupId: str
    protocolType: str
    groupState: str
    groupType: str


class ListGroupsResponse(TypedDict, total=False):
    """Kafka: ListGroupsResponseData (4.3)."""

    errorCode: int
    groups: Sequence[ListedGroup]
    throttleTimeMs: int

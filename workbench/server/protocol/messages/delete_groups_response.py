"""DeleteGroupsResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DeletableGroupResult(TypedDict, total=False):
    """Kafka: DeleteGroupsResponseData.DeletableGroupResult (4.3)."""

    groupId: str
    errorCode: int


class DeleteGroupsResponse(TypedDict, total=False):
    """Kafka: DeleteGroupsResponseData (4.3)."""

    throttleTimeMs: int
    results: Sequence[DeletableGroupResult]

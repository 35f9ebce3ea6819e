"""DescribeGroupsRequest in versions 0 to 6; `make messages` writes it."""

from typing import NotRequired, TypedDict


class DescribeGroupsRequest(TypedDict):
    """Kafka: DescribeGroupsRequestData (4.3)."""

    groups: list[str]
    includeAuthorizedOperations: NotRequired[bool]

"""DescribeAclsRequest in versions 1 to 3; `make messages` writes it."""

from typing import TypedDict


class DescribeAclsRequest(TypedDict):
    """Kafka: DescribeAclsRequestData (4.3)."""

    resourceTypeFilter: int
    resourceNameFilter: str | None
    patternTypeFilter: int
    principalFilter: str | None
    hostFilter: str | None
    operation: int
    permissionType: int

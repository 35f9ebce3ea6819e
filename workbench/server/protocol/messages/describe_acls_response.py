"""DescribeAclsResponse in versions 1 to 3; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class AclDescription(TypedDict, total=False):
    """Kafka: DescribeAclsResponseData.AclDescription (4.3)."""

    principal: str
    host: str
    operation: int
    permissionType: int


class DescribeAclsResource(TypedDict, total=False):
    """Kafka: DescribeAclsResponseData.DescribeAclsResource (4.3)."""

    resourceType: int
    resourceName: str
    patternType: int
    acls: Sequence[AclDescription]


class DescribeAclsResponse(TypedDict, total=False):
    """Kafka: DescribeAclsResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    resources: Sequence[DescribeAclsResource]

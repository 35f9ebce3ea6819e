"""DeleteAclsResponse in versions 1 to 3; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DeleteAclsMatchingAcl(TypedDict, total=False):
    """Kafka: DeleteAclsResponseData.DeleteAclsMatchingAcl (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str
    patternType: int
    principal: str
    host: str
    operation: int
    permissionType: int


class DeleteAclsFilterResult(TypedDict, total=False):
    """Kafka: DeleteAclsResponseData.DeleteAclsFilterResult (4.3)."""

    errorCode: int
    errorMessage: str | None
    matchingAcls: Sequence[DeleteAclsMatchingAcl]


class DeleteAclsResponse(TypedDict, total=False):
    """Kafka: DeleteAclsResponseData (4.3)."""

    throttleTimeMs: int
    filterResults: Sequence[DeleteAclsFilterResult]

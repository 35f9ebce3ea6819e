"""DeleteAclsRequest in versions 1 to 3; `make messages` writes it."""

from typing import TypedDict


class DeleteAclsFilter(TypedDict):
    """Kafka: DeleteAclsRequestData.DeleteAclsFilter (4.3)."""

    resourceTypeFilter: int
    resourceNameFilter: str | None
    patternTypeFilter: int
    principalFilter: str | None
    hostFilter: str | None
    operation: int
    permissionType: int


class DeleteAclsRequest(TypedDict):
    """Kafka: DeleteAclsRequestData (4.3)."""

    filters: list[DeleteAclsFilter]

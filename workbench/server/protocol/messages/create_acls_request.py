"""CreateAclsRequest in versions 1 to 3; `make messages` writes it."""

from typing import TypedDict


class AclCreation(TypedDict):
    """Kafka: CreateAclsRequestData.AclCreation (4.3)."""

    resourceType: int
    resourceName: str
    resourcePatternType: int
    principal: str
    host: str
    operation: int
    permissionType: int


class CreateAclsRequest(TypedDict):
    """Kafka: CreateAclsRequestData (4.3)."""

    creations: list[AclCreation]

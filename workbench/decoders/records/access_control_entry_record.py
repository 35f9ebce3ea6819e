"""AccessControlEntryRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class AccessControlEntryRecord(TypedDict):
    """Kafka: AccessControlEntryRecord (4.3)."""

    id: str
    resourceType: int
    resourceName: str
    patternType: int
    principal: str
    host: str
    operation: int
    permissionType: int

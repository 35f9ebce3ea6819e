"""ClientQuotaRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class EntityData(TypedDict):
    """Kafka: ClientQuotaRecord.EntityData (4.3)."""

    entityType: str
    entityName: str | None


class ClientQuotaRecord(TypedDict):
    """Kafka: ClientQuotaRecord (4.3)."""

    entity: list[EntityData]
    key: str
    value: float
    remove: bool

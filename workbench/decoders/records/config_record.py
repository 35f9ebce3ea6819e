"""ConfigRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class ConfigRecord(TypedDict):
    """Kafka: ConfigRecord (4.3)."""

    resourceType: int
    resourceName: str
    name: str
    value: str | None

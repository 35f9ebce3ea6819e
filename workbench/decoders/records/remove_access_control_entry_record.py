"""RemoveAccessControlEntryRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class RemoveAccessControlEntryRecord(TypedDict):
    """Kafka: RemoveAccessControlEntryRecord (4.3)."""

    id: str

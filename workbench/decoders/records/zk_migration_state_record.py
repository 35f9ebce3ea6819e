"""ZkMigrationStateRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class ZkMigrationStateRecord(TypedDict):
    """Kafka: ZkMigrationStateRecord (4.3)."""

    zkMigrationState: int

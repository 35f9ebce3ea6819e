"""SnapshotHeaderRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class SnapshotHeaderRecord(TypedDict):
    """Kafka: SnapshotHeaderRecord (4.3)."""

    version: int
    lastContainedLogTimestamp: int

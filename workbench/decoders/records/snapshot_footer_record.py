"""SnapshotFooterRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class SnapshotFooterRecord(TypedDict):
    """Kafka: SnapshotFooterRecord (4.3)."""

    version: int

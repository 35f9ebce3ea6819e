"""NoOpRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class NoOpRecord(TypedDict):
    """Kafka: NoOpRecord (4.3)."""

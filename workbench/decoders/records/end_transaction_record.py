"""EndTransactionRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class EndTransactionRecord(TypedDict):
    """Kafka: EndTransactionRecord (4.3)."""

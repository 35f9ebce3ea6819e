"""BeginTransactionRecord in version 0; `make messages` writes it."""

from typing import NotRequired, TypedDict


class BeginTransactionRecord(TypedDict):
    """Kafka: BeginTransactionRecord (4.3)."""

    name: NotRequired[str | None]

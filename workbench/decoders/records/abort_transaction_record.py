"""AbortTransactionRecord in version 0; `make messages` writes it."""

from typing import NotRequired, TypedDict


class AbortTransactionRecord(TypedDict):
    """Kafka: AbortTransactionRecord (4.3)."""

    reason: NotRequired[str | None]

"""ListTransactionsResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class TransactionState(TypedDict, total=False):
    """Kafka: ListTransactionsResponseData.TransactionState (4.3)."""

    transactionalId: str
    producerId: int
    transactionState: str


class ListTransactionsResponse(TypedDict, total=False):
    """Kafka: ListTransactionsResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    unknownStateFilters: Sequence[str]
    transactionStates: Sequence[TransactionState]

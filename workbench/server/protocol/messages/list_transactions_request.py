"""ListTransactionsRequest in versions 0 to 2; `make messages` writes it."""

from typing import NotRequired, TypedDict


class ListTransactionsRequest(TypedDict):
    """Kafka: ListTransactionsRequestData (4.3)."""

    stateFilters: list[str]
    producerIdFilters: list[int]
    durationFilter: NotRequired[int]
    transactionalIdPattern: NotRequired[str | None]

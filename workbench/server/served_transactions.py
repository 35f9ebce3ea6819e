"""The transactional ids that are on the disk, as a restarted coordinator would describe them.

Kafka: TransactionCoordinator, TransactionStateManager (4.2)
"""

import threading
from collections.abc import Callable
from functools import cached_property

from workbench.coordinator.transaction_coordinator.listing import (
    EVERY_TRANSACTION,
    ListedTransactions,
    TransactionFilter,
)
from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
    DescribedTransaction,
)
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.coordinator.transactions.transaction_metadata import TransactionMetadata
from workbench.inspection.listing import Listing
from workbench.runtime.clock import SystemClock
from workbench.runtime.error_codes import ErrorCode


class ServedTransactions:
    """What handlers ask about transactional ids, as they ask a `TransactionCoordinator`.

    Threads may share it.

    Args:
        listing: returns the directories, for what is stored in `__transaction_state`.
    """

    def __init__(self, listing: Callable[[], Listing]) -> None:
        self._listing = listing
        self._lock = threading.Lock()

    @cached_property
    def _loaded(self) -> dict[str, TransactionMetadata]:
        return StoredTransactions(self._listing()).transactions

    @property
    def _transactions(self) -> dict[str, TransactionMetadata]:
        with self._lock:
            return self._loaded

    def describe_transactions(self, transactional_id: str) -> DescribedTransaction:
        """Return the state of one transactional id.

        Raises:
            OSError: a file cannot be read.
        """
        if not transactional_id:
            return DescribedTransaction(ErrorCode.INVALID_REQUEST)
        found = self._transactions.get(transactional_id)
        if found is None:
            return DescribedTransaction(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return DescribedTransaction(ErrorCode.NONE, found)

    def list_transactions(
        self, chosen: TransactionFilter = EVERY_TRANSACTION
    ) -> ListedTransactions:
        """Return the transactional ids that a filter lets pass.

        Raises:
            OSError: a file cannot be read.
        """
        return chosen.choose(self._transactions.values(), SystemClock().now())

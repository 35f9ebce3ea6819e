"""Which transactions are open, committed or aborted at the cleaner's position.

Kafka: CleanedTransactionMetadata (4.2)
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.files.indexes.transaction_index import AbortedTxn, WritableTransactionIndex
from workbench.layout.compaction import HAS_TRANSACTIONS
from workbench.layout.control_records import ABORT, COMMIT
from workbench.record.compaction.locating import SurveyedBatches


@dataclass(slots=True)
class _Aborted:
    """An aborted transaction that is open at the cleaner's position."""

    transaction: AbortedTxn
    was_seen: bool = False  # whether one of its batches was


class TransactionBatch(NamedTuple):
    """A control batch, or a batch of a transaction.

    Attributes:
        row: its index among the batches of the chunk.
        control_type: the type, for a control batch with records.
        is_discardable: whether nothing is left that it ends, or its transaction was aborted.
    """

    row: int
    control_type: int | None
    is_discardable: bool


class CleanedTransactions:
    """Follows transactions through the batches of a log.

    Args:
        aborted: the aborted transactions of these batches.

    Attributes:
        index: gets the aborted transactions that have batches left; None: not wanted.

    Kafka: CleanedTransactionMetadata (4.2)
    """

    def __init__(self, aborted: Iterable[AbortedTxn] = ()) -> None:
        self.index: WritableTransactionIndex | None = None
        self._coming = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
        self._aborted: dict[int, _Aborted] = {}
        self._committed: set[int] = set()

    def follow(self, chunk: SurveyedBatches) -> Iterator[TransactionBatch]:
        """Yield the control and transactional batches of a chunk; called once for each chunk.

        Raises:
            InvalidOffsetError: see `on_control_batch`.

        Kafka: Cleaner.shouldDiscardBatch (4.2)
        """
        rows = chunk.rows
        if not self._coming and not chunk.found & HAS_TRANSACTIONS:
            return
        is_special = rows["is_control"] | rows["is_transactional"]
        highest = np.maximum.accumulate(rows["last_offset"])
        for index in np.flatnonzero(is_special).tolist():
            self._advance_to(int(highest[index]))
            last_offset = int(rows["last_offset"][index])
            producer_id = int(rows["producer_id"][index])
            control_type = None
            if rows["is_control"][index]:
                control_type = chunk.control_types[index]
                is_discardable = self.on_control_batch(last_offset, producer_id, control_type)
            else:
                is_discardable = self.on_batch(last_offset, producer_id)
            yield TransactionBatch(index, control_type, is_discardable)
        self._advance_to(int(highest[-1]))

    def on_control_batch(
        self, last_offset: int, producer_id: int, control_type: int | None
    ) -> bool:
        """Return whether nothing is left of the transaction that a control batch ends.

        Args:
            last_offset, producer_id: the batch's.
            control_type: type of its record; None if it has none.

        Raises:
            InvalidOffsetError: the index has a transaction that ends at or after this one.

        Kafka: CleanedTransactionMetadata.onControlBatchRead (4.2)
        """
        self._advance_to(last_offset)
        if control_type is None:
            return True  # it was cleaned before
        if control_type == ABORT:
            aborted = self._aborted.pop(producer_id, None)
            if aborted is None or not aborted.was_seen:
                return True
            if self.index is not None:
                self.index.append(aborted.transaction)
            return False
        if control_type == COMMIT:
            had_batches = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_batches
        return False

    def on_batch(self, last_offset: int, producer_id: int) -> bool:
        """Return whether a batch of data within a transaction belongs to an aborted one.

        Kafka: CleanedTransactionMetadata.onBatchRead (4.2)
        """
        self._advance_to(last_offset)
        aborted = self._aborted.get(producer_id)
        if aborted is None:
            self._committed.add(producer_id)
            return False
        aborted.was_seen = True
        return True

    def _advance_to(self, offset: int) -> None:
        while self._coming and self._coming[-1].first_offset <= offset:
            transaction = self._coming.pop()
            self._aborted.setdefault(transaction.producer_id, _Aborted(transaction))

"""The transactions of one partition that are not stable yet: open, or ended and not replicated.

Kafka: ProducerStateManager.ongoingTxns, unreplicatedTxns (4.2)
"""

from bisect import insort

from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.producer import CompletedTransaction, OpenTransaction


class UnstableTransactions:
    """Transactions by their first offset. Not thread-safe."""

    def __init__(self) -> None:
        self._open: dict[int, OpenTransaction] = {}
        self._offsets: list[int] = []  # of the transactions, ascending
        self._ended: dict[int, tuple[OpenTransaction, int]] = {}  # with the marker's offset

    @property
    def first_open(self) -> OpenTransaction | None:
        """The open transaction that began first; None if none is open."""
        return self._open[self._offsets[0]] if self._offsets else None

    @property
    def has_ended(self) -> bool:
        """Whether a transaction waits for the high watermark."""
        return bool(self._ended)

    @property
    def first_offset(self) -> LogOffsetMetadata | None:
        """Start of the first of all transactions; None if there is none.

        Kafka: ProducerStateManager.firstUnstableOffset (4.2)
        """
        undecided = self.first_open
        if not self._ended:
            return None if undecided is None else undecided.first_offset
        ended = self._ended[min(self._ended)][0].first_offset
        if undecided is not None and undecided.first_offset.offset < ended.offset:
            return undecided.first_offset
        return ended

    def begin(self, transaction: OpenTransaction) -> None:
        """Add a transaction that has begun."""
        offset = transaction.first_offset.offset
        if offset not in self._open:
            insort(self._offsets, offset)
        self._open[offset] = transaction

    def end(self, completed: CompletedTransaction) -> bool:
        """Let an open transaction wait for the high watermark; return whether it was open.

        Kafka: ProducerStateManager.completeTxn (4.2)
        """
        transaction = self._open.pop(completed.first_offset, None)
        if transaction is None:
            return False
        self._offsets.remove(completed.first_offset)
        self._ended[completed.first_offset] = (transaction, completed.last_offset)
        return True

    def stable_offset_after(self, completed: CompletedTransaction) -> int:
        """Return the last stable offset after a transaction, still open here, is replicated.

        Kafka: ProducerStateManager.lastStableOffset (4.2)
        """
        for offset in self._offsets:
            if self._open[offset].producer_id != completed.producer_id:
                return offset
        return completed.last_offset + 1

    def forget_before(self, offset: int) -> None:
        """Remove the ended transactions whose markers are before ``offset``.

        Kafka: ProducerStateManager.removeUnreplicatedTransactions (4.2)
        """
        for first, (_, marker) in tuple(self._ended.items()):
            if marker < offset:
                del self._ended[first]

    def clear(self) -> None:
        """Remove all."""
        self._open.clear()
        self._offsets.clear()
        self._ended.clear()

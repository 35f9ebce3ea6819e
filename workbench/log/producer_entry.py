"""What a log remembers of one producer: its epoch, its last five batches, its open transaction.

By it a broker tells a batch that was sent twice, a gap in the sequence numbers, and a producer that
has been replaced. A snapshot keeps the newest batch only.

Kafka: ProducerStateEntry, BatchMetadata, TxnMetadata, CompletedTxn (4.2)
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from workbench.files.producer_snapshot import SEQUENCES, ProducerEntry
from workbench.log.fetch import LogOffsetMetadata

BATCHES_KEPT: Final = 5
"""Batches of a producer that are known again: a client has no more of them on the way."""


class BatchMetadata(NamedTuple):
    """One batch that a producer wrote.

    Attributes:
        last_sequence: of its last record; None for one without sequences, of a coordinator.
        last_offset: inclusive.
        offset_delta: last offset minus first.
        timestamp: ms; the batch's largest.
    """

    last_sequence: int | None
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int | None:
        """Sequence of the first record; sequences go round at 2**31."""
        if self.last_sequence is None:
            return None
        return (self.last_sequence - self.offset_delta) % SEQUENCES

    @property
    def first_offset(self) -> int:
        """Offset of the first record."""
        return self.last_offset - self.offset_delta


class OpenTransaction(NamedTuple):
    """A transaction that has begun, and where.

    Kafka: TxnMetadata (4.2)
    """

    producer_id: int
    first_offset: LogOffsetMetadata


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended.

    Attributes:
        first_offset: of its first record.
        last_offset: of the marker.
        is_aborted: whether the marker was an abort.

    Kafka: CompletedTxn (4.2)
    """

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerStateEntry:
    """What is known of one producer id; changed in place as it writes.

    Attributes:
        producer_id: whose entry it is.
        producer_epoch: the newest seen; None before the first batch or marker.
        coordinator_epoch: of the newest transaction marker; None if there was none.
        last_timestamp: ms, of the newest batch or marker; None if there was none.
        current_transaction_first_offset: where the open transaction begins; None if none is open.
        batches: at most `BATCHES_KEPT`, the oldest first, all of `producer_epoch`.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_transaction_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int | None = None,
        coordinator_epoch: int | None = None,
        last_timestamp: int | None = None,
        current_transaction_first_offset: int | None = None,
        batches: Iterable[BatchMetadata] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_transaction_first_offset = current_transaction_first_offset
        self.batches = deque(batches, BATCHES_KEPT)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"ProducerStateEntry({values})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProducerStateEntry):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @classmethod
    def of(cls, stored: ProducerEntry) -> Self:
        """Return the entry that a snapshot holds.

        Kafka: ProducerStateManager.readSnapshot (4.2)
        """
        first = stored.current_transaction_first_offset
        batch = None
        if stored.last_offset is not None and stored.last_offset >= 0:
            batch = BatchMetadata(
                stored.last_sequence, stored.last_offset, stored.offset_delta, stored.timestamp
            )
        return cls(
            stored.producer_id,
            None if stored.producer_epoch == -1 else stored.producer_epoch,
            stored.coordinator_epoch,
            None if stored.timestamp == -1 else stored.timestamp,
            None if first is None or first < 0 else first,
            () if batch is None else (batch,),
        )

    def stored(self) -> ProducerEntry:
        """Return what a snapshot keeps of it.

        Kafka: ProducerStateManager.writeSnapshot (4.2)
        """
        last = self.batches[-1] if self.batches else None
        return ProducerEntry(
            self.producer_id,
            -1 if self.producer_epoch is None else self.producer_epoch,
            None if last is None else last.last_sequence,
            None if last is None else last.last_offset,
            0 if last is None else last.offset_delta,
            -1 if self.last_timestamp is None else self.last_timestamp,
            self.coordinator_epoch,
            self.current_transaction_first_offset,
        )

    @property
    def first_sequence(self) -> int | None:
        """First sequence of the oldest batch that is known; None if none is."""
        return self.batches[0].first_sequence if self.batches else None

    @property
    def last_sequence(self) -> int | None:
        """Last sequence of the newest batch; None if none is known."""
        return self.batches[-1].last_sequence if self.batches else None

    @property
    def first_data_offset(self) -> int | None:
        """First offset of the oldest batch that is known; None if none is."""
        return self.batches[0].first_offset if self.batches else None

    @property
    def last_data_offset(self) -> int | None:
        """Last offset of the newest batch; None if none is known."""
        return self.batches[-1].last_offset if self.batches else None

    @property
    def last_offset_delta(self) -> int:
        """Last offset minus first of the newest batch; 0 if none is known."""
        return self.batches[-1].offset_delta if self.batches else 0

    def successor(self) -> "ProducerStateEntry":
        """Return an entry with the same epochs, time and transaction, and no batches.

        Kafka: ProducerStateEntry.withProducerIdAndBatchMetadata (4.2)
        """
        return ProducerStateEntry(
            self.producer_id,
            self.producer_epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.current_transaction_first_offset,
        )

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Remember a batch; those of another epoch are forgotten."""
        self.set_epoch(producer_epoch)
        self.batches.append(batch)
        self.last_timestamp = batch.timestamp

    def set_epoch(self, producer_epoch: int | None) -> bool:
        """Take an epoch over and return whether it is another one.

        Kafka: ProducerStateEntry.maybeUpdateProducerEpoch (4.2)
        """
        if self.producer_epoch == producer_epoch:
            return False
        self.batches.clear()
        self.producer_epoch = producer_epoch
        return True

    def end_transaction(self, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        """Take over what a transaction marker says; no transaction is open any more."""
        self.set_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.current_transaction_first_offset = None
        self.last_timestamp = timestamp

    def update(self, newer: "ProducerStateEntry") -> None:
        """Take over what an append made of a `successor` of this entry.

        Kafka: ProducerStateEntry.update (4.2)
        """
        self.set_epoch(newer.producer_epoch)
        self.batches.extend(newer.batches)
        self.coordinator_epoch = newer.coordinator_epoch
        self.current_transaction_first_offset = newer.current_transaction_first_offset
        self.last_timestamp = newer.last_timestamp

    def find_duplicate(
        self, producer_epoch: int, first_sequence: int, last_sequence: int
    ) -> BatchMetadata | None:
        """Return the known batch of this epoch with exactly these sequences; None if none is.

        Kafka: ProducerStateEntry.findDuplicateBatch (4.2)
        """
        if producer_epoch != self.producer_epoch:
            return None
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                return batch
        return None
